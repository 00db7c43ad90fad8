"""Labels of recorded conversations: which ended well, as their records say."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from agent_reach.errors import ReachError

_CONDITION: Final = re.compile(r"\s*([^<>=!\s]+)\s*(?:(>=|<=|!=|=|>|<)\s*(.+?)\s*)?$")
_COMPARED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "=": operator.eq, "!=": operator.ne,
}  # fmt: skip


class Condition:
    """A condition on what a record says, such as `reward>=1`, `outcome=solved` or `solved`.

    Raises:
        ReachError: it is no such condition.
    """

    def __init__(self, text: str) -> None:
        found = _CONDITION.match(text)
        if not found:
            raise ReachError(f"condition: expected KEY, KEY=VALUE or KEY>=NUMBER, found {text!r}")
        if found.group(3) and found.group(3)[0] in "<>=!":
            raise ReachError(f"condition: expected one of {', '.join(_COMPARED)} between key and value, found {text!r}")
        self._text = text
        self._key, self._sign, self._value = found.group(1), found.group(2), found.group(3)

    def holds(self, facts: Mapping[str, Any], where: str) -> bool:
        """Whether it holds of a record.

        Args:
            facts: the record's plain values.
            where: names the record in errors.

        Raises:
            ReachError: the record lacks the key, or a text is compared with a number.
        """
        if self._key not in facts:
            raise ReachError(f"{where}: {self._text!r} needs the key {self._key!r}, found {', '.join(facts) or 'none'}")
        value = facts[self._key]
        if not self._sign:
            return bool(value)
        try:
            return _COMPARED[self._sign](float(value), float(self._value))
        except (TypeError, ValueError):
            if self._sign in ("=", "!="):
                return _COMPARED[self._sign](str(value), self._value)
            raise ReachError(f"{where}: {self._text!r} compares {value!r} with a number") from None
