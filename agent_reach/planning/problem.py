"""A registry, a goal and what is known, as a search problem.

Facts that hold are propositions by their names; so is each condition that says more than that a fact holds, by its own name, with
links that say which calls can make it true. A call also gives `called:TOOL`, which milestones are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import Final, NamedTuple

from agent_reach.contracts.conditions import Condition
from agent_reach.contracts.registry import Capability, Goal, Registry
from agent_reach.planning.facts import Facts
from agent_reach.planning.obstacles import obstacle
from agent_reach.planning.operators import Operator
from agent_reach.planning.search import DEPTH, Plan, plan

_COMBINATIONS: Final = 200


@dataclass(frozen=True, slots=True)
class Situation:
    """Where a task stands.

    Attributes:
        facts: that are known.
        called: tools that were called well.
        down: why each tool that cannot be called now cannot.
        doubtful: tools that are likely to fail: what they give is a guess.
        doubted: (tool, fact) pairs: the tool was called well and did not give the fact that it declares.
        banned: tools that are not tried again in this plan.
        scores: 0 to 1, by tool: rank among equal verdict and cost.
        now: nanoseconds since 1970.
    """

    facts: Facts = field(default_factory=Facts)
    called: Set[str] = frozenset()
    down: Mapping[str, str] = field(default_factory=dict)
    doubtful: Set[str] = frozenset()
    doubted: Set[tuple[str, str]] = frozenset()
    banned: Set[str] = frozenset()
    scores: Mapping[str, float] = field(default_factory=dict)
    now: int = 0


class Problem(NamedTuple):
    """What a search is asked.

    Attributes:
        start, goal: propositions that hold, and that have to.
        operators: calls and links.
    """

    start: frozenset[str]
    goal: frozenset[str]
    operators: tuple[Operator, ...]


def way(registry: Registry, goal: Goal, situation: Situation, *, depth: int = DEPTH) -> Plan:
    """The cheapest way from where a task stands to its goal; never looks at arguments, which no one knows beforehand."""
    asked = problem(registry, goal, situation)
    return plan(asked.start, asked.goal, asked.operators, depth=depth)


def problem(registry: Registry, goal: Goal, situation: Situation) -> Problem:
    """The search problem of a situation."""
    tools = {name: tool for name, tool in registry.tools.items() if name not in situation.down and name not in situation.banned}
    conditions = _conditions([*(tool.preconditions for tool in tools.values()), goal.conditions])
    start = {fact.name for fact in situation.facts if fact.holds} | {called(tool) for tool in situation.called}
    start |= {name for name, each in conditions.items() if obstacle(each, situation.facts, situation.now) is None}
    links = [link for each in conditions.values() if not each.is_plain for link in _links(each, tools, registry, situation)]
    asked_for = frozenset().union(*(link.needs for link in links)) | conditions.keys()
    operators = [
        operator for name, tool in tools.items() for operator in _operators(name, tool, situation, asked_for, conditions.values())
    ]
    milestones = {called(name) for name in milestones_of(registry, goal)}
    return Problem(frozenset(start), frozenset(c.name for c in goal.conditions) | milestones, (*operators, *links))


def called(tool: str) -> str:
    """The proposition that a tool was called well."""
    return f"called:{tool}"


def milestones_of(registry: Registry, goal: Goal) -> list[str]:
    """Milestones on a way to the goal: they cannot be skipped."""
    closure = closure_of(registry, goal)
    return [name for name, tool in registry.tools.items() if tool.milestone and name in closure.tools]


class Closure(NamedTuple):
    """What a goal depends on, however far.

    Attributes:
        tools: that give something that it needs.
        conditions: that it needs, its own included.
    """

    tools: frozenset[str]
    conditions: tuple[Condition, ...]

    def covers(self, fact: str) -> bool:
        """The fact matters for the goal."""
        return any(condition.covers(fact) for condition in self.conditions)


def closure_of(registry: Registry, goal: Goal) -> Closure:
    """What a goal depends on, as declared."""
    conditions, waiting, tools = list(goal.conditions), list(goal.conditions), set[str]()
    while waiting:
        condition = waiting.pop()
        for name, tool in registry.tools.items():
            if name not in tools and gives(tool, condition):
                tools.add(name)
                new = needs_of(tool)
                conditions += new
                waiting += new
    return Closure(frozenset(tools), tuple(conditions))


def needs_of(tool: Capability) -> list[Condition]:
    """State preconditions of a tool, the facts that its parameters are filled from included."""
    filled = [Condition(fact=fact) for fact in tool.parameters.values()]
    return [*(each for each in tool.preconditions if not each.is_of_arguments), *filled]


def gives(tool: Capability, condition: Condition) -> bool:
    """A call may make the condition true."""
    if condition.absent:
        return condition.fact in tool.removes
    return any(condition.covers(fact) for fact in tool.effects)


def _conditions(groups: Iterable[Sequence[Condition]]) -> dict[str, Condition]:
    """Those that are no plain presence of a fact, by name."""
    return {
        each.name: each for group in groups for each in group if not each.is_of_arguments and (each.absent or not each.is_plain)
    }


def _operators(
    name: str, tool: Capability, situation: Situation, asked_for: Set[str], conditions: Iterable[Condition]
) -> Iterator[Operator]:
    """A call as far as it is sure, and, where more of it is a guess, as it may be."""
    guessed = {fact for fact, effect in tool.effects.items() if effect.certainty == "guess" or (name, fact) in situation.doubted}
    held = {fact for fact, effect in tool.effects.items() if effect.value is not False}
    sure = held - guessed
    gone = frozenset(tool.removes) | {fact for fact, effect in tool.effects.items() if effect.value is False}
    spoilt = {each.name for each in conditions if each.wants_value and _sets_otherwise(tool, each)}
    spoilt |= {f"not {fact}" for fact in held} & asked_for
    always = {called(name)} | ({f"ran:{name}"} & asked_for) | ({f"not {fact}" for fact in gone} & asked_for)
    unsure = tool.certainty == "guess" or name in situation.doubtful
    needs = frozenset(each.name for each in needs_of(tool))
    score = situation.scores.get(name, 0.0)
    for gained, guess in ((sure, unsure), (held, True)) if guessed & held else ((held, unsure),):
        gains = frozenset(gained | always)
        yield Operator(name, needs, gains, (gone | spoilt) - gains, tool.cost, guess, score, tool.milestone)


def _sets_otherwise(tool: Capability, condition: Condition) -> bool:
    effect = tool.effects.get(condition.fact)
    return effect is not None and effect.is_value and effect.value != condition.equals


def _links(condition: Condition, tools: Mapping[str, Capability], registry: Registry, situation: Situation) -> Iterator[Operator]:
    """What can make a condition true, besides its holding already."""
    if condition.absent:
        return
    if condition.predicate is not None and not condition.reads:
        yield from (_link(condition, [name], guess=True) for name in tools)
        return
    able = [name for name, tool in tools.items() if gives(tool, condition)]
    if condition.expression is not None or condition.predicate is not None:
        known = [name for name in condition.mentions if not any(condition.covers(fact.name) for fact in situation.facts)]
        givable = {fact for name in able for fact in tools[name].effects}
        if all(any(_touches(name, fact) for fact in givable) for name in known):
            yield from (_link(condition, [name], guess=True) for name in able)
    elif condition.conflicts is not None:
        yield from (_link(condition, [name], guess=False) for name in able if tools[name].verifies)
    elif condition.wants_value:
        for name in able:
            effect = tools[name].effects[condition.fact]
            if not effect.is_value or effect.value == condition.equals:
                yield _link(condition, [name], guess=not effect.is_value)
    else:
        yield from _by_counting(condition, able, tools, registry, situation)


def _by_counting(
    condition: Condition, able: Sequence[str], tools: Mapping[str, Capability], registry: Registry, situation: Situation
) -> Iterator[Operator]:
    """Conditions on how many sources, how fresh and how sure: by every set of calls that is large enough."""
    facts = situation.facts
    known = {fact.name for fact in facts if fact.holds and condition.covers(fact.name)}
    wanted = known | {fact for tool in registry.tools.values() for fact in tool.effects if condition.covers(fact)}
    guess = condition.confidence > 0
    for size in range(1, len(able) + 1):
        found = False
        for chosen in islice(combinations(able, size), _COMBINATIONS):
            if _is_enough(condition, wanted, chosen, tools, facts):
                found = True
                yield _link(condition, chosen, guess=guess)
        if found:
            return


def _is_enough(
    condition: Condition, wanted: Set[str], chosen: Sequence[str], tools: Mapping[str, Capability], facts: Facts
) -> bool:
    sources = {fact: {*_sources(facts, fact), *(name for name in chosen if fact in tools[name].effects)} for fact in wanted}
    held = {fact for fact, found in sources.items() if found}
    fresh = condition.max_age is None or all(any(fact in tools[name].effects for name in chosen) for fact in wanted)
    each = all(len(sources[fact]) >= condition.sources for fact in held if condition.sources > 1)
    return bool(held) and fresh and each and len(set().union(*sources.values())) >= condition.sources_together


def _sources(facts: Facts, name: str) -> tuple[str, ...]:
    found = facts.get(name)
    return () if found is None or not found.holds else found.sources


def _link(condition: Condition, tools: Sequence[str], *, guess: bool) -> Operator:
    needs = frozenset(f"ran:{tool}" for tool in tools)
    return Operator(f"{', '.join(tools)} → {condition}", needs, frozenset({condition.name}), cost=0.0, guess=guess, link=True)


def _touches(name: str, fact: str) -> bool:
    return name == fact or name.startswith(f"{fact}.") or fact.startswith(f"{name}.")
