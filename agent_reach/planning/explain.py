"""Why a goal cannot be reached, in a sentence, and what can never be right about a registry."""

from __future__ import annotations

from collections.abc import Iterator

from agent_reach.contracts.conditions import Condition
from agent_reach.contracts.registry import Goal, Registry
from agent_reach.planning.facts import Fact, Facts
from agent_reach.planning.obstacles import obstacle, to_goal
from agent_reach.planning.problem import Situation, gives, milestones_of, needs_of, way
from agent_reach.planning.search import DEPTH

_FEW_MILESTONES = 1 / 3


def why_not(registry: Registry, goal: Goal, situation: Situation, *, depth: int = DEPTH) -> str:
    """What stands in the way of a goal that cannot be reached; `""` when it can.

    Such as: not reachable: `refund_create` needs `order.verified`, which only `order_verify` gives, whose breaker is open.
    """
    found = way(registry, goal, situation, depth=depth)
    if found.verdict != "not":
        return ""
    reasons = list(dict.fromkeys(_reasons(registry, goal, situation)))
    if not reasons:
        reasons = [f"no way of at most {depth} calls was found"]
    return f"not reachable: {'; '.join(reasons)}"


def _reasons(registry: Registry, goal: Goal, situation: Situation) -> Iterator[str]:
    """Of each condition of the goal that cannot come about, the first link on the way that is broken."""
    for condition in goal.conditions:
        if not _can_hold(registry, condition, situation):
            yield from _broken(registry, condition, situation, "the goal", ())
    for name in milestones_of(registry, goal):
        if name not in situation.called:
            yield from _tool_broken(registry, name, situation, f"the goal has the milestone `{name}`", ())


def _broken(registry: Registry, condition: Condition, situation: Situation, who: str, path: tuple[str, ...]) -> Iterator[str]:
    """Why nothing makes a condition true: nobody gives it, or each who does lacks something in turn."""
    if condition.name in path:
        circle = " → ".join(f"`{name}`" for name in (*path[path.index(condition.name) :], condition.name))
        yield f"{who} needs `{condition}`, which depends on itself in a circle: {circle}"
        return
    givers = [name for name, tool in registry.tools.items() if gives(tool, condition) or _may_be_any(condition)]
    if not givers:
        unmet = obstacle(condition, situation.facts, situation.now)
        known = "" if unmet is None or unmet.kind == "missing" else f" ({unmet.reason})"
        yield f"{who} needs `{condition}`, which no tool gives and nobody has given{known}"
        return
    out_of_order = {name: why for name in givers if (why := _why_down(situation, name))}
    if len(out_of_order) == len(givers):
        only = "only " if len(givers) == 1 else ""
        yield f"{who} needs `{condition}`, which {only}" + " and ".join(f"`{n}` gives, {why}" for n, why in out_of_order.items())
        return
    deeper = [
        list(_tool_broken(registry, name, situation, f"`{name}`", (*path, condition.name)))
        for name in givers if name not in out_of_order
    ]  # fmt: skip
    if all(deeper):
        yield from dict.fromkeys(reason for each in deeper for reason in each)
    elif condition.sources > 1 or condition.sources_together:
        able = " and ".join(f"`{name}`" for name in givers if name not in out_of_order)
        others = "".join(f"; `{name}` gives it, too, {why}" for name, why in out_of_order.items())
        yield f"{who} needs `{condition}`, which only {able} can give now{others}"


def _tool_broken(registry: Registry, name: str, situation: Situation, who: str, path: tuple[str, ...]) -> Iterator[str]:
    """Why a tool can never be called."""
    if why := _why_down(situation, name):
        yield f"{who}, {why}" if who != f"`{name}`" else f"{who} cannot be called, {why}"
        return
    for condition in needs_of(registry.tools[name]):
        if not _can_hold(registry, condition, situation):
            yield from _broken(registry, condition, situation, f"`{name}`", path)


def _may_be_any(condition: Condition) -> bool:
    return condition.predicate is not None and not condition.reads


def _can_hold(registry: Registry, condition: Condition, situation: Situation) -> bool:
    without_milestones = registry.model_copy(
        update={"tools": {n: t.model_copy(update={"milestone": False}) for n, t in registry.tools.items()}}
    )
    return way(without_milestones, Goal(conditions=(condition,)), situation).verdict != "not"


def _why_down(situation: Situation, name: str) -> str:
    if name in situation.down:
        return situation.down[name]
    return "which was tried in this plan and failed" if name in situation.banned else ""


def lint(registry: Registry, goal: Goal) -> list[str]:
    """What is likely wrong, whatever will happen: in a sentence each.

    A goal that can never be true, preconditions that nothing can make true, tools that depend on each other in a circle, milestones
    that are many or come without a condition.
    """
    best = ideal(registry)
    found = [] if way(registry, goal, best).verdict != "not" else [f"the goal can never be true: {why_not(registry, goal, best)}"]
    for name, tool in registry.tools.items():
        for condition in needs_of(tool):
            if not _can_hold(registry, condition, best):
                found += _broken(registry, condition, best, f"tools.{name}: it", ())
        if tool.milestone and not needs_of(tool):
            found.append(f"tools.{name}: a milestone without a precondition can be reached at any moment")
    milestones = [name for name, tool in registry.tools.items() if tool.milestone]
    if len(milestones) > max(1, len(registry.tools) * _FEW_MILESTONES):
        found.append(f"milestones should be few and final: {len(milestones)} of {len(registry.tools)} tools are")
    return list(dict.fromkeys(found))


def ideal(registry: Registry) -> Situation:
    """Everything that comes from outside is known, and every tool can be called."""
    return Situation(Facts().add([Fact(name, "given", 1.0, ("given",)) for name in registry.given]))


def left_to_do(registry: Registry, goal: Goal, situation: Situation) -> list[str]:
    """What is left to do: reasons of conditions that do not hold, and milestones that were not reached; empty when done."""
    left = [each.reason for each in to_goal(goal, situation.facts, situation.now)]
    return left + [f"milestone `{name}` was not reached" for name in milestones_of(registry, goal) if name not in situation.called]
