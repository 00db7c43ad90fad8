"""Context utilisation: fragments that replies cite over fragments that stood in the context (definitions, section 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from agent_reach.events import Event, Turn
from agent_reach.scores.rate import Rate, rate_of

FIFTHS: Final = ("first 20 %", "20–40 %", "40–60 %", "60–80 %", "last 20 %")
"""Where a fragment stood among those of its turn."""

_ENOUGH: Final = 30
_MANY: Final = 5
_LITTLE: Final = 0.2


class Place(NamedTuple):
    """Where a fragment is counted.

    Attributes:
        source: where it came from.
        label: what kind of knowledge it is, as declared.
        fifth: 1 to 5, by its position among the fragments of its turn.
    """

    source: str
    label: str
    fifth: int


class Utilisation:
    """Counts of fragments by place; adding two gives the counts over both.

    Attributes:
        cited, injected: fragments, by place.
        turns: answered turns that had fragments in their context.
    """

    def __init__(self) -> None:
        self.cited: Counter[Place] = Counter()
        self.injected: Counter[Place] = Counter()
        self.turns = 0

    def observe(self, event: Event) -> None:
        """Take in one event; only turns with fragments in their context count."""
        if not isinstance(event, Turn) or not event.context_cited:
            return
        self.turns += 1
        n = len(event.context_cited)
        labels = event.context_groups or ("",) * n
        for i, (source, label, cited) in enumerate(zip(event.context_sources, labels, event.context_cited, strict=True)):
            self.add(Place(source, label, 5 * i // n + 1), 1, int(cited == "1"))

    def add(self, place: Place, injected: int, cited: int) -> None:
        """Count fragments at one place."""
        self.injected[place] += injected
        self.cited[place] += cited

    def by(self, key: str) -> dict[Any, Rate]:
        """Utilisation by `source`, `label` or `fifth`."""
        cited: Counter[Any] = Counter()
        injected: Counter[Any] = Counter()
        for place, n in self.injected.items():
            injected[getattr(place, key)] += n
            cited[getattr(place, key)] += self.cited[place]
        return {value: rate_of(cited[value], n) for value, n in sorted(injected.items())}

    @property
    def overall(self) -> Rate:
        """Over everything."""
        return rate_of(self.cited.total(), self.injected.total())

    def __repr__(self) -> str:
        return f"Utilisation({self.overall} of the fragments cited in {self.turns} turns)"

    def __add__(self, other: Utilisation) -> Utilisation:
        total = Utilisation()
        total.cited, total.injected = self.cited + other.cited, self.injected + other.injected
        total.turns = self.turns + other.turns
        return total

    def to_rows(self) -> list[list[Any]]:
        """The counts as JSON-ready rows: source, label, fifth, injected, cited."""
        return [[*place, n, self.cited[place]] for place, n in self.injected.items()]

    def add_rows(self, rows: Iterable[list[Any]], turns: int) -> None:
        """Count what `to_rows` gave, of so many turns."""
        self.turns += turns
        for source, label, fifth, injected, cited in rows:
            self.add(Place(source, label, fifth), injected, cited)

    def to_record(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {
            "overall": self.overall.to_record(),
            "turns": self.turns,
            "positions": {FIFTHS[fifth - 1]: rate.to_record() for fifth, rate in self.by("fifth").items()},
            "labels": {label: rate.to_record() for label, rate in self.by("label").items() if label},
            "sources": {source: rate.to_record() for source, rate in self.by("source").items()},
            "advice": advice(self),
        }


def advice(counts: Utilisation) -> list[str]:
    """What to change in how the context is put together; only what the intervals bear out, nothing under 30 fragments."""
    found: list[str] = []
    if counts.turns and counts.overall.n / counts.turns > _MANY and _surely_below(counts.overall, 0.5):
        mean = counts.overall.n / counts.turns
        found.append(f"inject at most {_MANY} fragments a turn: it is {mean:.1f} now, and most are never cited")
    fifths = counts.by("fifth")
    first, later = fifths.get(1), [rate for fifth, rate in fifths.items() if fifth > 1]
    if first and first.interval and first.n >= _ENOUGH:
        rest = rate_of(sum(rate.hits for rate in later), sum(rate.n for rate in later))
        if rest.interval and rest.n >= _ENOUGH and first.interval.low > rest.interval.high:
            after = f"{rest.hits} of {rest.n} after them"
            found.append(f"put the key rules first: {first.hits} of {first.n} fragments in the first 20 % are cited, {after}")
    for label, rate in counts.by("label").items():
        if label and _surely_below(rate, _LITTLE):
            advised = f"give fragments labelled {label!r} a summary line of their own, or leave them out"
            found.append(f"{advised}: {rate.hits} of {rate.n} are cited")
    return found


def _surely_below(rate: Rate, share: float) -> bool:
    return rate.n >= _ENOUGH and rate.interval is not None and rate.interval.high < share
