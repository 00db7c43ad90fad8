"""What is likely wrong in a route table although it can be read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from rapidfuzz import fuzz

from agent_reach.contracts.routes import Routes

_ALIKE = 70.0


def findings(routes: Routes, registered: Iterable[str] = (), before: Routes | None = None) -> list[str]:
    """One line a finding, with the place.

    Args:
        routes: the table.
        registered: names of the tools that exist; none for not known.
        before: an earlier version, for tools that were renamed.
    """
    known = set(registered)
    return [
        *_empty(routes),
        *_same_words(routes),
        *_circles(routes),
        *(_unregistered(routes, known) if known else ()),
        *(_renamed(routes, before) if before is not None else ()),
    ]


def _empty(routes: Routes) -> Iterator[str]:
    if not routes.intents:
        yield "intents: none, so that every call is a need of its own and no reach rate is counted"
    for name, intent in routes.intents.items():
        if not intent.steps:
            yield f"intents.{name}: no steps, so that its units are in no rate"
        if not intent.keywords and not intent.patterns and routes.classifier is None:
            yield f"intents.{name}: no keywords and no patterns: only a classifier or reach.session(intent=…) gives it"


def _same_words(routes: Routes) -> Iterator[str]:
    seen: dict[str, str] = {}
    for name, intent in routes.intents.items():
        for word in (*intent.keywords, *intent.patterns):
            first = seen.setdefault(word.casefold(), name)
            if first != name:
                yield f"intents.{name}: {word!r} also belongs to {first!r}, which is tried first and always wins"
    for name, intent in routes.intents.items():
        for keyword in intent.keywords:
            found = routes.model_copy(update={"classifier": None}).classify(keyword)
            if found not in (None, name) and keyword.casefold() not in {w.casefold() for w in routes.intents[str(found)].keywords}:
                yield f"intents.{name}: a message that only says {keyword!r} is taken for {found!r}, which stands before it"


def _circles(routes: Routes) -> Iterator[str]:
    """Alternates that lead back are harmless to run, since no tool is tried twice for one call, and mostly a mistake."""
    edges = {tool: [alternate.tool for alternate in contract.alternates] for tool, contract in routes.tools.items()}
    for tool, alternates in edges.items():
        if tool in alternates:
            yield f"tools.{tool}: is its own alternate"
        for alternate in alternates:
            if alternate > tool and tool in edges.get(alternate, ()):
                yield f"tools.{tool}: {alternate!r} and it are alternates of each other: one group, whose first name counts"


def _unregistered(routes: Routes, known: set[str]) -> Iterator[str]:
    places: dict[str, tuple[object, ...]] = {}
    for path, name in routes.named():
        places.setdefault(name, path)
    for name, path in places.items():
        if name not in known:
            yield f"{'.'.join(map(str, path))}: {name!r} is not registered{_like(name, known)}"
    for name in sorted(known - places.keys() - set(routes.tools)):
        yield f"tools: {name!r} is registered and in no route"


def _renamed(routes: Routes, before: Routes) -> Iterator[str]:
    old, new = _steps(before), _steps(routes)
    for intent in old.keys() & new.keys():
        for name in sorted(old[intent] - new[intent]):
            likely = _like(name, new[intent] - old[intent])
            yield f"intents.{intent}: {name!r} of version {before.version} is gone{likely}; their figures are not compared"


def _steps(routes: Routes) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for name, intent in routes.intents.items():
        found[name] |= {tool for step in intent.steps for tool in step.tools}
    return found


def _like(name: str, others: Iterable[str]) -> str:
    best = max(others, key=lambda other: fuzz.ratio(name, other), default="")
    return f" (renamed to {best!r}?)" if best and fuzz.ratio(name, best) >= _ALIKE else ""
