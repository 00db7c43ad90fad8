"""A draft of a route table from history: which tools good units of each intent called (definitions, section 4, "Expected set")."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

MIN_UNITS: Final = 5
"""Good units of an intent under which nothing is derived."""

_NEEDED: Final = 0.5
_SEEN: Final = 0.1
_TOGETHER: Final = 0.2


@dataclass(frozen=True, slots=True)
class Unit:
    """One task unit of the history.

    Attributes:
        intent: its label.
        tools: that were called and ended `ok`, each once, in order.
        good: it counts: it ended well.
    """

    intent: str
    tools: tuple[str, ...]
    good: bool


@dataclass(frozen=True, slots=True)
class DraftStep:
    """A step of the draft.

    Attributes:
        tools: the most frequent first.
        shares: of the good units that called each.
        covered: share of the good units that called any.
    """

    tools: tuple[str, ...]
    shares: tuple[float, ...]
    covered: float


@dataclass(frozen=True, slots=True)
class Draft:
    """What the history says of one intent.

    Attributes:
        intent: its label.
        n, units: good units, and all.
        steps: in the order in which they were mostly called; empty under five good units.
    """

    intent: str
    n: int
    units: int
    steps: tuple[DraftStep, ...]


def derive(units: Iterable[Unit]) -> list[Draft]:
    """A draft for every intent of the history, in alphabetical order.

    A step is a tool that at least half of the good units called, or several that together did and hardly ever stand beside each
    other (under a fifth of the units of the rarer one): those replace one another.
    """
    by_intent: dict[str, list[Unit]] = defaultdict(list)
    for unit in units:
        if unit.intent:
            by_intent[unit.intent].append(unit)
    return [_draft(intent, found) for intent, found in sorted(by_intent.items())]


def _draft(intent: str, units: list[Unit]) -> Draft:
    good = [unit.tools for unit in units if unit.good]
    if len(good) < MIN_UNITS:
        return Draft(intent, len(good), len(units), ())
    sets = [set(tools) for tools in good]
    counts = Counter(tool for tools in sets for tool in tools)
    groups: list[list[str]] = []
    for tool, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if n < _SEEN * len(good):
            continue
        group = next((group for group in groups if _replaces(tool, group, sets, counts)), None)
        if group is None:
            groups.append([tool])
        else:
            group.append(tool)
    steps = [step for group in groups if (step := _step(group, sets, counts)).covered >= _NEEDED]
    return Draft(intent, len(good), len(units), tuple(sorted(steps, key=lambda step: _place(step, good))))


def _replaces(tool: str, group: list[str], sets: list[set[str]], counts: Counter[str]) -> bool:
    """The tool hardly ever stands beside one of the group, and takes its place often enough for that to be no chance."""
    covered = sum(not tools.isdisjoint(group) for tools in sets)
    if covered == len(sets):
        return False
    beside = max(sum(tool in tools and other in tools for tools in sets) for other in group)
    return beside < _TOGETHER * min(counts[tool], min(counts[other] for other in group))


def _step(group: list[str], sets: list[set[str]], counts: Counter[str]) -> DraftStep:
    n = len(sets)
    covered = sum(not tools.isdisjoint(group) for tools in sets) / n
    return DraftStep(tuple(group), tuple(counts[tool] / n for tool in group), covered)


def _place(step: DraftStep, good: list[tuple[str, ...]]) -> float:
    """Mean place of the step's first call."""
    places = [
        min(tools.index(tool) for tool in step.tools if tool in tools) for tools in good if not set(tools).isdisjoint(step.tools)
    ]
    return sum(places) / len(places)


def to_table(drafts: Iterable[Draft], known: dict[str, Any]) -> dict[str, Any]:
    """The document of a route table.

    Args:
        drafts: of `derive`.
        known: a table that gives labels, keywords and contracts; the steps that it has stay.
    """
    intents: dict[str, Any] = {name: dict(intent or {}) for name, intent in (known.get("intents") or {}).items()}
    for draft in drafts:
        intent = intents.setdefault(draft.intent, {})
        if draft.steps and not intent.get("steps"):
            intent["steps"] = [list(step.tools) for step in draft.steps]
    return {**known, "version": f"{known.get('version', 0)}-draft", "intents": intents}
