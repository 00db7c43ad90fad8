"""Why best tools were not called, and what to change (definitions, section 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import erfc, sqrt
from typing import Any, Final, NamedTuple

from agent_reach.checks.ranking import Ranker, name_words
from agent_reach.checks.relevance import tokens
from agent_reach.contracts import Routes
from agent_reach.scores.rate import Miss, RateTally

_ENOUGH: Final = 10
_RARELY: Final = 0.3
_CERTAIN: Final = 0.05
_ALIKE: Final = 0.5
_SUGGESTIONS: Final = {
    "never_offered": "bind {tool} to the model where intent {intent} is served: it was not among the tools offered",
    "offered_late": "move {tool} to the front of the tools: it is chosen less often the later it stands (p = {p:.3f})",
    "overlap": "say in the descriptions of {tool} and {chosen} when to take which: both speak of {words}",
    "misnamed": "the model calls a tool that does not exist: make the name of {tool} plain, or offer fewer names like it",
    "arguments": "say in the schema of the tool called before {tool} what its arguments must be: the unit stopped at wrong ones",
    "precondition": "say in the description of the tool called before {tool} what must come first: it was not met",
    "earlier_step": "mend the step before {tool} first: it was not reached, and {tool} waits for it",
    "expectation": "{place} may be wrong: {hits} of {n} units called {tool}; take it out or make it an alternate",
    "lesser_tool": "put the tool that is called first in {place}, or say in its description that {tool} comes first",
    "other_tool": "say in the description of {tool} that intent {intent} needs it, with an example of a request",
    "no_call": "say in the prompt that intent {intent} needs {tool} before an answer",
}


class Cause(NamedTuple):
    """One reason for misses of one tool under one intent.

    Attributes:
        intent, tool: of the step.
        reason: a key of the suggestions, such as `overlap`.
        n: misses with it.
        suggestion: what to change, with the names and the line of the route table.
    """

    intent: str
    tool: str
    reason: str
    n: int
    suggestion: str


def causes(tally: RateTally, routes: Routes, descriptions: Mapping[str, str] | None = None) -> list[Cause]:
    """The remembered misses by reason, the most frequent first.

    Args:
        tally: of the units.
        routes: the table that expected the tools.
        descriptions: of the tools, by name; with them, tools whose descriptions overlap are found.
    """
    finder = _Finder(tally, routes, descriptions or {})
    counted: Counter[tuple[str, str, str, str]] = Counter()
    for miss in tally.misses:
        reason, chosen = finder.reason(miss)
        counted[miss.cell.intent, miss.cell.tool, reason, chosen] += 1
    found = [
        Cause(intent, tool, reason, n, finder.suggestion(intent, tool, reason, chosen))
        for (intent, tool, reason, chosen), n in counted.items()
    ]
    return sorted(found, key=lambda cause: (-cause.n, cause.intent, cause.tool, cause.reason))


def place_effect(places: Mapping[tuple[str, bool, int], int], tool: str) -> float:
    """How likely a difference in place this large is by chance, when units that missed a tool saw it later in the offered list.

    One-sided Mann-Whitney test with correction for ties (H. B. Mann and D. R. Whitney, 1947), over tenths of the list.

    Args:
        places: (tool, called, tenth) to counts.
        tool: which.

    Returns:
        the p-value; 1 with fewer than ten units on either side.
    """
    hit = [places.get((tool, True, tenth), 0) for tenth in range(10)]
    missed = [places.get((tool, False, tenth), 0) for tenth in range(10)]
    n, m = sum(hit), sum(missed)
    if min(n, m) < _ENOUGH:
        return 1.0
    later, below = 0.0, 0
    for tenth in range(10):
        later += missed[tenth] * (below + hit[tenth] / 2)
        below += hit[tenth]
    total = n + m
    ties = sum((h + k) ** 3 - (h + k) for h, k in zip(hit, missed, strict=True))
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0:
        return 1.0
    return erfc((later - n * m / 2) / sqrt(2 * variance)) / 2


class _Finder:
    """Refines the reason that a unit tells by what all units and the descriptions tell."""

    def __init__(self, tally: RateTally, routes: Routes, descriptions: Mapping[str, str]) -> None:
        self._routes, self._descriptions = routes, descriptions
        self._terms = {name: set(tokens(text)) | set(name_words(name)) for name, text in descriptions.items()}
        self._ranker = Ranker(descriptions) if descriptions else None
        self._rates = tally.rates("candidate", ["intent", "tool"])
        self._late = {tool: place_effect(tally.places, tool) for tool in {miss.cell.tool for miss in tally.misses}}

    def reason(self, miss: Miss) -> tuple[str, str]:
        """The reason, and the tool that was chosen instead where that matters."""
        tool = miss.cell.tool
        if miss.reason not in ("other_tool", "no_call", "lesser_tool"):
            return miss.reason, ""
        if miss.reason != "lesser_tool" and self._rarely_called(miss):
            return "expectation", ""
        if miss.place >= 0 and 2 * miss.place >= miss.offered and self._late[tool] < _CERTAIN:
            return "offered_late", ""
        chosen = max(miss.called, key=lambda other: self._likeness(tool, other), default="")
        if chosen and chosen != tool and self._likeness(tool, chosen) >= _ALIKE:
            return "overlap", chosen
        return miss.reason, ""

    def _rarely_called(self, miss: Miss) -> bool:
        rate = self._rates[miss.cell.intent, miss.cell.tool]
        return rate.n >= _ENOUGH and rate.interval is not None and rate.interval.high < _RARELY

    def _likeness(self, tool: str, other: str) -> float:
        """How well the description of `other` answers to that of `tool`, of 1 for `tool` itself, among all described tools."""
        if self._ranker is None or tool not in self._descriptions or other not in self._descriptions or tool == other:
            return 0.0
        scores = self._ranker.scores(self._descriptions[tool])
        return scores[other] / (scores[tool] or 1.0)

    def suggestion(self, intent: str, tool: str, reason: str, chosen: str) -> str:
        rate = self._rates[intent, tool]
        shared = sorted(self._terms.get(tool, set()) & self._terms.get(chosen, set()))
        return _SUGGESTIONS[reason].format(
            tool=f"`{tool}`",
            chosen=f"`{chosen}`",
            intent=f"`{intent}`",
            place=self._routes.place_of(intent, tool),
            words=", ".join(shared[:5]) or "the same",
            p=self._late.get(tool, 1.0),
            hits=rate.hits,
            n=rate.n,
        )


def to_record(found: list[Cause]) -> list[dict[str, Any]]:
    """As JSON-ready values."""
    return [cause._asdict() for cause in found]
