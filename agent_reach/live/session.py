"""One conversation as it stands: closed units in a tally, open ones beside it."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, NamedTuple

from agent_reach.checks import Fragment
from agent_reach.checks.instructions import Act
from agent_reach.contracts import Routes
from agent_reach.events import Band, Decision, Event, Handoff, Retrieval, ToolCall, Turn, UnitClosed
from agent_reach.scores import OpenUnit, ReachScore, Tally, band_of, reach_score
from agent_reach.scores.rate import RateTally
from agent_reach.scores.reach import tool_reach
from agent_reach.scores.unit import Reason
from agent_reach.scores.utilisation import Utilisation

_FRAGMENTS_KEPT = 200
_ACTS_KEPT = 200
_MISSES_KEPT = 100
_COUNTED = (ToolCall, Retrieval, Handoff, Turn)


class TurnRef(NamedTuple):
    """Where an event belongs."""

    turn: int
    unit: int
    intent: str


class Session:
    """State of one conversation.

    A function of the events that it observed, in their order; `begin_turn` only hands out the numbers that events carry.
    Thread-safe.

    Attributes:
        id: of the conversation.
        tally: counts of what has settled for good.
        rates: reach rates of the units that have closed.
        utilisation: of the context, over the turns that ended.
        open: task units that have not closed, by number.
        bands: last known band per link and of the total.
        paused: the turn that waits for a person.
        stored: what a store holds of it is known, so that saving loses nothing.
        facts: values that compensation may supply to an incomplete handoff.
        said, acts: by the user, and what the assistant did, in turns that ended; kept while instructions are checked.
        context: fragments that the user declared to stand in the prompts of the session.
    """

    def __init__(self, id: str, routes: Routes) -> None:
        self.id = id
        self.routes = routes
        self.tally = Tally()
        self.rates = RateTally(misses_kept=_MISSES_KEPT)
        self.utilisation = Utilisation()
        self.open: dict[int, OpenUnit] = {}
        self.turn = 0
        self.unit = 0
        self.ended = False
        self.paused: TurnRef | None = None
        self.bands: dict[str, Band] = {}
        self.facts: dict[str, Any] = {}
        self.said = ""
        self.acts: deque[Act] = deque(maxlen=_ACTS_KEPT)
        self.context: deque[Fragment] = deque(maxlen=_FRAGMENTS_KEPT)
        self.cost = 0.0
        self.seen = 0.0
        self.stored = True
        self.lock = threading.RLock()
        self._closed_tool: tuple[float, int] | None = (0.0, 0)

    def begin_turn(self, intent: str | None) -> TurnRef:
        """Numbers for a new turn.

        Args:
            intent: of the turn's own message; None continues the open unit.
        """
        with self.lock:
            self.turn += 1
            self.ended = False
            current = self.open.get(self.unit)
            routed = current if current is not None and current.routed else None
            if routed is not None and intent in (None, "", routed.intent):
                return TurnRef(self.turn, self.unit, routed.intent)
            self.unit += 1
            return TurnRef(self.turn, self.unit, intent or "")

    def observe(self, event: Event) -> list[UnitClosed]:
        """Take in one event; returns the units that it closes, already counted."""
        with self.lock:
            self.turn, self.unit = max(self.turn, event.turn), max(self.unit, event.unit)
            if isinstance(event, UnitClosed):
                self.open.pop(event.unit, None)
                self._count_unit(event)
                return []
            self.tally.add(event)
            self.utilisation.observe(event)
            if not isinstance(event, _COUNTED) and not (isinstance(event, Decision) and self.routes.steps(event.intent)):
                return []
            closed = self._close_overdue(event)
            unit = self.open.get(event.unit)
            if unit is None:
                unit = self.open[event.unit] = OpenUnit.begin(event, self.routes)
            unit.observe(event, self.routes)
            if isinstance(event, Turn) and (reason := self._reason_to_close(unit, event)):
                closed.append(self._close(unit, reason, event.time + event.latency))
            return closed

    def _close_overdue(self, event: Event) -> list[UnitClosed]:
        if len(self.open) <= (event.unit in self.open):
            return []
        overdue: list[tuple[OpenUnit, Reason]] = []
        for unit in self.open.values():
            if unit.routed and unit.number < event.unit:
                overdue.append((unit, "intent"))
            elif not unit.routed and 0 < unit.abandoned_turn < event.turn:
                overdue.append((unit, "turn"))
        return [self._close(unit, reason, event.time) for unit, reason in overdue]

    def _reason_to_close(self, unit: OpenUnit, event: Turn) -> Reason | None:
        if not unit.routed:
            return "turn" if event.outcome in ("answered", "asked") else None
        return "reached" if event.outcome == "answered" and unit.all_reached else None

    def close_all(self, time: int) -> list[UnitClosed]:
        """End of the session."""
        with self.lock:
            self.ended = True
            return [self._close(unit, "session", time) for unit in list(self.open.values())]

    def _close(self, unit: OpenUnit, reason: Reason, time: int) -> UnitClosed:
        del self.open[unit.number]
        event = unit.close(reason, time=time, session=self.id, route_version=self.routes.version if unit.routed else "")
        self._count_unit(event)
        return event

    def _count_unit(self, event: UnitClosed) -> None:
        self.tally.add(event)
        self.rates.observe(event)
        self._closed_tool = None

    @property
    def settled(self) -> Tally:
        """The tally, with what has settled in open units; to be read at once, not kept."""
        with self.lock:
            if not self.open:
                return self.tally
            return self.tally.with_units(unit.settled() for unit in self.open.values())

    @property
    def score(self) -> ReachScore:
        """The score at this moment."""
        return reach_score(self.settled, self.routes.weights, self.routes.thresholds)

    def tool_band(self) -> Band:
        """Band of ToolReach at this moment, at a cost that does not grow with the session."""
        with self.lock:
            penalty = self.routes.weights.taken_penalty
            if self._closed_tool is None:
                needs = sum(u.needs * n for u, n in self.tally.units.items())
                self._closed_tool = ((tool_reach(self.tally.units, penalty) or 0.0) * needs, needs)
            total, needs = self._closed_tool
            for unit in self.open.values():
                counts = unit.settled()
                if counts.needs:
                    total += (tool_reach({counts: 1}, penalty) or 0.0) * counts.needs
                    needs += counts.needs
            return band_of(total / needs, self.routes.thresholds) if needs else ""

    def to_record(self) -> dict[str, Any]:
        """As JSON-ready values, for a store."""
        with self.lock:
            return {
                "v": 1,
                "turn": self.turn,
                "unit": self.unit,
                "paused": self.paused,
                "cost": self.cost,
                "facts": {k: v for k, v in self.facts.items() if isinstance(v, str | int | float | bool)},
                "tally": self.tally.to_record(),
                "rates": self.rates.to_rows(),
                "context": [self.utilisation.to_rows(), self.utilisation.turns],
                "open": [unit.to_record() for unit in self.open.values()],
            }

    def restore(self, record: dict[str, Any]) -> None:
        """Take over what another process stored."""
        with self.lock:
            self.turn, self.unit = record["turn"], record["unit"]
            self.paused = TurnRef(*record["paused"]) if record["paused"] else None
            self.cost, self.facts = record["cost"], dict(record["facts"])
            self.tally = Tally.from_record(record["tally"])
            self.rates = RateTally(misses_kept=_MISSES_KEPT)
            self.rates.add_rows(record.get("rates", ()))
            self.utilisation = Utilisation()
            self.utilisation.add_rows(*record.get("context", ((), 0)))
            self.open = {u["number"]: OpenUnit.from_record(u) for u in record["open"]}
            self._closed_tool = None
