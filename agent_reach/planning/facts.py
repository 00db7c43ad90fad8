"""What is known, from where, how surely; and where sources contradict each other (definitions, section 6)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple


class Fact(NamedTuple):
    """One thing that is known.

    Attributes:
        name: with dots for its place, such as `order.amount`.
        value: JSON-ready.
        confidence: 0 to 1.
        sources: where it comes from, the first one first: tools, `user`, a document.
        time: when it was last found, nanoseconds.
        query: it only repeats an argument of the call that gave it.
    """

    name: str
    value: Any
    confidence: float = 1.0
    sources: tuple[str, ...] = ()
    time: int = 0
    query: bool = False

    @property
    def holds(self) -> bool:
        """Its value is neither nothing, false nor empty; zero is a value."""
        return is_something(self.value)


def is_something(value: Any) -> bool:
    """Neither nothing, false nor empty; zero is a value."""
    return not (value is None or value is False or (isinstance(value, str | list | tuple | dict) and len(value) == 0))


class Facts:
    """A store of facts; immutable: every change gives another one.

    Facts with equal values merge: the highest confidence, all sources. A different value from another source is a conflict: both
    are kept, the surer one stands provisionally, until `settled`. A source that says otherwise than before has found a change, no
    conflict.

    Example:
        >>> facts = Facts().add([Fact("price", 3, 0.6, ("web",)), Fact("price", 4, 0.9, ("crm",))])
        >>> facts.value("price"), facts.conflicts
        (4, ('price',))
    """

    __slots__ = ("_conflicts", "_known")

    def __init__(self, known: Mapping[str, Fact] | None = None, conflicts: Mapping[str, tuple[Fact, ...]] | None = None) -> None:
        self._known: dict[str, Fact] = dict(known or {})
        self._conflicts: dict[str, tuple[Fact, ...]] = dict(conflicts or {})

    # what is known --------------------------------------------------------------------------------------------------

    def get(self, name: str) -> Fact | None:
        """The fact that stands, None when there is none."""
        return self._known.get(name)

    def value(self, name: str, default: Any = None) -> Any:
        """Of the fact that stands."""
        found = self._known.get(name)
        return default if found is None else found.value

    def holds(self, name: str) -> bool:
        """It is known, and its value is neither nothing, false nor empty."""
        found = self._known.get(name)
        return found is not None and is_something(found.value)

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._known.values())

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Facts) and other.to_json() == self.to_json()

    def __hash__(self) -> int:
        return hash(tuple(self._known))

    @property
    def conflicts(self) -> tuple[str, ...]:
        """Names of facts on which sources contradict each other."""
        return tuple(self._conflicts)

    def versions(self, name: str) -> tuple[Fact, ...]:
        """All values of a fact in conflict, the surest first; the one that stands where there is none."""
        if name in self._conflicts:
            return self._conflicts[name]
        return (self._known[name],) if name in self._known else ()

    @property
    def nested(self) -> dict[str, Any]:
        """Values, nested by the dots of their names; a fact below another one stands beside its value as `value`."""
        out: dict[str, Any] = {}
        for name, fact in self._known.items():
            *above, last = name.split(".")
            place = out
            for part in above:
                below = place.get(part)
                if not isinstance(below, dict):
                    below = place[part] = {} if below is None else {"value": below}
                place = below
            if isinstance(place.get(last), dict) and not isinstance(fact.value, dict):
                place[last]["value"] = fact.value
            else:
                place[last] = dict(fact.value) if isinstance(fact.value, dict) else fact.value
        return out

    # change ---------------------------------------------------------------------------------------------------------

    def add(self, facts: Iterable[Fact]) -> Facts:
        """With these as well."""
        made = Facts(self._known, self._conflicts)
        for fact in facts:
            made._take(fact)
        return made

    def settled(self, facts: Iterable[Fact]) -> Facts:
        """With these, which a verification or a person vouches for: they stand, and end conflicts."""
        made = Facts(self._known, self._conflicts)
        for fact in facts:
            same = [each for each in self.versions(fact.name) if _same(each.value, fact.value)]
            made._conflicts.pop(fact.name, None)
            made._known[fact.name] = _merged([*same, fact])
        return made

    def without(self, names: Iterable[str]) -> Facts:
        """These no longer hold."""
        gone = set(names)
        return Facts(
            {name: fact for name, fact in self._known.items() if name not in gone},
            {name: facts for name, facts in self._conflicts.items() if name not in gone},
        )

    def _take(self, fact: Fact) -> None:
        known = self.versions(fact.name)
        kept = [each for each in known if _same(each.value, fact.value) or not _is_changed(each, fact)]
        same = [each for each in kept if _same(each.value, fact.value)]
        others = [each for each in kept if not _same(each.value, fact.value)]
        versions = sorted([*others, _merged([*same, fact])], key=lambda each: -each.confidence)
        self._known[fact.name] = versions[0]
        if len(versions) > 1:
            self._conflicts[fact.name] = tuple(versions)
        else:
            self._conflicts.pop(fact.name, None)

    # as JSON --------------------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """JSON-ready, as it is kept in the state of a graph."""
        out: dict[str, Any] = {"known": {name: _plain(fact) for name, fact in self._known.items()}}
        if self._conflicts:
            out["conflicts"] = {name: [_plain(each) for each in versions] for name, versions in self._conflicts.items()}
        return out

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Facts:
        """Of `to_json`."""
        return cls(
            {name: _fact(name, values) for name, values in data.get("known", {}).items()},
            {name: tuple(_fact(name, v) for v in versions) for name, versions in data.get("conflicts", {}).items()},
        )


def given(values: Mapping[str, Any], source: str = "user", time: int = 0) -> list[Fact]:
    """Facts of plain values."""
    return [Fact(name, value, 1.0, (source,), time) for name, value in values.items()]


def _is_changed(before: Fact, after: Fact) -> bool:
    """All who said the one now say the other."""
    return set(before.sources) <= set(after.sources)


def _merged(facts: Iterable[Fact]) -> Fact:
    """Of equal values: the highest confidence, all sources, the newest time."""
    first, *rest = facts
    return Fact(
        first.name,
        first.value,
        max(fact.confidence for fact in (first, *rest)),
        tuple(dict.fromkeys(source for fact in (first, *rest) for source in fact.sources)),
        max(fact.time for fact in (first, *rest)),
        all(fact.query for fact in (first, *rest)),
    )


def _same(one: Any, other: Any) -> bool:
    if type(one) is type(other) and not isinstance(one, dict | list):
        return bool(one == other)
    return json.dumps(one, sort_keys=True, default=str) == json.dumps(other, sort_keys=True, default=str)


def _plain(fact: Fact) -> list[Any]:
    return [fact.value, fact.confidence, list(fact.sources), fact.time, fact.query]


def _fact(name: str, values: Any) -> Fact:
    value, confidence, sources, time, query = values
    return Fact(name, value, confidence, tuple(sources), time, query)
