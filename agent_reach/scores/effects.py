"""Side effects made against side effects wanted (definitions, section 5, "Effects").

On real runs they tell success from failure where depth, purity and digestion do not.
"""

from __future__ import annotations

import ast
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


class Effect(NamedTuple):
    """A side effect: the tool that made it, and its arguments in canonical form."""

    tool: str
    arguments: str


def effect(tool: str, arguments: Mapping[str, Any]) -> Effect:
    """A side effect in canonical form.

    Keys are sorted, equal numbers alike, texts without space around them, and texts that hold a list or an object are read as such.
    Lists count as sets of rows: those of one length belong together, item by item; the order of the rows does not matter, and a row
    that puts a thing in its own place changes nothing.
    """
    plain = {str(key): _canonical(value) for key, value in arguments.items()}
    return Effect(tool, json.dumps(_in_any_order(plain), sort_keys=True, ensure_ascii=False, default=str))


def _in_any_order(arguments: dict[str, Any]) -> dict[str, Any]:
    by_length: dict[int, list[str]] = defaultdict(list)
    for key in sorted(arguments):
        if isinstance(arguments[key], list):
            by_length[len(arguments[key])].append(key)
    ordered = dict(arguments)
    for keys in by_length.values():
        paired = zip(*(arguments[key] for key in keys), strict=True)
        changing = [row for row in paired if len(keys) == 1 or any(item != row[0] for item in row)]
        rows = sorted(changing, key=lambda row: json.dumps(row, sort_keys=True, default=str))
        ordered |= {key: [row[column] for row in rows] for column, key in enumerate(keys)}
    return ordered


def _canonical(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _canonical(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(inner) for inner in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return _read(value.strip()) if isinstance(value, str) else value


def _read(text: str) -> Any:
    """What a text of a JSON or Python list or object says, else the text."""
    if text[:1] not in ("[", "{"):
        return text
    for read in (json.loads, ast.literal_eval):
        try:
            return _canonical(read(text))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return text


@dataclass(frozen=True, slots=True)
class Effects:
    """What a run changed, against what it should have.

    Attributes:
        made, wanted: how many; a task in which nothing may be changed wants none.
        matched: made as wanted, each wanted one once.
        forbidden: made although a `must_not` names them.
        unsaid: required outputs that the run did not say.
    """

    made: int
    wanted: int
    matched: int
    forbidden: int = 0
    unsaid: int = 0

    @property
    def precision(self) -> float:
        """Of what was made, what was wanted; 1 when nothing was made."""
        return self.matched / self.made if self.made else 1.0

    @property
    def recall(self) -> float:
        """Of what was wanted, what was made; 1 when nothing was wanted."""
        return self.matched / self.wanted if self.wanted else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    @property
    def gate(self) -> bool:
        """Every wanted effect was made, none else, nothing forbidden, every required output said."""
        return self.matched == self.wanted == self.made and not self.forbidden and not self.unsaid

    @property
    def score(self) -> float:
        """Ranks runs: 1 for those that pass the gate, else under 1 by what is missing, unwanted or unsaid."""
        if self.gate:
            return 1.0
        return 0.9 * self.f1 / (1 + self.forbidden + self.unsaid)


def compare(
    made: Iterable[Effect], wanted: Iterable[Effect], *, forbidden: Iterable[str] = (), outputs: Iterable[str] = (), said: str = ""
) -> Effects:
    """Match effects one to one.

    Args:
        made: that the run made, repeated ones as often as they were.
        wanted: that it should have made.
        forbidden: tools that must not be called.
        outputs: texts that the run must say; case, commas in numbers and the currency sign are ignored.
        said: everything that the run said.
    """
    had, should = Counter(made), Counter(wanted)
    banned = set(forbidden)
    heard = _plain(said)
    return Effects(
        made=had.total(),
        wanted=should.total(),
        matched=(had & should).total(),
        forbidden=sum(n for each, n in had.items() if each.tool in banned),
        unsaid=sum(_plain(output) not in heard for output in outputs),
    )


def _plain(text: str) -> str:
    return text.lower().replace(",", "").replace("$", "")
