"""Instruction coverage: atoms obeyed over atoms whose condition was met (definitions, section 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from agent_reach.checks.instructions import TurnRecord, verdict_of
from agent_reach.contracts.instructions import Instructions
from agent_reach.scores.rate import Rate, rate_of

_KEPT = 5


@dataclass(slots=True)
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
            for atom in self.instructions.atoms:
                try:
                    verdict = verdict_of(atom, turn)
                except Exception as error:  # noqa: BLE001 - a user's function may raise anything; the atom is then not counted
                    self.failed[atom.id] = f"{type(error).__name__}: {error}"
                    continue
                if verdict is None:
                    continue
                if verdict == "over_obeyed":
                    self.over_obeyed[atom.id] += 1
                    continue
                self.triggered[atom.id] += 1
                self.obeyed[atom.id] += verdict == "obeyed"
                if verdict == "disobeyed":
                    places = self.broken.setdefault(atom.id, [])
                    if len(places) < _KEPT:
                        places.append((conversation, number))

    def rate(self, atom: str = "") -> Rate:
        """Coverage of one atom, or of all."""
        if atom:
            return rate_of(self.obeyed[atom], self.triggered[atom])
        return rate_of(self.obeyed.total(), self.triggered.total())

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
