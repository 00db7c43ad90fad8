"""Empty results: the call "succeeded" and gave nothing usable (definitions, section 1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from agent_reach.checks.look import DEPTH_LIMIT, HEAD, NODE_LIMIT, Partial, parse, plain

_ENVELOPE: Final = frozenset({"code", "success", "ok", "message", "msg", "error", "errors", "iserror", "status_code"})
_PAGING: Final = frozenset(
    {
        "count", "total", "total_count", "total_pages", "page", "page_size", "pagesize", "per_page", "page_no", "pages",
        "limit", "offset", "next", "previous", "prev", "next_page", "next_cursor", "cursor", "has_more", "hasmore", "has_next",
    }
)  # fmt: skip
OK_WORDS: Final = frozenset({"ok", "success", "succeeded", "successful", "done", "completed", "true", "成功"})

_PROSE: Final = re.compile(
    r"(?:(?:sorry|抱歉|对不起)[,，]?\s*)?(?:"
    # English
    r"(?:there (?:are|were|is|was) )?(?:no|zero|0) (?:[\w'-]+ ){0,3}?"
    r"(?:results?|match(?:es)?|records?|data|documents?|items?|orders?|entries|entry|rows?|hits?|files?|articles?|information)"
    r"(?: (?:were |was |could be |have been )?(?:found|available|returned|matched|exists?|match))?(?: (?:for|matching|in|with|to) .{1,40})?"
    r"|(?:nothing|none)(?: (?:was |were )?(?:found|matched|returned|available))?"
    r"|(?:not found|no match|no matches|no results?|empty(?: results?| response| set)?|n/a|null|none)"
    # 中文
    r"|(?:未|没有?|沒有|无法)(?:能)?(?:找到|查到|查询到|搜索到|检索到|匹配到|发现)(?:任何)?.{0,16}"
    r"|(?:暂无|无|没有|查无|未有)(?:任何|相关|匹配的?|符合条件的?|此)*(?:结果|数据|记录|订单|信息|内容|文档|匹配项|商品)"
    r"|(?:查询|搜索|检索)?(?:结果|数据)为空"
    r")\s*[.!。！…]*",
    re.IGNORECASE,
)
_PROSE_LIMIT: Final = 90


def is_envelope_key(key: Any, value: Any) -> bool:
    """The entry speaks about the answer and is not part of it."""
    if not isinstance(key, str):
        return False
    name = key.lower()
    if name in _ENVELOPE or name in _PAGING:
        return True
    if name == "status":
        return _is_number(value) or (isinstance(value, str) and value.strip().lower() in OK_WORDS)
    return False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and value.strip().isdigit())


def holds_nothing(value: Any) -> str:
    """In which way the value is empty, `""` when it holds something.

    Looks at no more than a fixed number of parts; what lies beyond them is taken to be like them.
    """
    if type(value) is dict and any(type(v) in _NUMBERS or (type(v) is str and v[:1] > " ") for v in _few_data(value)):
        return ""
    return _Look().kind(value, 0)


_NUMBERS: Final = frozenset({int, float, bool})


def _few_data(value: dict[Any, Any]) -> Iterator[Any]:
    """Values of the first data keys: most results hold a plain value there, and need no walk."""
    for key, item in islice(value.items(), 4):
        if not is_envelope_key(key, item) and item != "null":
            yield item


class _Look:
    """One bounded walk."""

    def __init__(self) -> None:
        self.left = NODE_LIMIT

    def kind(self, raw: Any, depth: int) -> str:
        self.left -= 1
        value = plain(raw)
        if value is None:
            return "null"
        if isinstance(value, str):
            return _text_kind(value)
        if isinstance(value, Partial) or depth > DEPTH_LIMIT:
            return ""
        if isinstance(value, Mapping):
            return self._mapping_kind(value, depth)
        if isinstance(value, list | tuple):
            return "no_items" if self._all_empty(_sample(value), depth) else ""
        return ""

    def _mapping_kind(self, value: Mapping[Any, Any], depth: int) -> str:
        if not value:
            return "no_fields"
        data = [v for k, v in value.items() if not is_envelope_key(k, v)] if len(value) <= NODE_LIMIT else [True]
        return "no_data" if data and self._all_empty(data, depth) else ""

    def _all_empty(self, values: Any, depth: int) -> bool:
        return all(self.left <= 0 or self.kind(v, depth + 1) for v in values)


def _sample(values: Any) -> Any:
    half = NODE_LIMIT // 2
    return values if len(values) <= NODE_LIMIT else [*values[:half], *values[-half:]]


def _text_kind(text: str) -> str:
    if not text:
        return "blank"
    head = text[:HEAD]
    if head.isspace() and (len(text) <= HEAD or text[-HEAD:].isspace()):
        return "blank"
    return "null" if len(text) < 16 and text.strip().lower() == "null" else ""


def is_empty_prose(text: str) -> bool:
    """The whole text says that nothing was found, in English or Chinese."""
    return len(text) <= _PROSE_LIMIT and _PROSE.fullmatch(text.strip()) is not None


class PathMissing(Exception):
    """The declared data path does not lead anywhere."""


def follow(value: Any, path: str) -> Any:
    """The data at a dotted path; a number is an index; an empty value on the way ends it.

    Raises:
        PathMissing: a key is absent.
    """
    for part in path.split("."):
        value = plain(value)
        if isinstance(value, str):
            value = parse(value)
        if value is None or value in ("", [], {}, ()):
            return None
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list | tuple) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            raise PathMissing(part)
    return value
