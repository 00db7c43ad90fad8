"""Instruction coverage: atoms obeyed over atoms whose condition was met (definitions, section 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_reach.checks.instructions import TurnRecord, verdicts
from agent_reach.contracts.instructions import Instructions
from agent_reach.events import Event, Turn
from agent_reach.scores.rate import Rate, rate_of

_KEPT = 5


@dataclass(slots=True, repr=False)
class Coverage:
    """Counts by atom; adding two of the same instructions gives the counts over both.

    Attributes:
        instructions: the atoms.
        obeyed, triggered, over_obeyed: how often, by id of the atom.
        broken: up to five (conversation, turn) of each atom that was not obeyed.
        failed: messages of `check` functions that raised, by id.
    """

    instructions: Instructions
    obeyed: Counter[str] = field(default_factory=Counter)
    triggered: Counter[str] = field(default_factory=Counter)
    over_obeyed: Counter[str] = field(default_factory=Counter)
    broken: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def observe(self, conversation: str, turns: Iterable[TurnRecord]) -> None:
        """Count the turns of one conversation."""
        for number, turn in enumerate(turns, 1):
            found, raised = verdicts(self.instructions.atoms, turn)
            self.failed |= {atom: f"{type(error).__name__}: {error}" for atom, error in raised.items()}
            self._count(conversation, number, found)

    def observe_event(self, event: Event) -> None:
        """Count what a live turn says of its atoms."""
        if isinstance(event, Turn) and event.instructions:
            pairs = (text.partition(" ") for text in event.instructions)
            self._count(event.session, event.turn, {atom: verdict for verdict, _, atom in pairs})

    def _count(self, conversation: str, turn: int, verdicts: Mapping[str, str]) -> None:
        for atom, verdict in verdicts.items():
            if verdict == "over_obeyed":
                self.over_obeyed[atom] += 1
                continue
            self.triggered[atom] += 1
            self.obeyed[atom] += verdict == "obeyed"
            if verdict == "disobeyed" and len(self.broken.setdefault(atom, [])) < _KEPT:
                self.broken[atom].append((conversation, turn))

    def rate(self, atom: str = "") -> Rate:
        """Coverage of one atom, or of all."""
        if atom:
            return rate_of(self.obeyed[atom], self.triggered[atom])
        return rate_of(self.obeyed.total(), self.triggered.total())

    def __repr__(self) -> str:
        return f"Coverage({', '.join(f'{atom.id} {self.rate(atom.id)}' for atom in self.instructions.atoms)})"

    def __add__(self, other: Coverage) -> Coverage:
        total = Coverage(self.instructions, self.obeyed + other.obeyed, self.triggered + other.triggered)
        total.over_obeyed = self.over_obeyed + other.over_obeyed
        for part in (self, other):
            for atom, places in part.broken.items():
                total.broken[atom] = (total.broken.get(atom, []) + places)[:_KEPT]
            total.failed |= part.failed
        return total

    def to_record(self) -> dict[str, Any]:
        """As JSON-ready values."""
        atoms = {
            atom.id: {
                **self.rate(atom.id).to_record(),
                "over_obeyed": self.over_obeyed[atom.id],
                "broken": [list(place) for place in self.broken.get(atom.id, [])],
                **({"failed": self.failed[atom.id]} if atom.id in self.failed else {}),
            }
            for atom in self.instructions.atoms
        }
        return {"version": self.instructions.version, "overall": self.rate().to_record(), "atoms": atoms}
