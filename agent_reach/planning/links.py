"""Links from what one tool gives to what another one takes, derived from names, descriptions, types and plans that were seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from agent_reach.checks.ranking import name_words
from agent_reach.checks.relevance import tokens
from agent_reach.planning.operators import Operator


class Field(NamedTuple):
    """A parameter or an output of a tool; `type` is that of JSON Schema, `""` when unknown."""

    name: str
    type: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a tool takes and gives.

    Attributes:
        parameters: that it takes.
        outputs: fields of its results; of nested ones the path with dots.
    """

    name: str
    description: str = ""
    parameters: Sequence[Field] = field(default=())
    outputs: Sequence[Field] = field(default=())


class Link(NamedTuple):
    """A parameter that a tool's output can fill.

    Attributes:
        evidence: how much speaks for it; only that the types fit is a guess.
    """

    producer: str
    consumer: str
    parameter: str
    evidence: float

    @property
    def guess(self) -> bool:
        """Only types speak for it."""
        return self.evidence < _ENOUGH

    def operator(self) -> Operator:
        """As a step that costs nothing."""
        name = f"{self.producer} → {self.consumer}.{self.parameter}"
        return Operator(
            name,
            frozenset({f"out:{self.producer}"}),
            frozenset({f"{self.consumer}.{self.parameter}"}),
            cost=0.0,
            guess=self.guess,
            link=True,
        )


Seen = Mapping[tuple[str, str, str], int]
"""How often plans filled a consumer's parameter with an output of a producer: (producer, consumer, parameter)."""

_SEEN, _SAME_NAME, _COVERED, _MENTIONED, _TYPE = 4.0, 3.0, 2.0, 2.0, 0.1
_ENOUGH: Final = 1.0
_MENTION: Final = 0.6


def derive_links(tools: Sequence[Signature], needed: Iterable[tuple[str, str]], seen: Seen | None = None) -> list[Link]:
    """The likeliest producer of each parameter that has to be produced; none where nothing speaks for any.

    Args:
        tools: that there are.
        needed: (consumer, parameter) pairs.
        seen: from other plans.
    """
    by_name = {tool.name: tool for tool in tools}
    found = []
    for consumer, parameter in dict.fromkeys(needed):
        taken = next((each for each in by_name[consumer].parameters if each.name == parameter), Field(parameter))
        judged = [
            (_evidence(producer, taken, (seen or {}).get((producer.name, consumer, parameter), 0)), producer.name)
            for producer in tools
            if producer.name != consumer
        ]
        best = max(judged, key=lambda each: each[0], default=(0.0, ""))
        if best[0] > 0:
            found.append(Link(best[1], consumer, parameter, best[0]))
    return found


def _evidence(producer: Signature, taken: Field, seen: int) -> float:
    """What speaks for a tool as the producer of a parameter."""
    wanted = _words(taken.name)
    named = _words(producer.name)
    about = set(tokens(taken.description))
    score = _SEEN * min(seen, 2)
    score += max((_alike(wanted, taken, output, named) for output in producer.outputs), default=0.0)
    if named and len(named & about) / len(named) >= _MENTION:
        score += _MENTIONED
    return score


def _alike(wanted: set[str], taken: Field, output: Field, named: set[str]) -> float:
    own = _words(output.name.rpartition(".")[2])
    if own == wanted:
        return _SAME_NAME + (_TYPE if taken.type == output.type else 0.0)
    if own & wanted and wanted <= own | named:
        return _COVERED
    return _TYPE if taken.type and taken.type == output.type else 0.0


def _words(name: str) -> set[str]:
    return {word for part in name_words(name) for word in tokens(part)}
