"""Depth, purity, digestion: the worked examples of the definitions, and what must always hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_reach.contracts.topology import Topology
from agent_reach.scores.depth import (
    Attempt,
    composite,
    high_risk,
    is_digested,
    left_at,
    nearest_must,
    obstacle_digestion,
    obstacles,
    pass_power,
    path_purity,
    reach_depth,
    share_done,
)


def chain(n):
    return Topology(nodes=[{"id": str(i), "depends_on": [str(i - 1)] if i else []} for i in range(n)])


LEVELS_322 = Topology(
    nodes=[
        *({"id": f"a{i}"} for i in range(3)),
        *({"id": f"b{i}", "depends_on": ["a0"]} for i in range(2)),
        *({"id": f"c{i}", "depends_on": ["b0"]} for i in range(2)),
    ]
)


def test_three_of_five_in_a_chain_are_six_of_fifteen():
    assert reach_depth(chain(5), ["0", "1", "2"]) == pytest.approx(0.4)


def test_deep_levels_weigh_more():
    assert reach_depth(LEVELS_322, ["a0", "a1", "a2", "b0"]) == pytest.approx(5 / 13)
    assert share_done(LEVELS_322, ["a0", "a1", "a2", "b0"], "must") == pytest.approx(4 / 7)
    assert left_at(LEVELS_322, ["a0", "a1", "a2", "b0"]) == 2


def test_levels_count_must_nodes_only():
    topology = Topology(nodes=[{"id": "a"}, {"id": "o", "type": "optional", "depends_on": ["a"]}, {"id": "b", "depends_on": ["o"]}])
    assert topology.levels == {"a": 1, "b": 2}
    assert reach_depth(topology, ["a", "o"]) == pytest.approx(1 / 3)
    assert reach_depth(topology, ["a", "o"], optional_bonus=0.5) == pytest.approx(1 / 3 + 0.5)
    assert reach_depth(topology, ["a", "b", "o"], optional_bonus=0.5) == 1.0


def test_a_branch_that_was_not_taken_leaves_the_counts():
    topology = Topology(
        nodes=[
            {"id": "ask"},
            {"id": "card", "depends_on": ["ask"], "branch": "pay/card"},
            {"id": "cash", "depends_on": ["ask"], "branch": "pay/cash"},
            {"id": "count", "depends_on": ["cash"], "branch": "pay/cash"},
        ]
    )
    assert reach_depth(topology, ["ask", "card"]) == 1.0
    assert reach_depth(topology, ["ask", "cash"]) == pytest.approx(3 / 6)
    assert reach_depth(topology, ["ask"]) == pytest.approx(1 / 3)


def test_an_any_of_group_is_one_node():
    topology = Topology(
        nodes=[{"id": "mail"}, {"id": "chat"}, {"id": "told", "any_of": ["mail", "chat"]}, {"id": "end", "depends_on": ["told"]}]
    )
    assert topology.levels == {"told": 1, "end": 2}
    assert reach_depth(topology, ["told", "mail"]) == pytest.approx(1 / 3)


def test_a_fallback_never_stands_in_for_a_must_node():
    topology = Topology(nodes=[{"id": "a"}, {"id": "f", "type": "fallback"}])
    assert (reach_depth(topology, ["f"]), share_done(topology, ["f"], "fallback")) == (0.0, 1.0)


def test_purity_digestion_and_the_composite_are_those_of_the_definitions():
    assert path_purity(9, 12) == 0.75
    assert (path_purity(0, 0), obstacle_digestion(0, 0)) == (None, None)
    assert composite(0.42, 0.88, 0.31).value == pytest.approx(0.525)
    assert composite(0.68, 0.71, 0.58).value == pytest.approx(0.659)
    assert composite(0.79, 0.65, 0.74).value == pytest.approx(0.733)
    assert composite(0.5, 1.0, None) == (pytest.approx((0.2 + 0.3) / 0.7), ("digestion",))
    assert composite(1, 0, 0, "customer_service").value == pytest.approx(0.3)
    with pytest.raises(ValueError, match="at least one"):
        composite(None, None, None)


def test_nine_retries_that_at_last_work_are_not_digested_and_two_are():
    topology = chain(2)

    def run(retries):
        attempts = [Attempt("t", False, "0")] + [Attempt("t", n == retries - 1, "0") for n in range(retries)]
        [found] = obstacles(attempts, {"0": retries}.get)
        return found.further, is_digested(found, topology, ["0", "1"])

    assert (run(1), run(2), run(9)) == ((1, True), (2, True), (9, False))


def test_another_tool_digests_and_a_run_that_ends_there_does_not():
    topology = chain(2)
    attempts = [Attempt("t", False, "0"), Attempt("u", True, "0"), Attempt("v", True, "1")]
    [found] = obstacles(attempts, {"0": 1, "1": 2}.get)
    assert (found.further, is_digested(found, topology, ["0", "1"]), is_digested(found, topology, ["0"])) == (0, True, False)


def test_consecutive_failures_of_a_tool_are_one_obstacle_and_tools_have_their_own():
    attempts = [
        Attempt("t", False, "0"),
        Attempt("u", False, "0"),
        Attempt("t", False, "0"),
        Attempt("t", True, "0"),
        Attempt("t", False, "1"),
    ]
    found = obstacles(attempts, {"0": 3}.get)
    assert [(o.tool, o.begin, o.end) for o in found] == [("t", 0, 2), ("u", 1, 1), ("t", 4, 4)]


def test_the_nearest_must_nodes_below_are_found_through_others():
    topology = Topology(
        nodes=[
            {"id": "a"},
            {"id": "o", "type": "optional", "depends_on": ["a"]},
            {"id": "b", "depends_on": ["o"]},
            {"id": "c", "depends_on": ["b"]},
        ]
    )
    assert (nearest_must(topology, "a"), nearest_must(topology, "c")) == (["b"], [])


def test_runs_that_rarely_reach_the_highest_level_are_a_high_risk():
    assert high_risk(chain(2), [["0", "1"], ["0"], ["0"]])
    assert not high_risk(chain(2), [["0", "1"], ["0"]])


def test_pass_power_is_the_chance_that_all_of_k_drawn_runs_pass():
    assert (pass_power(5, 5, 5), pass_power(4, 5, 1), pass_power(4, 5, 2), pass_power(1, 5, 2)) == (1.0, 0.8, 0.6, 0.0)
    with pytest.raises(ValueError, match="pass"):
        pass_power(3, 5, 6)


@st.composite
def topologies(draw):
    nodes = []
    for i in range(draw(st.integers(1, 8))):
        before = draw(st.lists(st.sampled_from(range(i)), unique=True, max_size=3)) if i else []
        kind = "must" if i == 0 else draw(st.sampled_from(["must", "optional", "fallback", "must_not"]))
        nodes.append({"id": str(i), "type": kind, "depends_on": [str(b) for b in before]})
    return Topology(nodes=nodes)


@given(topologies(), st.sets(st.integers(0, 7).map(str)), st.integers(0, 7).map(str))
def test_depth_is_a_share_that_one_more_node_never_lowers(topology, done, more):
    before, after = reach_depth(topology, done), reach_depth(topology, done | {more})
    assert 0 <= before <= after <= 1
    assert reach_depth(topology, topology.by_id) == 1.0
    assert left_at(topology, topology.by_id) == 0


@given(
    st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.sampled_from(["default", "customer_service", "operations", "research"])
)
def test_a_composite_lies_between_its_parts(depth, purity, digestion, preset):
    value = composite(depth, purity, digestion, preset).value
    assert min(depth, purity, digestion) - 1e-9 <= value <= max(depth, purity, digestion) + 1e-9
