"""What a call came to: the facts that it gave, and whether it did what its tool declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from agent_reach.checks.empties import PathMissing, follow
from agent_reach.checks.look import parse
from agent_reach.checks.verification import plain, schema_error
from agent_reach.contracts.expressions import Expression
from agent_reach.contracts.registry import Capability
from agent_reach.planning.facts import Fact, Facts, is_something
from agent_reach.planning.problem import Closure

ANCESTORS = 3
"""That a state is compared with."""


class Outcome(NamedTuple):
    """What a call that the tool says went well came to.

    Attributes:
        facts: that it gave.
        removed: facts that no longer hold.
        lacking: declared facts that it did not give.
        problem: why it does not count as a success, `""` when it does.
    """

    facts: tuple[Fact, ...] = ()
    removed: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    problem: str = ""


def outcome(tool: str, capability: Capability, arguments: Mapping[str, Any], result: Any, now: int) -> Outcome:
    """Judge a result by the tool's declaration: its schema, its verification, its effects.

    Args:
        tool: its name, which becomes the source of the facts.
        capability: its declaration.
        arguments: of the call.
        result: what it gave; a text that holds JSON is read.
        now: nanoseconds since 1970.
    """
    value = plain(parse(result) if isinstance(result, str) else result)
    if capability.result and (error := schema_error(capability.result, value)):
        return Outcome(problem=f"the result is not as declared: {error}")
    if problem := _unverified(capability, arguments, value):
        return Outcome(problem=problem)
    asked = {str(each) for each in arguments.values()}
    found, lacking, gone = [], [], list(capability.removes)
    for name, effect in capability.effects.items():
        given = effect.value if effect.is_value else _at(value, effect.path or name.rpartition(".")[2])
        if effect.value is False:
            gone.append(name)
        elif is_something(given) or given is False:
            found.append(Fact(name, given, _sureness(effect.certainty), (tool,), now, str(given) in asked))
        if not is_something(given) and effect.value is not False:
            lacking.append(name)
    return Outcome((*found, *_extracted(tool, capability, value, arguments, now, asked)), tuple(gone), tuple(lacking))


def taken_in(facts: Facts, capability: Capability, came_to: Outcome) -> Facts:
    """The facts after a call."""
    left = facts.without(came_to.removed)
    if capability.side_effect or capability.verifies:
        changed = [fact for fact in came_to.facts if fact.name in capability.effects]
        return left.settled(changed).add(fact for fact in came_to.facts if fact.name not in capability.effects)
    return left.add(came_to.facts)


def fingerprint(facts: Facts, closure: Closure) -> str:
    """Hash of a state: the fields that the goal depends on and what was collected; repeated query arguments are left out."""
    counted = sorted(
        (fact.name, repr(plain(fact.value)), fact.sources if closure.covers(fact.name) else ())
        for fact in facts
        if closure.covers(fact.name) or not fact.query
    )
    return blake2b(repr(counted).encode(), digest_size=8).hexdigest()


def _unverified(capability: Capability, arguments: Mapping[str, Any], value: Any) -> str:
    verify = capability.verify
    if verify is None:
        return ""
    try:
        document = {"arguments": plain(arguments), "result": value}
        held = verify.holds(document) if isinstance(verify, Expression) else verify(arguments, value)
    except Exception as error:  # noqa: BLE001 - a user's function may raise anything
        return f"`verify` raised {type(error).__name__}: {error}"
    return "" if held else "`verify` says that the call did not do it"


def _at(value: Any, path: str) -> Any:
    """What stands at a dotted path; of a list, of each of its items."""
    try:
        return follow(value, path)
    except PathMissing:
        if isinstance(value, list):
            found = [item for each in value if (item := _at(each, path)) is not None]
            return found or None
        head, _, rest = path.partition(".")
        inner = value.get(head) if isinstance(value, Mapping) else None
        return _at(inner, rest) if rest and isinstance(inner, list) else None


def _extracted(
    tool: str, capability: Capability, value: Any, arguments: Mapping[str, Any], now: int, asked: set[str]
) -> Iterator[Fact]:
    if capability.extract is None:
        return
    for name, found in dict(capability.extract(value, arguments) or {}).items():
        yield Fact(str(name), plain(found), 1.0, (tool,), now, str(found) in asked)


def _sureness(certainty: str) -> float:
    return 0.5 if certainty == "guess" else 1.0
