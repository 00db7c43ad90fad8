"""Failures and their causes: exceptions with their chains, error envelopes, error prose (definitions, section 1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from agent_reach.checks.empties import OK_WORDS, holds_nothing, is_envelope_key
from agent_reach.checks.finding import Finding, failed
from agent_reach.checks.look import Partial
from agent_reach.events import FailCause

_CHAIN_LIMIT: Final = 20
_TEXT_LIMIT: Final = 2_000

_BY_TYPE: Final[tuple[tuple[re.Pattern[str], FailCause], ...]] = (
    (re.compile(r"RateLimit|TooManyRequests|Throttl|ResourceExhausted|QuotaExceeded"), "rate_limited"),
    (re.compile(r"Timeout|TimedOut|DeadlineExceeded"), "timeout"),
    (re.compile(r"Authenticat|Unauthori|PermissionDenied|Forbidden|AccessDenied|InvalidApiKey|CredentialsError"), "auth"),
    (re.compile(r"InternalServer|ServiceUnavailable|ServerError|BadGateway"), "server_error"),
    (re.compile(r"Connect|Network|DNS|NameResolution|gaierror|SSLError|BrokenPipe|RemoteDisconnected|ProxyError"), "network"),
    (re.compile(r"ToolInvocationError|ValidationError|BadRequest|InvalidArgument|InvalidRequest|Unprocessable"), "bad_arguments"),
    (re.compile(r"JSONDecode|OutputParser|ParseError|UnicodeDecode|ParserError"), "unparseable"),
    (re.compile(r"Precondition"), "precondition"),
)  # fmt: skip

_CAUSES_IN_TEXT: Final[tuple[tuple[str, FailCause], ...]] = (
        (r"rate.?limit|too many requests|\b429\b|throttl|quota exceeded|限流|限速|请求过于频繁|频率超限|调用次数", "rate_limited"),
        (r"time[d]?.?out|deadline exceeded|\b(?:408|504)\b|超时", "timeout"),
        (
            r"unauthori[sz]ed|forbidden|\b(?:401|403)\b|permission denied|access denied|(?:invalid|missing|expired) (?:api.?key|token|credential)"
            r"|authentication|未授权|无权限|鉴权|认证失败|权限不足",
            "auth",
        ),
        (r"not a valid tool|unknown tool|no such tool|tool .{0,60} not found", "unknown_tool"),
        (r"connection (?:refused|reset|aborted|error)|network (?:is )?(?:error|unreachable)|name resolution|dns|网络|连接(?:失败|被拒|超时)", "network"),
        (r"internal server error|service unavailable|bad gateway|\b(?:500|502|503)\b|服务(?:器|端)?(?:内部)?(?:错误|异常|不可用)", "server_error"),
        (
            r"invalid (?:argument|parameter|input|request)|missing (?:required )?(?:argument|parameter|field)|validation error|bad request|\b(?:400|422)\b"
            r"|field required|参数(?:错误|缺失|无效|不合法)|缺少参数",
            "bad_arguments",
        ),
        (r"json.?decode|could not parse|failed to parse|unparseable|malformed|解析失败", "unparseable"),
)  # fmt: skip
_BY_TEXT: Final = tuple((re.compile(pattern, re.IGNORECASE), cause) for pattern, cause in _CAUSES_IN_TEXT)

_PROSE: Final = re.compile(
    r"\s*(?:"
    r"(?:fatal |unexpected |unknown |api |http |tool |internal |server )?(?:error|exception|failure)\s*(?:\d{3}|\([^)]{1,40}\))?\s*[:：]"
    r"|error (?:executing|invoking|calling|occurred|while|running|fetching|processing)\b"
    r"|an? (?:unexpected |internal |unknown )?(?:error|exception) (?:has )?occurred"
    r"|failed to \w+"
    r"|traceback \(most recent call last\)"
    r"|(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)\s*[:(]"
    r"|(?:\w{0,4})(?:错误|异常|出错了?|失败|报错)\s*[:：]"
    r")",
    re.IGNORECASE,
)
_SIGNS: Final = frozenset({"error", "errors", "success", "ok", "isError", "code", "status", "status_code"})
_FALSE_WORDS: Final = frozenset({"false", "0", "no", "fail", "failed"})
_ERROR_CODE: Final = re.compile(
    r"err|fail|invalid|denied|not.?found|timeout|limit|exceed|unauth|forbid|unavailable|missing", re.IGNORECASE
)


def cause_of_code(code: int) -> FailCause:
    """Cause of an HTTP status in 400–599, `""` for any other number."""
    if code in (408, 504):
        return "timeout"
    if code == 429:
        return "rate_limited"
    if code in (401, 403):
        return "auth"
    if code in (400, 422):
        return "bad_arguments"
    if 500 <= code <= 599:
        return "server_error"
    return "other" if 400 <= code <= 499 else ""


def cause_of_text(text: str) -> FailCause:
    """Cause that an error message speaks of, `other` when it names none."""
    head = text[:_TEXT_LIMIT]
    return next((cause for pattern, cause in _BY_TEXT if pattern.search(head)), "other")


def finding_of_exception(error: BaseException, *, in_body: bool = True) -> Finding:
    """Why a call raised.

    Args:
        error: the exception; its causes and contexts are read too. A rate limit anywhere in the chain wins, since clients
            wrap it into time-outs.
        in_body: the tool's own code had begun. A validation error from there is about its data, not about the arguments.
    """
    causes = [_cause_of_one(link) for link in _chain(error)]
    if "rate_limited" in causes:
        cause: FailCause = "rate_limited"
    else:
        cause = next((c for c in causes if c != "other"), "other")
    if cause == "bad_arguments" and in_body and type(error).__name__ == "ValidationError":
        cause = "unparseable"
    return failed(cause, type(error).__name__)


def _chain(error: BaseException) -> Iterator[BaseException]:
    queue, seen = [error], set[int]()
    while queue and len(seen) < _CHAIN_LIMIT:
        link = queue.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        following = [link.__cause__ or (None if link.__suppress_context__ else link.__context__)]
        following += list(link.exceptions)[:_CHAIN_LIMIT] if isinstance(link, BaseExceptionGroup) else []
        queue += [f for f in following if f is not None]


def _cause_of_one(error: BaseException) -> FailCause:
    code = status_code_of(error)
    if code is not None and (cause := cause_of_code(code)):
        return cause
    names = [cls.__name__ for cls in type(error).__mro__[:-3]]
    for pattern, cause in _BY_TYPE:
        if any(pattern.search(name) for name in names):
            return cause
    return cause_of_text(safe_text(error))


def status_code_of(error: BaseException) -> int | None:
    """The HTTP status that an exception or its response carries, None when there is none."""
    for holder in (error, _attribute(error, "response")):
        for name in ("status_code", "status", "code"):
            value = _attribute(holder, name)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    return None


def _attribute(holder: Any, name: str) -> Any:
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 - properties of foreign exceptions may raise anything
        return None


def safe_text(error: BaseException) -> str:
    """`str(error)`, or its type when that raises."""
    try:
        return str(error)[:_TEXT_LIMIT]
    except Exception:  # noqa: BLE001 - a foreign `__str__` may raise anything
        return type(error).__name__


def finding_of_envelope(value: Any) -> Finding | None:
    """A failure when the value is an error envelope at its top level, else None."""
    if not isinstance(value, Mapping) or _SIGNS.isdisjoint(value):
        return None
    code = _code(value)
    if not _says_error(value, code):
        return None
    cause = cause_of_code(code) if code is not None else ""
    if cause in ("", "timeout", "other", "server_error") and (told := cause_of_text(_message(value))) != "other":
        cause = "rate_limited" if told == "rate_limited" else cause if cause in ("timeout", "server_error") else told
    return failed(cause or "other")


def _says_error(value: Mapping[Any, Any], code: int | None) -> bool:
    if _truthy(value.get("error")) or _truthy(value.get("errors")) or value.get("isError") is True:
        return True
    if any(key in value and _is_false(value[key]) for key in ("success", "ok")):
        return True
    if code is not None and 400 <= code <= 599:
        return True
    alone = bool(value.get("message") or value.get("msg")) and not _has_data(value)
    return alone and (_is_error_code(value.get("code"), value) or _word(value.get("status")) == "error")


def _truthy(value: Any) -> bool:
    return bool(value) and not (isinstance(value, str) and value.strip().lower() in ("", "none", "null", "false", "0"))


def _is_false(value: Any) -> bool:
    return value is False or (isinstance(value, int) and value == 0) or _word(value) in _FALSE_WORDS


def _word(value: Any) -> str:
    return value.strip().lower() if isinstance(value, str) else ""


def _code(value: Mapping[Any, Any]) -> int | None:
    """The first of `code`, `status`, `status_code` that is a number in 400–599."""
    for key in ("code", "status", "status_code"):
        number = _number(value.get(key))
        if number is not None and 400 <= number <= 599:
            return number
    return None


def _number(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10 else None


def _is_error_code(code: Any, value: Mapping[Any, Any]) -> bool:
    number = _number(code)
    if number is not None:
        message = _word(value.get("message") or value.get("msg"))
        return number != 0 and not 200 <= number <= 299 and message not in OK_WORDS
    return isinstance(code, str) and _ERROR_CODE.search(code) is not None


def _has_data(value: Mapping[Any, Any]) -> bool:
    if isinstance(value, Partial):
        return True
    return any(not is_envelope_key(k, v) and not holds_nothing(v) and k != "status" for k, v in value.items())


def _message(value: Mapping[Any, Any]) -> str:
    parts = [value.get(key) for key in ("error", "errors", "message", "msg", "code", "type", "detail")]
    nested = [p.get("message") or p.get("type") for p in parts if isinstance(p, Mapping)]
    return " ".join(p for p in [*parts, *nested] if isinstance(p, str))[:_TEXT_LIMIT]


def finding_of_prose(text: str) -> Finding | None:
    """A failure when the text *begins* like an error message, in English or Chinese, else None."""
    return failed(cause_of_text(text)) if _PROSE.match(text[:200]) else None
