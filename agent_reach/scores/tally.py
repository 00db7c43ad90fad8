"""The tally: integer counts that add up, from which every figure is read (definitions, section 2, "Adding up").

Adding is associative and commutative, so that live, batch, many processes and SQL agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from agent_reach.events import Event, Handoff, Retrieval, ToolAttempt, ToolCall, UnitClosed


class UnitCounts(NamedTuple):
    """What one task unit contributes."""

    needs: int
    reached: int
    first_reached: int
    taken: int


class RetrievalCounts(NamedTuple):
    """What one retrieval contributes."""

    retrieved: int
    relevant: int
    admitted: int
    ideal: int


@dataclass(slots=True)
class Tally:
    """Counts over any set of events.

    Attributes:
        units, retrievals: how many of each shape; divided and clamped only when read.
        handoffs, complete: handoffs, and how many were complete.
        calls: calls by status.
        rungs: attempts beyond a call's only one, by rung.
        closed, answered, guessed, abnormal, degraded: task units that closed, and how; incomplete handoffs finished all the same.
        complete_retrievals: retrievals that brought every needed fragment.
    """

    units: Counter[UnitCounts] = field(default_factory=Counter)
    retrievals: Counter[RetrievalCounts] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    rungs: Counter[str] = field(default_factory=Counter)
    handoffs: int = 0
    complete: int = 0
    closed: int = 0
    answered: int = 0
    guessed: int = 0
    abnormal: int = 0
    degraded: int = 0
    complete_retrievals: int = 0

    @classmethod
    def of(cls, events: Iterable[Event]) -> Tally:
        """Tally of a batch."""
        tally = cls()
        for event in events:
            tally.add(event)
        return tally

    def add(self, event: Event) -> None:
        """Count one event; kinds that no figure reads are passed over."""
        if isinstance(event, ToolCall):
            self.calls[event.status] += 1
        elif isinstance(event, ToolAttempt):
            self.rungs[event.rung] += 1
        elif isinstance(event, UnitClosed):
            self._add_unit(event)
        elif isinstance(event, Retrieval):
            if event.status in ("ok", "empty_alias", "fail"):
                shape = RetrievalCounts(event.retrieved, event.relevant, event.admitted, event.ideal)
                self.retrievals[shape] += 1
                self.complete_retrievals += event.complete
        elif isinstance(event, Handoff):
            self.handoffs += 1
            self.complete += event.complete

    def _add_unit(self, event: UnitClosed) -> None:
        self.units[UnitCounts(event.needs, event.reached, event.first_reached, event.taken)] += 1
        self.closed += 1
        self.answered += event.answered
        self.guessed += event.guessed
        self.abnormal += event.abnormal
        self.degraded += event.degraded

    def with_units(self, more: Iterable[UnitCounts]) -> Tally:
        """The same counts with further units, for reading link figures."""
        return replace(self, units=self.units + Counter(more))

    def __iadd__(self, other: Tally) -> Tally:
        for f in fields(self):
            mine, theirs = getattr(self, f.name), getattr(other, f.name)
            if isinstance(mine, Counter):
                mine.update(theirs)
            else:
                setattr(self, f.name, mine + theirs)
        return self

    def __add__(self, other: Tally) -> Tally:
        return Tally(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})

    def to_record(self) -> dict[str, Any]:
        """As JSON-ready values."""
        plain: dict[str, Any] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name in ("units", "retrievals"):
                plain[f.name] = [[*shape, n] for shape, n in value.items()]
            else:
                plain[f.name] = dict(value) if isinstance(value, Counter) else value
        return plain

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Tally:
        """The inverse of `to_record`."""
        values = dict(record)
        values["units"] = Counter({UnitCounts(*row[:4]): row[4] for row in record["units"]})
        values["retrievals"] = Counter({RetrievalCounts(*row[:4]): row[4] for row in record["retrievals"]})
        values["calls"], values["rungs"] = Counter(record["calls"]), Counter(record["rungs"])
        return cls(**values)
