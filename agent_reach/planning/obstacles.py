"""What stands in the way of a call, or of a task's end: conditions judged on the facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from agent_reach.checks.verification import plain, schema_error
from agent_reach.contracts.conditions import Condition, Unmet
from agent_reach.contracts.registry import Capability, Goal, Refusal
from agent_reach.planning.facts import Fact, Facts


class Obstacle(NamedTuple):
    """A condition that does not hold.

    Attributes:
        condition: as it is declared.
        kind: `missing`, `stale`, `forbidden` or `invalid`.
        reason: for the model and the log.
    """

    condition: str
    kind: Unmet
    reason: str


Arguments = Mapping[str, Any]


def to_call(capability: Capability, facts: Facts, now: int) -> list[Obstacle]:
    """What stands in the way of any call of a tool, whatever its arguments.

    Args:
        capability: of the tool.
        facts: that are known.
        now: nanoseconds since 1970.
    """
    found = [
        Obstacle(fact, "missing", f"`{fact}`, which `{parameter}` is filled from, is not known")
        for parameter, fact in capability.parameters.items()
        if not facts.holds(fact)
    ]
    for condition in capability.preconditions:
        if condition.is_plain:
            if facts.holds(condition.fact) is condition.absent:
                found.append(_plainly(condition, facts))
        elif not condition.is_of_arguments and (unmet := obstacle(condition, facts, now)) is not None:
            found.append(unmet)
    return found


def to_this_call(capability: Capability, arguments: Arguments, facts: Facts, now: int) -> list[Obstacle]:
    """What stands in the way of a call with these arguments; semantic checks apart."""
    found = to_call(capability, facts, now)
    found += [each for parameter, fact in capability.parameters.items() if (each := _unlike(parameter, arguments, fact, facts))]
    if capability.arguments:
        found += _against_schema(capability.arguments, arguments)
    for condition in capability.preconditions:
        if condition.is_of_arguments and (unmet := obstacle(condition, facts, now, arguments)) is not None:
            found.append(unmet)
    return found


def to_goal(goal: Goal, facts: Facts, now: int) -> list[Obstacle]:
    """Conditions of a goal that do not hold; done when there are none."""
    return [unmet for condition in goal.conditions if (unmet := obstacle(condition, facts, now)) is not None]


def obstacle(condition: Condition, facts: Facts, now: int, arguments: Arguments | None = None) -> Obstacle | None:
    """Why a condition does not hold, None when it does; one that raises does not."""
    if condition.is_plain:
        return None if facts.holds(condition.fact) is not condition.absent else _plainly(condition, facts)
    try:
        unmet = _judged(condition, facts, now, arguments)
    except Refusal as refusal:
        unmet = refusal.kind, str(refusal)
    except Exception as error:  # noqa: BLE001 - a user's predicate may raise anything
        unmet = "invalid", f"`{condition}` raised {type(error).__name__}: {error}"
    return None if unmet is None else _said(condition, *unmet)


def _judged(condition: Condition, facts: Facts, now: int, arguments: Arguments | None) -> tuple[Unmet, str] | None:
    if condition.predicate is not None:
        return None if condition.predicate(facts) else ("invalid", f"`{condition}` does not hold")
    if condition.expression is not None:
        document = {"facts": plain(facts.nested), "arguments": plain(arguments or {}), "conflicts": list(facts.conflicts)}
        return None if condition.expression.holds(document) else _of_expression(condition, facts)
    return _of_fact(condition, facts, now)


def _of_expression(condition: Condition, facts: Facts) -> tuple[Unmet, str]:
    unknown = [name for name in condition.mentions if not any(condition.covers(fact.name) for fact in facts)]
    return ("missing", f"`{unknown[0]}` is not known") if unknown else ("invalid", f"`{condition}` does not hold")


def _of_fact(condition: Condition, facts: Facts, now: int) -> tuple[Unmet, str] | None:
    named = [fact for fact in facts if condition.covers(fact.name)] if condition.fact else []
    if condition.conflicts is not None:
        open_ = [name for name in facts.conflicts if condition.covers(name)]
        if len(open_) > condition.conflicts:
            return "invalid", f"sources contradict each other on {', '.join(f'`{name}`' for name in open_)}"
        if not condition.fact:
            return None
    if not any(fact.holds for fact in named):
        return "missing", f"`{condition.fact}` is not known"
    for fact in named:
        if unmet := _of_one(condition, fact, now):
            return unmet
    together = {source for fact in named for source in fact.sources}
    if len(together) < condition.sources_together:
        return "missing", f"`{condition.fact}` comes from {len(together)} of {condition.sources_together} sources"
    return None


def _of_one(condition: Condition, fact: Fact, now: int) -> tuple[Unmet, str] | None:
    if condition.wants_value and fact.value != condition.equals:
        return "invalid", f"`{fact.name}` is {fact.value!r}, not {condition.equals!r}"
    if condition.max_age is not None and now - fact.time > condition.max_age * 1e9:
        return "stale", f"`{fact.name}` is {(now - fact.time) / 1e9:.0f} s old, more than {condition.max_age:g} s"
    if len(fact.sources) < condition.sources:
        return "missing", f"`{fact.name}` comes from {len(fact.sources)} of {condition.sources} sources"
    if fact.confidence < condition.confidence:
        return "invalid", f"`{fact.name}` has confidence {fact.confidence:g}, less than {condition.confidence:g}"
    return None


def _plainly(condition: Condition, facts: Facts) -> Obstacle:
    if condition.absent:
        return _said(condition, "forbidden", f"`{condition.fact}` holds")
    known = facts.get(condition.fact)
    return _said(condition, *(("missing", f"`{condition.fact}` is not known") if known is None else
                              ("invalid", f"`{condition.fact}` is {known.value!r}")))  # fmt: skip


def _said(condition: Condition, kind: Unmet, reason: str) -> Obstacle:
    return Obstacle(condition.name, condition.kind or kind, condition.reason or reason)


def _unlike(parameter: str, arguments: Arguments, fact: str, facts: Facts) -> Obstacle | None:
    """An argument that is not the fact that it is filled from."""
    if parameter not in arguments or not facts.holds(fact):
        return None
    allowed = [value for each in facts.versions(fact) for value in (each.value if isinstance(each.value, list) else [each.value])]
    given = arguments[parameter]
    if given in allowed or str(given) in map(str, allowed) or given == facts.value(fact):
        return None
    return Obstacle(fact, "invalid", f"`{parameter}` is {given!r:.80}, but `{fact}` is {facts.value(fact)!r:.80}")


def _against_schema(schema: dict[str, Any], arguments: Arguments) -> list[Obstacle]:
    error = schema_error(schema, arguments)
    return [] if error is None else [Obstacle("arguments", "invalid", error)]
