"""A draft of a route table from history."""

import random

from hypothesis import given
from hypothesis import strategies as st

from agent_reach import Routes
from agent_reach.evaluation.derive import Unit, derive, to_table


def drafted(*units):
    [draft] = derive(units)
    return draft, [step.tools for step in draft.steps]


def test_what_most_good_units_call_is_a_step_in_the_usual_order():
    units = [Unit("refund", ("find", "faq", "pay") if n % 5 == 0 else ("find", "pay"), True) for n in range(20)]
    draft, steps = drafted(*units, *[Unit("refund", ("faq",), False)] * 30)
    assert (draft.n, draft.units) == (20, 50)
    assert steps == [("find",), ("pay",)]


def test_tools_that_stand_in_for_one_another_are_one_step_the_most_frequent_first():
    units = [Unit("order", ("db", "mail") if n % 3 else ("cache", "mail"), True) for n in range(30)]
    draft, steps = drafted(*units)
    assert steps == [("db", "cache"), ("mail",)]
    assert draft.steps[0].covered == 1.0


def test_few_good_units_give_no_step():
    assert drafted(*[Unit("order", ("db",), True)] * 4)[1] == []
    assert derive([Unit("", ("db",), True)] * 9) == []


def test_the_planted_route_is_found_among_noise():
    dice = random.Random(3)
    units = []
    for _ in range(200):
        calls = ["login"] * (dice.random() < 0.95) + [dice.choice(["db", "db", "cache"])] + ["pay"] * (dice.random() < 0.9)
        calls += [name for name in ("faq", "weather", "clock") if dice.random() < 0.08]
        units.append(Unit("refund", tuple(calls), dice.random() < 0.8))
    assert drafted(*units)[1] == [("login",), ("db", "cache"), ("pay",)]


TOOLS = st.lists(st.sampled_from("abcdef"), unique=True, max_size=6).map(tuple)


@given(st.lists(st.builds(Unit, st.sampled_from(["q", "r"]), TOOLS, st.booleans()), max_size=40))
def test_every_draft_is_a_route_table_that_names_each_tool_once_an_intent(units):
    drafts = derive(units)
    routes = Routes.model_validate(to_table(drafts, {}))
    for intent in routes.intents.values():
        tools = [tool for step in intent.steps for tool in step.tools]
        assert len(tools) == len(set(tools))
    assert all(0.5 <= step.covered <= 1 for draft in drafts for step in draft.steps)


def test_steps_that_are_declared_stay():
    known = {"version": 2, "intents": {"order": {"keywords": ["order"], "steps": [["crm"]]}, "refund": {"keywords": ["refund"]}}}
    drafts = derive([Unit("order", ("db",), True)] * 9 + [Unit("refund", ("pay",), True)] * 9)
    routes = Routes.model_validate(to_table(drafts, known))
    assert ([s.tools for s in routes.steps("order")], [s.tools for s in routes.steps("refund")]) == ([("crm",)], [("pay",)])
    assert (routes.version, routes.intents["refund"].keywords) == ("2-draft", ("refund",))
