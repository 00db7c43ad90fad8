"""Search for the cheapest way to a goal: A* (P. Hart and others, 1968) with the estimate h-max (B. Bonet and H. Geffner, 2001)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Final, Literal, NamedTuple

from agent_reach.planning.operators import Operator

Verdict = Literal["strong", "weak", "not"]

DEPTH: Final = 20
_EXPANDED: Final = 20_000


class Plan(NamedTuple):
    """What a search came to.

    Attributes:
        verdict: `strong`: every step is verified; `weak`: one rests on a guess; `not`: there is none within the budget.
        steps: of the cheapest path of that verdict, the best-ranked among equal ones.
        cost: of them.
        missing: for `not`, what stands in the way: facts that nothing which can be reached gives, the nearest to the goal first.
        exhausted: for `not`, the budget ran out before all was tried.
    """

    verdict: Verdict
    steps: tuple[Operator, ...] = ()
    cost: float = 0.0
    missing: tuple[str, ...] = ()
    exhausted: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Of the steps."""
        return tuple(step.name for step in self.steps)

    @property
    def calls(self) -> tuple[str, ...]:
        """Tools that are called on it, in their order."""
        return tuple(step.name for step in self.steps if not step.link)


def plan(
    facts: Iterable[str], goal: Iterable[str], operators: Iterable[Operator], *, depth: int = DEPTH, expanded: int = _EXPANDED
) -> Plan:
    """The way to a goal: a strong one if there is any, else a weak one; of these the cheapest.

    Args:
        facts: that hold now.
        goal: facts that all have to hold.
        operators: the steps that may be taken; side effects are planned, never run to see what happens.
        depth: most calls of a path.
        expanded: states looked at, at most.
    """
    start, wanted, known = frozenset(facts), frozenset(goal), list(operators)
    verified = [operator for operator in known if not operator.guess]
    found = _cheapest(start, wanted, verified, depth, expanded)
    if found.verdict == "not" and len(verified) < len(known):
        found = _cheapest(start, wanted, known, depth, expanded)
    return found._replace(missing=tuple(missing(start, wanted, known))) if found.verdict == "not" else found


def _cheapest(start: frozenset[str], goal: frozenset[str], operators: Sequence[Operator], depth: int, limit: int) -> Plan:
    useful = _useful(start, goal, operators)
    if estimate(start, goal, useful) == inf:
        return Plan("not")
    number = count()
    waiting: list[tuple[float, float, int, frozenset[str], tuple[Operator, ...], float]] = []
    heappush(waiting, (estimate(start, goal, useful), 0.0, next(number), start, (), 0.0))
    best: dict[frozenset[str], list[tuple[float, int]]] = {}
    looked_at, cut = 0, False
    while waiting:
        _, negative, _, state, path, spent = heappop(waiting)
        if goal <= state:
            return Plan("weak" if any(step.guess for step in path) else "strong", path, spent)
        calls = sum(not step.link for step in path)
        if _is_beaten(best, state, spent, calls):
            continue
        looked_at += 1
        if looked_at > limit:
            return Plan("not", exhausted=True)
        for step in _next(state, goal, useful):
            if calls >= depth and not step.link:
                cut = True
                continue
            after = step.applied(state)
            left = estimate(after, goal, useful)
            if left < inf:
                cost = spent + step.cost
                heappush(waiting, (cost + left, negative - step.rank, next(number), after, (*path, step), cost))
    return Plan("not", exhausted=cut)


def _is_beaten(best: dict[frozenset[str], list[tuple[float, int]]], state: frozenset[str], cost: float, steps: int) -> bool:
    """The state was reached as cheaply with as few steps; else this way to it is kept."""
    ways = best.setdefault(state, [])
    if any(known <= cost and length <= steps for known, length in ways):
        return True
    ways[:] = [(known, length) for known, length in ways if known < cost or length < steps] + [(cost, steps)]
    return False


