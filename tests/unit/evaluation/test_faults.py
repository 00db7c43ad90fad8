"""Faults: where they are planned, and what they do to a result."""

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_reach.contracts.topology import Topology
from agent_reach.evaluation.faults import KINDS, UNCHANGED, Faults, critical_edges, faults_of, spoiled, stages_of
from agent_reach.scores.trace import Workers

DIAMOND = Topology(
    name="d",
    nodes=[
        {"id": "start", "tools": ["s"]},
        {"id": "left", "depends_on": ["start"], "tools": ["l"]},
        {"id": "right", "depends_on": ["start"], "tools": ["r"]},
        {"id": "join", "depends_on": ["left", "right"], "tools": ["j"]},
        {"id": "end", "depends_on": ["join"], "tools": ["e"]},
        {"id": "aside", "type": "optional", "depends_on": ["start"], "tools": ["a"]},
    ],
)


def test_critical_edges_are_on_every_path_to_the_last_level():
    assert critical_edges(DIAMOND) == [("", "start"), ("join", "end")]


def test_the_thirds_of_the_levels_are_early_middle_and_late():
    assert stages_of(DIAMOND) == {
        "start": "early",
        "left": "early",
        "right": "early",
        "join": "middle",
        "end": "late",
        "aside": "early",
    }


def test_one_fault_is_planned_a_stage_and_the_same_seed_plans_the_same():
    workers = Workers(DIAMOND)
    plan = Faults().plan(DIAMOND, workers, 1)
    assert [(fault.node, fault.stage) for fault in plan] == [("start", "early"), ("join", "middle"), ("end", "late")]
    assert plan == Faults().plan(DIAMOND, workers, 1)
    assert len({Faults().plan(DIAMOND, workers, run) for run in range(20)}) > 5
    assert Faults(seed=1).plan(DIAMOND, workers, 1) != plan or Faults(seed=2).plan(DIAMOND, workers, 1) != plan


def test_a_node_without_tools_is_not_hit():
    bare = Topology(name="b", nodes=[{"id": "a"}])
    assert Faults().plan(bare, Workers(bare), 1) == ()


@pytest.mark.parametrize(
    ("value", "emptied"),
    [
        ({"code": 0, "data": [1], "note": "x"}, {"code": 0, "data": [], "note": ""}),
        ([1, 2], []),
        ("found it", ""),
        ('{"items": [1]}', '{"items": []}'),
        (39.0, None),
    ],
)
def test_an_emptied_result_keeps_its_envelope(value, emptied):
    assert spoiled("empty", value, Random(0)) == emptied


@pytest.mark.parametrize("value", [None, "", [], {}])
def test_an_empty_result_cannot_be_emptied(value):
    assert spoiled("empty", value, Random(0)) is UNCHANGED


def test_malformed_makes_text_of_json_and_leaves_text_alone():
    broken = spoiled("malformed", {"a": 1}, Random(0))
    with pytest.raises(ValueError):
        json.loads(broken)
    assert spoiled("malformed", "plain words", Random(0)) is UNCHANGED


JSON = st.recursive(
    st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(JSON, st.integers(0, 5))
def test_a_wrong_value_has_the_shape_of_the_right_one_and_the_original_stays(value, seed):
    before = json.dumps(value)
    changed = spoiled("wrong", value, Random(seed))
    assert json.dumps(value) == before
    if changed is not UNCHANGED and not isinstance(value, str):
        assert type(changed) is type(value)
        assert json.dumps(changed) != before


@given(JSON, st.sampled_from(KINDS))
def test_no_result_makes_a_fault_raise(value, kind):
    spoiled(kind, value, Random(0))


def test_what_a_user_may_give_for_faults():
    assert faults_of(True) == Faults()
    assert faults_of(None) is None
    assert faults_of(["empty"]).kinds == ("empty",)
    with pytest.raises(ValueError):
        faults_of(["fire"])
