"""Reach rates of routing: did the model touch what it should have touched (definitions, section 4).

Counted over (unit, step) pairs of units with a route, when the unit closes; units without a route are in no denominator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from agent_reach.events import Event, UnitClosed
from agent_reach.scores.stats import Interval, wilson
from agent_reach.scores.steps import Reason, StepOutcome

FIGURES: Final = ("candidate", "precise", "first", "decision", "execution", "reach")
"""Candidate reach, precise reach, first-turn precise, decision precise, execution success, candidates with alternative paths."""


class Cell(NamedTuple):
    """Where a pair is counted: intent of the unit, best tool of the step, and turn bucket."""

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

    def __str__(self) -> str:
        return f"{self.hits} of {self.n}"

    def to_record(self) -> dict[str, Any]:
        """As JSON-ready values."""
        low, high = self.interval or (None, None)
        return {"value": self.value, "n": self.n, "low": low, "high": high}


def rate_of(hits: int, n: int) -> Rate:
    """The share and its interval."""
    return Rate(hits, n, hits / n if n else None, wilson(hits, n) if n else None)


@dataclass(frozen=True, slots=True)
class Miss:
    """A step whose best tool was not called.

    Attributes:
        session, unit, turn: where; the last turn of the unit.
        cell: which step.
        called: the tools that the unit called, each once, in order.
        candidate: a lesser tool of the step was.
        alternative: another tool's result passed the step's outcome check.
        reason: as far as the unit's events tell.
        place, offered: position of the best tool among those offered, -1 when it was not there; 0 offered when not known.
    """

    session: str
    unit: int
    turn: int
    cell: Cell
    called: tuple[str, ...]
    candidate: bool
    alternative: bool
    reason: Reason
    place: int
    offered: int


class RateTally:
    """Reach rates over any set of closed units; adding two gives the rates over both.

    Args:
        misses_kept: how many misses are remembered, the first ones.
        doubtful: (session, unit) pairs whose expectation is in doubt; they are in no rate.

    Attributes:
        hits, trials: by figure and cell.
        misses: steps whose best tool was not called.
        places: (best tool, called, tenth of the offered list) of each pair whose offered list is known.
        without_route, ambiguous: units that no figure counts.
    """

    def __init__(self, *, misses_kept: int = 1_000, doubtful: Container[tuple[str, int]] = ()) -> None:
        self._kept, self._doubtful = misses_kept, doubtful
        self.hits: Counter[tuple[str, Cell]] = Counter()
        self.trials: Counter[tuple[str, Cell]] = Counter()
        self.misses: list[Miss] = []
        self.places: Counter[tuple[str, bool, int]] = Counter()
        self.without_route = self.ambiguous = 0

    def observe(self, event: Event) -> None:
        """Take in one event; only units that close count."""
        if not isinstance(event, UnitClosed):
            return
        if not event.steps:
            self.without_route += 1
        elif (event.session, event.unit) in self._doubtful:
            self.ambiguous += 1
        else:
            for text in event.steps:
                self._count_step(event, StepOutcome.from_text(text))

    def _count_step(self, event: UnitClosed, step: StepOutcome) -> None:
        cell = Cell(event.intent, step.tool, step.turns)
        self._count("candidate", cell, step.candidate, 1)
        self._count("precise", cell, step.precise, 1)
        self._count("first", cell, step.first, 1)
        self._count("reach", cell, step.candidate or step.alternative, 1)
        self._count("decision", cell, step.decided, step.decisions)
        self._count("execution", cell, step.ok, step.calls)
        if step.offered > 1 and step.place >= 0:
            self.places[step.tool, step.precise, 10 * step.place // step.offered] += 1
        if not step.precise and len(self.misses) < self._kept:
            self.misses.append(
                Miss(
                    event.session, event.unit, event.turn, cell, event.called, step.candidate, step.alternative, step.reason,
                    step.place, step.offered,
                )
            )  # fmt: skip

    def _count(self, figure: str, cell: Cell, hits: int, trials: int) -> None:
        if trials:
            self.trials[figure, cell] += trials
            self.hits[figure, cell] += hits

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

    def __repr__(self) -> str:
        return f"RateTally({', '.join(f'{name} {self.overall(name)}' for name in FIGURES)})"

    def __add__(self, other: RateTally) -> RateTally:
        total = RateTally(misses_kept=self._kept, doubtful=self._doubtful)
        total.hits, total.trials = self.hits + other.hits, self.trials + other.trials
        total.places = self.places + other.places
        total.misses = (self.misses + other.misses)[: self._kept]
        total.without_route = self.without_route + other.without_route
        total.ambiguous = self.ambiguous + other.ambiguous
        return total

    def to_rows(self) -> list[list[Any]]:
        """The counts as JSON-ready rows: figure, intent, tool, turns, hits, trials."""
        return [[figure, *cell, self.hits[figure, cell], n] for (figure, cell), n in self.trials.items()]

    def add_rows(self, rows: Iterable[list[Any]]) -> None:
        """Count what `to_rows` gave."""
        for figure, intent, tool, turns, hits, trials in rows:
            self._count(figure, Cell(intent, tool, turns), hits, trials)


def to_record(tally: RateTally) -> Mapping[str, Any]:
    """All figures, overall and by intent, as JSON-ready values."""
    intents = sorted({cell.intent for _, cell in tally.trials})
    by_intent: dict[str, dict[str, Any]] = {intent: {} for intent in intents}
    for figure in FIGURES:
        for (intent,), rate in tally.rates(figure, ["intent"]).items():
            by_intent[intent][figure] = rate.to_record()
    overall = {figure: tally.overall(figure).to_record() for figure in FIGURES}
    return {
        "overall": overall,
        "intents": by_intent,
        "units_without_route": tally.without_route,
        "units_ambiguous": tally.ambiguous,
    }
