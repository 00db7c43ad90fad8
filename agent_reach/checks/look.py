"""A bounded look at any result: plain values out of text, content blocks, models, frames and arrays.

Nothing here calls `repr`, iterates a lazy object, follows a cycle, or reads more than a fixed amount.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Set
from typing import Any, Final

TEXT_LIMIT: Final = 65_536
"""Characters of JSON text that are parsed; longer text is judged by its beginning."""
HEAD: Final = 4_096
NODE_LIMIT: Final = 2_000
DEPTH_LIMIT: Final = 40

_SCANNER: Final = json.JSONDecoder()


class Opaque:
    """A value that is present but has no parts to look at."""

    __slots__ = ()


OPAQUE: Final = Opaque()


class Partial(dict[str, Any]):
    """The leading scalar entries of a JSON object that was too long to parse; the rest is data."""


_PLAIN: Final = frozenset({str, bool, int, float, dict, list, tuple, type(None)})


def plain(value: Any) -> Any:
    """The value as mapping, sequence, text, number, None or `OPAQUE`, one level deep."""
    if type(value) in _PLAIN:
        return value
    try:
        return _plain_object(value)
    except Exception:  # noqa: BLE001 - a foreign object may raise anything; it is there, so it counts as a value
        return OPAQUE


def _plain_object(value: Any) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value[:TEXT_LIMIT]).decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return value
    if isinstance(value, Set):
        return tuple(value) if len(value) <= NODE_LIMIT else OPAQUE
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(content := getattr(value, "page_content", None), str):
        return content
    if isinstance(getattr(type(value), "model_fields", None), dict):
        return {name: getattr(value, name) for name in type(value).model_fields}
    return _tabular(value)


def _tabular(value: Any) -> Any:
    """`[]` for frames, tables and arrays without rows, else `OPAQUE`."""
    if isinstance(shape := getattr(value, "shape", None), tuple):
        return [] if shape and 0 in shape else OPAQUE
    if isinstance(rows := getattr(value, "num_rows", None), int):
        return [] if rows == 0 else OPAQUE
    if type(value).__module__ == "collections" and len(value) <= NODE_LIMIT:
        return tuple(value)
    return OPAQUE


def unwrap(result: Any) -> Any:
    """The result with JSON text parsed and text blocks joined, also inside one another."""
    value = plain(result)
    for _ in range(3):
        if isinstance(value, str):
            value = parse(value)
        if not (isinstance(value, list) and value and _are_blocks(value)):
            break
        value = _joined(value)
    return value


def _joined(blocks: list[Any]) -> Any:
    """The text of text blocks; among others they are a value."""
    texts = [block.get("text") for block in blocks if block["type"] == "text"]
    return "".join(t for t in texts if isinstance(t, str)) if len(texts) == len(blocks) else OPAQUE


def _are_blocks(items: list[Any]) -> bool:
    return all(
        isinstance(i, dict) and isinstance(i.get("type"), str) and ("text" in i or i["type"] != "text") for i in items[:20]
    ) and any(i.get("type") in _BLOCK_TYPES for i in items[:20])


_BLOCK_TYPES: Final = frozenset({"text", "image", "image_url", "audio", "file", "resource", "json", "video"})


def parse(text: str) -> Any:
    """JSON text as its value, other text as it stands, long text by its beginning."""
    head = text[:HEAD].lstrip()
    if not head or head[0] not in '{["nN':
        return text
    if len(text) <= TEXT_LIMIT:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return leading_scalars(head) if head[0] == "{" else text


def leading_scalars(head: str) -> Partial:
    """Entries with plain values at the beginning of the text of a JSON object, up to the first nested value."""
    found = Partial()
    position = head.find("{") + 1
    while True:
        position = _skip(head, position)
        if position >= len(head) or head[position] != '"':
            return found
        try:
            key, position = _SCANNER.raw_decode(head, position)
            position = _skip(head, position, ":")
            if head[position] in "{[":
                return found
            found[key], position = _SCANNER.raw_decode(head, position)
        except (ValueError, IndexError):
            return found


def _skip(text: str, position: int, sign: str = ",") -> int:
    while position < len(text) and (text[position].isspace() or text[position] == sign):
        position += 1
    return position
