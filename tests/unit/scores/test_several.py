"""Figures over several runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_reach.contracts.topology import Topology
from agent_reach.scores.figures import figures
from agent_reach.scores.several import is_risky, judge, node_rates, passes, sensitivity, spread, stage_curve
from agent_reach.scores.stats import wilson
from agent_reach.scores.trace import Action, Trace, Try

TASK = Topology(name="t", nodes=[{"id": "a"}, {"id": "b", "depends_on": ["a"]}, {"id": "x", "type": "optional"}])


def runs(*reached, fault=""):
    made = []
    for number, ids in enumerate(reached, 1):
        trace = Trace("t", number, (Action("call", "f", done=tuple(ids), tries=(Try("f", "ok", fault=fault),)),))
        made.append((trace, figures(TASK, trace)))
    return made


def test_five_of_five_still_means_an_interval_from_0_566():
    judged = judge(5, 5, 0.9)
    assert judged.interval.low == pytest.approx(0.566, abs=5e-4)
    assert judged.verdict == "insufficient runs"
    assert judged.settled_by == 35
    assert wilson(35, 35).low >= 0.9 > wilson(34, 34).low


def test_under_five_runs_nothing_is_concluded():
    assert judge(4, 4, 0.1).verdict == "insufficient runs"


@pytest.mark.parametrize(
    ("passed", "runs", "limit", "verdict"), [(50, 50, 0.9, "passed"), (1, 50, 0.5, "failed"), (5, 10, 0.5, "insufficient runs")]
)
def test_a_share_is_held_against_a_limit(passed, runs, limit, verdict):
    assert judge(passed, runs, limit).verdict == verdict


def test_a_share_that_equals_its_limit_is_never_settled():
    assert judge(5, 10, 0.5).settled_by is None


@given(st.integers(5, 60), st.floats(0.05, 0.95), st.data())
def test_what_would_settle_it_settles_it(n, limit, data):
    passed = data.draw(st.integers(0, n))
    judged = judge(passed, n, limit)
    if judged.settled_by is not None:
        assert judge(round(passed / n * judged.settled_by), judged.settled_by, limit).verdict != "insufficient runs"


def test_pass_to_the_k_falls_with_k():
    assert passes(runs("ab", "ab", "ab", "a", "a")) == {1: 0.6, 2: pytest.approx(0.3), 3: pytest.approx(0.1), 4: 0.0, 5: 0.0}


def test_nodes_are_counted_over_the_runs_in_which_they_count():
    assert [(rate.node, rate.done, rate.runs) for rate in node_rates(TASK, runs("ab", "a", ""))] == [
        ("a", 2, 3),
        ("b", 1, 3),
        ("x", 0, 3),
    ]


def test_high_risk_is_under_half_of_the_last_level():
    assert is_risky(TASK, runs("ab", "a", "a"))
    assert not is_risky(TASK, runs("ab", "a"))


def test_the_curve_by_level_is_the_share_done():
    assert stage_curve(TASK, runs("ab", "a", "a", "")) == [(1, 0.75), (2, 0.25)]


def test_sensitivity_is_the_difference_to_the_runs_that_were_not_hit():
    early, middle, _ = sensitivity([*runs("a", fault="empty@early"), *runs("ab")])
    assert (early.hit, early.others) == (1, 1)
    assert early.difference < 0
    assert middle.difference is None


def test_a_spread_leaves_out_what_is_not_known():
    assert spread([1.0, None, 3.0]) == (2, 2.0, pytest.approx(2**0.5))
    assert spread([None]) == (0, None, None)
    assert spread([2.0]) == (1, 2.0, None)