def _next(state: frozenset[str], goal: frozenset[str], operators: Sequence[Operator]) -> Iterator[Operator]:
    """Steps that can be taken and change something.

    Where no step takes anything away, one that every way to the goal needs is taken at once: its place does not matter.
    """
    open_ = [step for step in operators if step.needs <= state and not step.gives <= state]
    if not any(step.takes_away for step in operators):
        needed = _needed(state, goal, operators)
        forced = next((step for step in open_ if step.name in needed), None)
        if forced is not None:
            yield forced
            return
    yield from sorted(open_, key=lambda step: -step.rank)
    yield from (step for step in operators if step.takes_away and step.needs <= state and step not in open_)


def _needed(state: frozenset[str], goal: frozenset[str], operators: Sequence[Operator]) -> set[str]:
    """Names of steps that are the only ones to give a fact that has to be given."""
    givers: dict[str, list[Operator]] = {}
    for step in operators:
        for fact in step.gives:
            givers.setdefault(fact, []).append(step)
    found: set[str] = set()
    waiting, seen = list(goal - state), set(goal | state)
    while waiting:
        able = givers.get(waiting.pop(), [])
        if len(able) == 1 and able[0].name not in found:
            found.add(able[0].name)
            new = able[0].needs - seen
            seen |= new
            waiting += new
    return found


def estimate(state: frozenset[str], goal: frozenset[str], operators: Sequence[Operator]) -> float:
    """h-max: the cost of the dearest fact of the goal if nothing were ever taken away; never too high, infinite out of reach."""
    cost = _costs(state, operators)
    return max((cost.get(fact, inf) for fact in goal), default=0.0)


def _costs(state: frozenset[str], operators: Sequence[Operator]) -> dict[str, float]:
    """Of each fact the least that it costs, each fact for itself."""
    cost: dict[str, float] = dict.fromkeys(state, 0.0)
    waiting = [(0.0, fact) for fact in state]
    left = {id(step): len(step.needs) for step in operators}
    takers: dict[str, list[Operator]] = {}
    for step in operators:
        for fact in step.needs:
            takers.setdefault(fact, []).append(step)
        if not step.needs:
            _offer(step, 0.0, cost, waiting)
    waiting.sort()
    done: set[str] = set()
    while waiting:
        spent, fact = heappop(waiting)
        if fact in done:
            continue
        done.add(fact)
        for step in takers.get(fact, ()):
            left[id(step)] -= 1
            if not left[id(step)]:
                _offer(step, spent, cost, waiting)
    return cost


def _offer(step: Operator, spent: float, cost: dict[str, float], waiting: list[tuple[float, str]]) -> None:
    for fact in step.gives:
        if spent + step.cost < cost.get(fact, inf):
            cost[fact] = spent + step.cost
            heappush(waiting, (cost[fact], fact))


def _useful(start: frozenset[str], goal: frozenset[str], operators: Sequence[Operator]) -> list[Operator]:
    """Steps that can come about and give something which the goal, or a step towards it, needs."""
    possible = _costs(start, operators)
    able = [step for step in operators if all(fact in possible for fact in step.needs)]
    if any(step.takes_away for step in able):
        start = frozenset()  # what holds now may be taken away and have to be given again
    givers: dict[str, list[Operator]] = {}
    for step in able:
        for fact in step.gives:
            givers.setdefault(fact, []).append(step)
    kept: dict[int, Operator] = {}
    waiting, seen = list(goal - start), set(goal)
    while waiting:
        for step in givers.get(waiting.pop(), ()):
            kept.setdefault(id(step), step)
            new = step.needs - seen - start
            seen |= new
            waiting += new
    return [step for step in able if id(step) in kept]


def missing(facts: frozenset[str], goal: frozenset[str], operators: Sequence[Operator]) -> list[str]:
    """Facts out of reach that stand between here and the goal and that no step gives, the nearest to the goal first.

    Where every fact has a step that gives it, those of the goal that are out of reach.
    """
    possible = _costs(facts, operators)
    givers: dict[str, list[Operator]] = {}
    for step in operators:
        for fact in step.gives:
            givers.setdefault(fact, []).append(step)
    waiting, seen, found = [fact for fact in sorted(goal) if fact not in possible], set(goal), []
    beginning = list(waiting)
    while waiting:
        fact = waiting.pop(0)
        if fact not in givers:
            found.append(fact)
        for step in givers.get(fact, ()):
            new = [need for need in sorted(step.needs) if need not in possible and need not in seen]
            seen.update(new)
            waiting += new
    return found or beginning
