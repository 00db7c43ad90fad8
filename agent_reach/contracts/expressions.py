"""Conditions on JSON-ready values, as they stand in files: JMESPath, or JSONPath with a comparison.

Example:
    "results.refund[-1].success && state.refunds.A1 == `1`"      JMESPath: holds when it gives anything but false, null or empty
    "$.results.find_order[*].status == 'shipped'"                JSONPath: holds when any match compares so
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final

_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "contains": lambda found, wanted: wanted in found,
    "in": lambda found, wanted: found in wanted,
}
_HOW_TO_INSTALL: Final = "pip install 'agent-reach-sdk[eval]'"


class Expression:
    """A condition; equal when its text is.

    Raises:
        ValueError: the text is no such condition; says where.
    """

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        if not self.text:
            raise ValueError("a condition in JMESPath or, beginning with $, JSONPath")
        _ = self._holds

    def holds(self, document: Any) -> bool:
        """Of a JSON-ready value; a comparison of things that have no order does not hold."""
        return self._holds(document)

    @cached_property
    def _holds(self) -> Callable[[Any], bool]:
        try:
            return _json_path(self.text) if self.text.startswith("$") else _jmes_path(self.text)
        except ImportError as error:
            raise ValueError(f"conditions in text need {error.name}: {_HOW_TO_INSTALL}") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def __reduce__(self) -> tuple[type[Expression], tuple[str]]:
        return Expression, (self.text,)


def _jmes_path(text: str) -> Callable[[Any], bool]:
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        compiled = jmespath.compile(text)
    except JMESPathError as error:
        raise ValueError(f"a JMESPath condition ({str(error).splitlines()[0]})") from None

    def holds(document: Any) -> bool:
        try:
            found = compiled.search(document)
        except JMESPathError:
            return False
        return found not in (None, False, "", [], {})

    return holds


def _json_path(text: str) -> Callable[[Any], bool]:
    from jsonpath_ng.exceptions import JSONPathError
    from jsonpath_ng.ext.parser import parse

    path, sign, wanted = _split(text)
    try:
        compiled = parse(path)
    except (JSONPathError, ValueError, AttributeError) as error:
        raise ValueError(f"a JSONPath before the comparison ({str(error).splitlines()[0]})") from None
    compare = _COMPARE[sign] if sign else None

    def holds(document: Any) -> bool:
        found = [match.value for match in compiled.find(document)]
        return bool(found) if compare is None else any(_safely(compare, value, wanted) for value in found)

    return holds


def _safely(compare: Callable[[Any, Any], bool], found: Any, wanted: Any) -> bool:
    try:
        return bool(compare(found, wanted))
    except TypeError:
        return False


def _split(text: str) -> tuple[str, str, Any]:
    """Path, sign and literal; the sign is looked for outside brackets and quotes."""
    depth, quote = 0, ""
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif not depth:
            sign = next((s for s in _COMPARE if text.startswith(f" {s} ", at) or (not s.isalpha() and text.startswith(s, at))), "")
            if sign:
                left, right = text[:at], text[at:].strip().removeprefix(sign)
                return left.strip(), sign, _literal(right.strip())
    return text, "", None


def _literal(text: str) -> Any:
    quoted = f'"{text[1:-1]}"' if len(text) > 1 and text[0] == text[-1] == "'" else text
    try:
        return json.loads(quoted)
    except ValueError:
        raise ValueError(f"a JSON value after the comparison, such as 3, 'text' or true, found {text!r}") from None
