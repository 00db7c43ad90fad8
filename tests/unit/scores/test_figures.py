"""The figures of one run: the definitions' examples, and the cases that they leave to reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_reach.contracts import Routes
from agent_reach.contracts.topology import Topology
from agent_reach.scores.effects import effect
from agent_reach.scores.figures import effective_actions, figures, met_obstacles, wanted_effect
from agent_reach.scores.trace import Action, Trace, Try, Workers

CHAIN = Topology(
    name="t",
    nodes=[
        {"id": "find", "tools": ["find"]},
        {"id": "pay", "depends_on": ["find"], "tools": ["pay"], "effect": {"order": "A1"}},
        {"id": "tell", "depends_on": ["pay"], "tools": ["mail"], "receivers": ["post"], "asks": ["address"]},
        {"id": "gone", "type": "must_not", "tools": ["delete"]},
    ],
)


def call(name, *tries, done=(), status=None, effect_of=None, **facts):
    """A call; `tries` are statuses of its executions."""
    tries = tries or ("ok",)
    made = effect(name, effect_of).arguments if effect_of is not None else ""
    return Action(
        "call", name, "agent", status or tries[-1], read=effect_of is None, effect=made, done=tuple(done),
        tries=tuple(each if isinstance(each, Try) else Try(name, each) for each in tries), **facts,
    )  # fmt: skip


PAID = call("pay", effect_of={"order": "A1"}, done=["pay"])
ALL = (call("find", done=["find"]), PAID, call("mail", done=["tell"]))


def of(*actions, topology=CHAIN, **facts):
    return figures(topology, Trace(topology.name, 1, actions, **facts))


def test_a_run_that_does_everything_has_full_figures_and_leaves_digestion_out():
    found = of(*ALL)
    assert (found.depth, found.purity, found.digestion, found.composite, found.gate, found.gate_score) == (
        1.0,
        1.0,
        None,
        1.0,
        True,
        1.0,
    )
    assert found.left_out == ("digestion",)


def test_nine_of_twelve_actions_that_serve_the_task_are_a_purity_of_three_quarters():
    extra = [call("find", fingerprint=str(n)) for n in range(6)] + [call("weather", fingerprint=str(n)) for n in range(3)]
    assert of(*ALL, *extra).purity == 0.75


def test_an_exact_repeat_of_an_answered_read_is_wasted_until_something_changes():
    again = call("find", fingerprint="x")
    actions = (again, again, PAID, again)
    assert effective_actions(Trace("t", 1, actions), Workers(CHAIN)) == [True, False, True, True]


def test_a_failed_read_may_be_repeated():
    failed = call("find", "fail", fingerprint="x")
    assert effective_actions(Trace("t", 1, (failed, call("find", fingerprint="x"))), Workers(CHAIN)) == [True, True]


def test_handoffs_and_questions_count_when_a_node_asks_for_them():
    actions = (
        Action("handoff", "post"), Action("handoff", "nobody"), Action("message", asks=("tell",)), call("mail", done=["tell"]),
        Action("message", asks=("tell",)), Action("message"),
    )  # fmt: skip
    assert effective_actions(Trace("t", 1, actions), Workers(CHAIN)) == [True, False, True, True, False, False]


def test_nine_retries_that_at_last_work_are_not_digested():
    found = of(call("find", *["fail"] * 9, "ok", done=["find"]), PAID, ALL[2])
    assert (found.obstacles, found.digested, found.stuck, found.gate) == (1, 0, 1, True)


def test_two_retries_are_digested_and_a_way_round_is_a_detour():
    retried = of(call("find", "fail", "fail", "ok", done=["find"]), PAID, ALL[2])
    assert (retried.obstacles, retried.digested, retried.detours) == (1, 1, 0)
    round_ = of(call("find", Try("find", "fail"), Try("find_elsewhere", "ok"), done=["find"]), PAID, ALL[2])
    assert (round_.obstacles, round_.digested, round_.detours) == (1, 1, 1)


def test_an_obstacle_before_a_node_that_is_never_done_is_not_digested():
    assert of(call("find", "empty_alias")).digestion == 0.0


@pytest.mark.parametrize("bad", [Try("find", "ok", slow=True), Try("find", "ok", fault="wrong@early"), Try("find", "empty_alias")])
def test_slow_injected_and_empty_attempts_are_obstacles(bad):
    assert len(met_obstacles(CHAIN, Trace("t", 1, (call("find", bad, status="ok"),)), Workers(CHAIN))) == 1


def test_a_call_of_an_alternate_works_on_the_node():
    routes = Routes.model_validate({"tools": {"find": {"read_only": True, "alternates": ["replica"]}}})
    assert effective_actions(Trace("t", 1, (call("replica"),)), Workers(CHAIN, routes)) == [True]


def test_an_unwanted_effect_fails_the_gate_and_lowers_its_score():
    other = call("pay", effect_of={"order": "A2"})
    found = of(*ALL, other)
    assert (found.gate, found.effects.made, found.effects.matched, found.unwanted) == (False, 2, 1, ('pay {"order": "A2"}',))
    assert found.gate_score < 1


def test_the_same_wanted_effect_twice_is_once_too_often():
    assert of(*ALL, PAID).effects == of(*ALL, call("pay", effect_of={"order": "A1"})).effects
    assert not of(*ALL, PAID).gate


def test_what_must_not_be_is_counted_as_often_as_it_was():
    assert of(*ALL, call("delete"), call("delete")).forbidden == ("gone", "gone")
    assert of(*ALL, call("delete", "fail")).gate


def test_required_outputs_have_to_be_said():
    task = CHAIN.model_copy(update={"outputs": ("39.00",)})
    assert (of(*ALL, topology=task).gate, of(*ALL, topology=task, said=("39.00",)).gate) == (False, True)


def test_a_task_in_which_nothing_may_be_changed_is_valid():
    task = Topology(name="t", nodes=[{"id": "look", "tools": ["find"]}], side_effects=["pay"])
    assert of(call("find", done=["look"]), topology=task).gate
    assert not of(call("find", done=["look"]), PAID, topology=task).gate


def test_an_effect_of_a_node_without_wanted_arguments_is_allowed_once_a_set_of_arguments():
    task = Topology(name="t", nodes=[{"id": "note", "tools": ["note"]}])
    once = call("note", effect_of={"text": "a"}, done=["note"])
    assert of(once, call("note", effect_of={"text": "b"}), topology=task).gate
    assert not of(once, once, topology=task).gate


def test_a_group_wants_one_of_its_effects():
    nodes = [
        {"id": "either", "any_of": ["cash", "card"]},
        {"id": "cash", "tools": ["pay"], "effect": {"by": "cash"}},
        {"id": "card", "tools": ["pay"], "effect": {"by": "card"}},
    ]
    task = Topology(name="t", nodes=nodes)
    found = of(call("pay", effect_of={"by": "card"}, done=["card", "either"]), topology=task)
    assert (found.gate, found.effects.wanted, found.effects.matched) == (True, 1, 1)


def test_a_star_stands_for_any_value_of_an_argument_that_is_there():
    node = Topology(nodes=[{"id": "a", "tools": ["pay"], "effect": {"order": "A1", "note": "*"}}]).by_id["a"]
    assert wanted_effect(node, "pay", effect("pay", {"order": "A1", "note": "late"}).arguments)
    assert not wanted_effect(node, "pay", effect("pay", {"order": "A1"}).arguments)
    assert not wanted_effect(node, "pay", effect("pay", {"order": "A2", "note": "late"}).arguments)


def test_collaboration_is_completeness_uptake_and_delay():
    actions = (
        Action("handoff", "post", "agent", time=10**9),
        Action("call", "mail", "post", time=3 * 10**9, done=("tell",)),
        Action("handoff", "bank", "agent", "fail", missing=("order",)),
    )
    assert of(*actions).handoffs == (2, 1, 1, 2.0)


def test_cost_efficiency_is_the_composite_per_thousand_tokens():
    found = of(*ALL, tokens=500, price=0.6)
    assert (found.per_thousand, found.tokens_per_node, found.price_per_node) == (2.0, 500 / 3, pytest.approx(0.2))


STATUSES = st.sampled_from(["ok", "fail", "empty_alias"])
ACTIONS = st.builds(
    lambda name, tries, done, changes: call(name, *tries, done=done, effect_of={"order": "A1"} if changes else None),
    st.sampled_from(["find", "pay", "mail", "weather", "delete"]), st.lists(STATUSES, min_size=1, max_size=4),
    st.lists(st.sampled_from(["find", "pay", "tell"]), max_size=1), st.booleans(),
)  # fmt: skip


@given(st.lists(ACTIONS, max_size=12))
def test_all_shares_lie_between_zero_and_one_whatever_happened(actions):
    found = of(*actions)
    for value in (found.depth, found.completion, found.composite, found.gate_score, found.purity or 0, found.digestion or 0):
        assert 0 <= value <= 1
    assert found.digested <= found.obstacles
    assert found.effective <= found.actions
    assert found.gate == (found.gate_score == 1.0)


@given(st.lists(ACTIONS, max_size=6))
def test_a_trace_comes_back_from_its_record(actions):
    trace = Trace("t", 3, tuple(actions), late=("tell",), refused={"a": "b"}, faults=("x",), price=0.5)
    assert Trace.from_record(trace.to_record()) == trace
