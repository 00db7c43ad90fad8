"""Where a task stands, as it is kept in the state of a graph: JSON, so that every checkpointer can hold it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agent_reach.planning.facts import Facts, given
from agent_reach.planning.outcomes import ANCESTORS

_SEEN_KEPT = 2_000


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a task stands.

    Attributes:
        facts: that are known.
        called: tools that were called well.
        doubted: (tool, fact) pairs: the tool was called well without giving the fact that it declares.
        seen: ids of the tool messages that were taken in, the newest last.
        path: (fingerprint, tools that led there) of the states on the current path, the newest last.
        made: fingerprint of the state in which each call was made, by tool and hash of its arguments.
        step: number of the state on its path.
        sent_back: how often an answer was sent back.
    """

    facts: Facts = field(default_factory=Facts)
    called: frozenset[str] = frozenset()
    doubted: frozenset[tuple[str, str]] = frozenset()
    seen: tuple[str, ...] = ()
    path: tuple[tuple[str, tuple[str, ...]], ...] = ()
    made: Mapping[str, str] = field(default_factory=dict)
    step: int = 0
    sent_back: int = 0

    def at(self, fingerprint: str, tools: Iterable[str]) -> Progress:
        """One state further on the path."""
        path = (*self.path, (fingerprint, tuple(tools)))[-ANCESTORS - 1 :]
        return replace(self, path=path, step=self.step + 1)

    @property
    def loops(self) -> tuple[str, ...]:
        """Tools that led back to a state which is one of the last three ancestors on the path."""
        if len(self.path) < 2:
            return ()
        *before, (now, tools) = self.path
        return tools if now in {each for each, _ in before} else ()

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            **self.facts.to_json(),
            "called": sorted(self.called),
            "doubted": sorted(map(list, self.doubted)),
            "seen": list(self.seen[-_SEEN_KEPT:]),
            "path": [[fingerprint, list(tools)] for fingerprint, tools in self.path],
            "made": dict(self.made),
            "step": self.step,
            "sent_back": self.sent_back,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None, now: int = 0) -> Progress:
        """Of `to_json`, or of plain values by the names of their facts."""
        if not data:
            return cls()
        if not isinstance(data.get("known"), Mapping):
            return cls(Facts().add(given(data, time=now)))
        return cls(
            Facts.from_json(data),
            frozenset(data.get("called", ())),
            frozenset((tool, fact) for tool, fact in data.get("doubted", ())),
            tuple(data.get("seen", ())),
            tuple((fingerprint, tuple(tools)) for fingerprint, tools in data.get("path", ())),
            dict(data.get("made", {})),
            data.get("step", 0),
            data.get("sent_back", 0),
        )


def merged(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> dict[str, Any]:
    """Reducer of a graph's state: a whole progress takes the place of the old one, plain values are facts that the user adds."""
    if not new:
        return dict(old or {})
    if isinstance(new.get("known"), Mapping):
        return dict(new)
    progress = Progress.from_json(old)
    return replace(progress, facts=progress.facts.settled(given(new))).to_json()
