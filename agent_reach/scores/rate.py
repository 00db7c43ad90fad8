"""Reach rates of routing: did the model touch what it should have touched (definitions, section 4).

Counted over (unit, step) pairs of units with a route, decided when the unit closes; units without a route are in no denominator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agent_reach.contracts import Routes
from agent_reach.events import Decision, Event, ToolCall, UnitClosed
from agent_reach.scores.stats import Interval, wilson

FIGURES = ("candidate", "precise", "first", "decision", "execution")
"""Candidate reach, precise reach, first-turn precise, decision precise, execution success."""


class Cell(NamedTuple):
    """Where a pair is counted.

    Attributes:
        intent: of the unit.
        tool: the best tool of the step.
        turns: `1–2`, `3–4` or `5+`: of the session, when the step was first served, else when the unit began.
    """

    intent: str
    tool: str
    turns: str


class Rate(NamedTuple):
    """A share with what it stands on.

    Attributes:
        hits, n: so many of so many.
        value: None when n is 0.
        interval: Wilson, 95 %; None when n is 0.
    """

    hits: int
    n: int
    value: float | None
    interval: Interval | None

    def to_record(self) -> dict[str, Any]:
        """As JSON-ready values."""
        low, high = self.interval or (None, None)
        return {"value": self.value, "n": self.n, "low": low, "high": high}


def rate_of(hits: int, n: int) -> Rate:
    """The share and its interval."""
    return Rate(hits, n, hits / n if n else None, wilson(hits, n) if n else None)


def turn_bucket(turn: int) -> str:
    """`1–2`, `3–4` or `5+`."""
    return "1–2" if turn <= 2 else "3–4" if turn <= 4 else "5+"


@dataclass(slots=True)
class _OpenUnit:
    """Calls and decisions of a unit that has not closed."""

    begun: int
    calls: list[tuple[str, int, bool]] = field(default_factory=list)
    decisions: list[tuple[tuple[str, ...], int]] = field(default_factory=list)


@dataclass(slots=True)
class Miss:
    """A step of which no tool, or not the best one, was called.

    Attributes:
        session, unit: where.
        cell: which step.
        called: the tools that the unit called, in order.
        candidate: a lesser tool of the step was.
    """

    session: str
    unit: int
    cell: Cell
    called: tuple[str, ...]
    candidate: bool


class RateTally:
    """Reach rates over any set of events; adding two gives the rates over both.

    Args:
        routes: the route table that says what was expected.
        misses_kept: how many misses are remembered, the first ones.

    Attributes:
        hits, trials: by figure and cell.
        misses: steps whose best tool was not called.
        without_route: units that no figure counts.
    """

    def __init__(self, routes: Routes, *, misses_kept: int = 1_000) -> None:
        self._routes, self._kept = routes, misses_kept
        self.hits: Counter[tuple[str, Cell]] = Counter()
        self.trials: Counter[tuple[str, Cell]] = Counter()
        self.misses: list[Miss] = []
        self.without_route = 0
        self._open: dict[tuple[str, int], _OpenUnit] = {}

    def observe(self, event: Event) -> None:
        """Take in one event, in the order of the stream."""
        key = (event.session, event.unit)
        if isinstance(event, UnitClosed):
            self._close(event, self._open.pop(key, None))
        elif isinstance(event, ToolCall) and event.status in ("ok", "fail", "empty_alias"):
            self._unit(key, event).calls.append((event.tool, event.turn, event.status == "ok"))
        elif isinstance(event, Decision):
            self._unit(key, event).decisions.append((event.chosen, event.turn))

    def _unit(self, key: tuple[str, int], event: Event) -> _OpenUnit:
        unit = self._open.get(key)
        if unit is None:
            unit = self._open[key] = _OpenUnit(event.turn)
        return unit

    def _close(self, event: UnitClosed, unit: _OpenUnit | None) -> None:
        steps = tuple(step.tools for step in self._routes.steps(event.intent))
        if not steps:
            self.without_route += 1
            return
        unit = unit or _OpenUnit(event.turn)
        cells = [self._pair(event, unit, steps, number) for number in range(len(steps))]
        self._decisions(unit, steps, cells)

    def _pair(self, event: UnitClosed, unit: _OpenUnit, steps: tuple[tuple[str, ...], ...], number: int) -> Cell:
        step = steps[number]
        served = [call for call in unit.calls if call[0] in step]
        others = {tool for i, other in enumerate(steps) if i != number for tool in other}
        first = next((tool for tool, _, _ in unit.calls if tool in step or tool not in others), "")
        cell = Cell(event.intent, step[0], turn_bucket(served[0][1] if served else unit.begun))
        precise = any(tool == step[0] for tool, _, _ in served)
        self._count("candidate", cell, bool(served))
        self._count("precise", cell, precise)
        self._count("first", cell, first == step[0])
        for _, _, ok in served:
            self._count("execution", cell, ok)
        if not precise and len(self.misses) < self._kept:
            called = tuple(tool for tool, _, _ in unit.calls)
            self.misses.append(Miss(event.session, event.unit, cell, called, bool(served)))
        return cell

    def _decisions(self, unit: _OpenUnit, steps: tuple[tuple[str, ...], ...], cells: list[Cell]) -> None:
        """A decision counts under the first step that was open when it was taken."""
        open_steps = list(range(len(steps)))
        for chosen, _ in unit.decisions:
            if not open_steps:
                return
            best = {steps[number][0] for number in open_steps}
            self._count("decision", cells[open_steps[0]], not best.isdisjoint(chosen))
            open_steps = [number for number in open_steps if set(steps[number]).isdisjoint(chosen)]

    def _count(self, figure: str, cell: Cell, hit: bool) -> None:
        self.trials[figure, cell] += 1
        self.hits[figure, cell] += hit

    def rates(self, figure: str, by: Iterable[str] = ()) -> dict[tuple[str, ...], Rate]:
        """A figure by any of `intent`, `tool` and `turns`; by none of them, one rate under `()`.

        Raises:
            KeyError: there is no such figure.
        """
        if figure not in FIGURES:
            raise KeyError(f"{figure!r}: expected one of {', '.join(FIGURES)}")
        keys = tuple(by)
        hits: Counter[tuple[str, ...]] = Counter()
        trials: Counter[tuple[str, ...]] = Counter()
        for (name, cell), n in self.trials.items():
            if name == figure:
                group = tuple(getattr(cell, key) for key in keys)
                trials[group] += n
                hits[group] += self.hits[name, cell]
        return {group: rate_of(hits[group], n) for group, n in sorted(trials.items())}

    def overall(self, figure: str) -> Rate:
        """A figure over everything."""
        return self.rates(figure).get((), rate_of(0, 0))

    def __add__(self, other: RateTally) -> RateTally:
        total = RateTally(self._routes, misses_kept=self._kept)
        total.hits, total.trials = self.hits + other.hits, self.trials + other.trials
        total.misses = (self.misses + other.misses)[: self._kept]
        total.without_route = self.without_route + other.without_route
        return total


def to_record(tally: RateTally) -> dict[str, Any]:
    """All figures, overall and by intent, as JSON-ready values."""
    intents = sorted({cell.intent for _, cell in tally.trials})
    by_intent: dict[str, dict[str, Any]] = {intent: {} for intent in intents}
    for figure in FIGURES:
        for (intent,), rate in tally.rates(figure, ["intent"]).items():
            by_intent[intent][figure] = rate.to_record()
    overall = {figure: tally.overall(figure).to_record() for figure in FIGURES}
    return {"overall": overall, "intents": by_intent, "units_without_route": tally.without_route}
