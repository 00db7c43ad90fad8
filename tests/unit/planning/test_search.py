"""Search, against trying everything."""

from itertools import product
from math import inf

from hypothesis import given
from hypothesis import strategies as st

from agent_reach.planning import Operator, plan
from agent_reach.planning.search import estimate


def step(name, needs="", gives="", cost=1.0, **facts):
    return Operator(name, frozenset(needs.split()), frozenset(gives.split()), cost=cost, **facts)


ORDER = [
    step("find", "order_id", "order"),
    step("verify", "order", "order.verified"),
    step("refund", "order.verified", "refunded"),
]


def test_a_chain_is_found_and_strong():
    found = plan({"order_id"}, {"refunded"}, ORDER)
    assert (found.verdict, found.names, found.cost) == ("strong", ("find", "verify", "refund"), 3.0)


def test_a_way_with_a_guess_is_weak_and_comes_after_a_dearer_one_without():
    guess = step("guess", "", "order.verified", guess=True)
    assert plan({"order_id"}, {"refunded"}, [*ORDER, guess]).names == ("find", "verify", "refund")
    without = [each for each in ORDER if each.name != "verify"]
    assert plan({"order_id"}, {"refunded"}, [*without, guess]).verdict == "weak"


def test_what_stands_in_the_way_is_named():
    found = plan({"order_id"}, {"refunded"}, [ORDER[0], ORDER[2]])
    assert (found.verdict, found.missing) == ("not", ("order.verified",))


def test_a_goal_that_holds_needs_nothing():
    assert plan({"a"}, {"a"}, []) == ("strong", (), 0.0, (), False)


def test_the_cheaper_of_two_ways_is_taken_and_a_tie_goes_by_rank():
    cheap, dear = step("cheap", "", "x", 1.0), step("dear", "", "x", 3.0)
    assert plan((), {"x"}, [dear, cheap]).names == ("cheap",)
    low, high = step("low", "", "x", score=0.3), step("high", "", "x", score=0.2, milestone=True)
    assert plan((), {"x"}, [low, high]).names == ("high",)


def test_a_path_longer_than_the_budget_is_none():
    chain = [step(f"s{n}", f"f{n}", f"f{n + 1}") for n in range(21)]
    assert plan({"f0"}, {"f20"}, chain).verdict == "strong"
    assert plan({"f0"}, {"f21"}, chain).exhausted


def test_five_hundred_tools_and_twenty_steps_are_searched():
    chain = [step(f"s{n}", f"f{n}", f"f{n + 1}") for n in range(20)]
    noise = [step(f"n{n}", f"f{n % 20}", f"g{n}") for n in range(480)]
    assert plan({"f0"}, {"f20"}, [*noise, *chain]).cost == 20


FACTS = "abcdef"
SETS = st.frozensets(st.sampled_from(FACTS), max_size=2)
OPERATORS = st.lists(
    st.builds(
        Operator, st.uuids().map(str), SETS, st.frozensets(st.sampled_from(FACTS), min_size=1, max_size=2),
        st.frozensets(st.sampled_from(FACTS), max_size=1), st.sampled_from([0.0, 1.0, 2.0]), st.booleans(),
    ),
    max_size=7,
)  # fmt: skip


def exhaustive(facts, goal, operators, depth):
    """Least cost of any path of so many steps, by looking at every state at every depth."""
    best = {facts: 0.0}
    least = 0.0 if goal <= facts else inf
    for _ in range(depth):
        after = {}
        for (state, cost), each in product(best.items(), operators):
            if each.needs <= state:
                new = each.applied(state)
                after[new] = min(after.get(new, inf), cost + each.cost)
        least = min([least, *(cost for state, cost in after.items() if goal <= state)])
        best = after
    return least


@given(SETS, st.frozensets(st.sampled_from(FACTS), min_size=1, max_size=3), OPERATORS, st.integers(1, 6))
def test_verdicts_and_costs_are_those_of_trying_everything(facts, goal, operators, depth):
    strong = exhaustive(facts, goal, [each for each in operators if not each.guess], depth)
    weak = exhaustive(facts, goal, operators, depth)
    found = plan(facts, goal, operators, depth=depth)
    assert found.verdict == ("strong" if strong < inf else "weak" if weak < inf else "not")
    assert found.verdict == "not" or found.cost == (strong if strong < inf else weak)
    state = facts
    for each in found.steps:
        assert each.needs <= state
        state = each.applied(state)
    assert found.verdict == "not" or goal <= state


@given(SETS, st.frozensets(st.sampled_from(FACTS), min_size=1, max_size=3), OPERATORS)
def test_the_estimate_is_never_too_high(facts, goal, operators):
    assert estimate(facts, goal, operators) <= exhaustive(facts, goal, operators, 6)
