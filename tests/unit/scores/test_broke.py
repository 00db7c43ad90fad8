"""Where a failed run broke."""

import pytest

from agent_reach.scores.broke import breaks, first_break
from agent_reach.scores.figures import figures
from agent_reach.scores.trace import Action, Trace, Try
from tests.unit.scores.test_figures import ALL, CHAIN, PAID, call


def ranked(*actions, **facts):
    trace = Trace("t", 1, actions, **facts)
    return breaks(CHAIN, trace, figures(CHAIN, trace))


def test_a_run_that_passed_broke_nowhere():
    assert ranked(*ALL) == []


def test_an_unwanted_effect_is_blamed_before_wasted_steps():
    found = ranked(call("weather"), ALL[0], call("pay", effect_of={"order": "A2"}), ALL[2])
    assert (found[0].step, found[0].cause, found[0].agent) == (3, "unwanted effect", "agent")
    assert found[-1].cause == "wasted step"


def test_a_failure_that_was_never_got_over_is_blamed_with_its_fault():
    found = ranked(call("find", Try("find", "fail", fault="error@early")), PAID)
    assert (found[0].step, found[0].cause) == (1, "obstacle")
    assert "injected error@early" in found[0].reasons[0]


def test_an_empty_result_that_was_taken_is_blamed():
    assert "went on with the empty result of find" in ranked(call("find", "empty_alias"))[0].reasons


def test_a_node_that_nobody_tried_to_reach_is_told():
    found = ranked(ALL[0], PAID)
    assert (found[0].cause, found[0].reasons) == ("not tried", ("nothing was done for tell",))


@pytest.mark.parametrize(
    ("actions", "facts", "cause"),
    [
        ((Action("handoff", "post", "a", "fail", missing=("address",)),), {}, "incomplete handoff"),
        ((*ALL, call("delete")), {}, "forbidden"),
        ((ALL[0],), {"ended": "crashed", "reason": "ValueError: x"}, "ended early"),
        ((), {}, "not tried"),
    ],
)
def test_every_kind_of_break_has_its_cause(actions, facts, cause):
    assert cause == ranked(*actions, **facts)[0].cause


def test_the_first_link_is_the_earliest_with_decisive_evidence():
    found = ranked(call("weather"), call("find", "fail"), call("pay", effect_of={"order": "A2"}))
    assert found[0].cause == "unwanted effect"
    assert first_break(found).step == 2
