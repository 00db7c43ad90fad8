"""What of arguments and results may be kept: nothing unless asked for, and then redacted and cut."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from agent_reach.errors import ContractError

Redactor = Callable[[str], str]

_DEFAULT_PATTERNS: Final = (
    # Keyed secrets, in JSON and in prose; the key stays. Runs are bounded and anchored, so that no text costs more than its length.
    (
        r"(?i)((?<![\w-])(?:[\w-]{0,32}?(?:api[_-]?key|secret|passw(?:or)?d|passwd|(?:access|refresh|auth)[_-]?token|private[_-]?key|credential)"
        r"[\w-]{0,32}|token|pwd|authorization)\\?[\"']?\s{0,4}[:=]\s{0,4})"
        r"(?:\\?\"(?:[^\"\\]|\\[^\"]){0,4096}\\?\"?|'[^']{0,4096}'?|(?:bearer |basic )?[^\s,;&}\]\"']+)",
        r'\1"[redacted]"',
    ),
    (r"(?i)\b(bearer|basic)\s+[a-z0-9._~+/=-]{8,}", r"\1 [redacted]"),
    (r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*", "[redacted token]"),
    (
        r"\b(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abprs]|AKIA|ASIA|AIza|hf)[-_]?[A-Za-z0-9_-]{16,}",
        "[redacted token]",
    ),
    (r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", "[redacted key]"),
    (r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}", "[redacted e-mail]"),
)
_CARD: Final = re.compile(r"(?<![\d.])(?:\d[ -]?){12,18}\d(?![\d])")
_DEPTH: Final = 12
_ITEMS: Final = 1_000


def _redact_cards(text: str) -> str:
    return _CARD.sub(lambda m: "[redacted card]" if _luhn(m.group()) else m.group(), text)


def _luhn(digits: str) -> bool:
    numbers = [int(c) for c in digits if c.isdigit()]
    doubled = [n if i % 2 == 0 else n * 2 - 9 * (n > 4) for i, n in enumerate(reversed(numbers))]
    return 13 <= len(numbers) <= 19 and sum(doubled) % 10 == 0


def default_redactor() -> Redactor:
    """Takes out secrets, tokens, card numbers (by their check digit) and e-mail addresses."""
    patterns = [(re.compile(p, re.DOTALL), r) for p, r in _DEFAULT_PATTERNS]

    def redact(text: str) -> str:
        for pattern, replacement in patterns:
            text = pattern.sub(replacement, text)
        return _redact_cards(text)

    return redact


class Capture:
    """Payload policy.

    Args:
        enabled: whether contents are kept at all.
        redact: further things to take out, after the defaults: regular expressions, or functions from text to text.
        limit: characters kept of one payload.

    Raises:
        ContractError: an expression does not compile.
    """

    def __init__(self, enabled: bool = False, redact: Iterable[str | Redactor] = (), limit: int = 8_192) -> None:
        self.enabled = enabled
        self._limit = limit
        self._redactors: list[Redactor] = [default_redactor(), *(_as_redactor(r, i) for i, r in enumerate(redact))]

    def text(self, value: Any) -> str:
        """The content as redacted, cut JSON text (plain text stays plain); `""` when capture is off.

        Raises:
            Exception: whatever a user's redactor raises; then nothing must be kept.
        """
        if not self.enabled or value is None:
            return ""
        text = value if isinstance(value, str) else json.dumps(_safe(value, _DEPTH), ensure_ascii=False)
        text = clean(text[: self._limit * 2])
        for redact in self._redactors:
            text = redact(text)
        return text if len(text) <= self._limit else text[: self._limit] + "…"


def _as_redactor(item: str | Redactor, index: int) -> Redactor:
    if callable(item):
        return item
    try:
        pattern = re.compile(item)
    except (re.error, TypeError) as error:
        raise ContractError(f"redact[{index}]", f"a regular expression or a function ({error})", item) from None
    return lambda text: pattern.sub("[redacted]", text)


def clean(text: str) -> str:
    """Text that UTF-8 can hold: lone surrogates are escaped."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _safe(value: Any, depth: int) -> Any:
    """JSON-ready values of anything, without trusting it."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    if depth == 0:
        return "…"
    try:
        return _safe_object(value, depth)
    except Exception:  # noqa: BLE001 - a foreign object may raise anything
        return f"<{type(value).__name__}>"


def _safe_object(value: Any, depth: int) -> Any:
    if isinstance(value, bytes | bytearray):
        return f"<{len(value)} bytes>"
    if isinstance(value, Mapping):
        return {str(k): _safe(v, depth - 1) for k, v in list(value.items())[:_ITEMS]}
    if isinstance(value, list | tuple | set | frozenset):
        return [_safe(v, depth - 1) for v in list(value)[:_ITEMS]]
    fields = getattr(type(value), "model_fields", None) or getattr(type(value), "__dataclass_fields__", None)
    if fields:
        return {name: _safe(getattr(value, name, None), depth - 1) for name in fields}
    if isinstance(text := getattr(value, "page_content", None), str):
        return text
    return str(value)
