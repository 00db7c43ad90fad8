"""The table and every inline example of section 2."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_reach.contracts import Routes, Thresholds, Weights
from agent_reach.events import Handoff, Retrieval, ToolCall, Turn
from agent_reach.live import Session
from agent_reach.scores import Tally, band_of
from agent_reach.scores.reach import knowledge_reach, reach_score, total_reach

WEIGHTS, CUTS = Weights(), Thresholds()


def run(session, *outcomes, route=None):
    """One turn with a final answer; an outcome is (tool, status)."""
    ref = session.begin_turn(route)
    where = {"session": "s", "turn": ref.turn, "unit": ref.unit, "intent": ref.intent}
    for number, (tool, status) in enumerate(outcomes):
        time = ref.turn * 1000 + number * 10
        session.observe(ToolCall(**where, tool=tool, status=status, first_status=status, time=time, latency=1))
    session.observe(Turn(**where, time=ref.turn * 1000 + 900))


def test_3_of_4_reached_and_1_failed():
    session = Session("s", Routes())
    run(session, ("a", "ok"), ("b", "ok"), ("c", "ok"), ("d", "fail"))
    assert session.score.tool == 0.75


def test_3_of_4_reached_and_1_empty_taken():
    session = Session("s", Routes())
    run(session, ("a", "ok"), ("b", "ok"), ("c", "ok"), ("d", "empty_alias"))
    assert session.score.tool == 0.55


def test_an_empty_result_that_an_alternate_made_good_costs_nothing():
    session = Session("s", Routes(tools={"d": {"alternates": ["e"]}}))
    run(session, ("a", "ok"), ("b", "ok"), ("c", "ok"), ("d", "empty_alias"), ("e", "ok"))
    assert session.score.tool == 1.0


def test_one_empty_taken_is_zero():
    session = Session("s", Routes())
    run(session, ("a", "empty_alias"))
    assert session.score.tool == 0.0


def test_a_step_that_was_never_called_is_not_reached():
    session = Session("s", Routes(intents={"q": {"steps": [["a"], ["b"]]}}))
    run(session, ("a", "ok"), route="q")
    session.close_all(0)
    assert session.score.tool == 0.5
    assert session.tally.guessed == 1


def test_a_session_weighs_its_units_by_their_needs():
    session = Session("s", Routes())
    run(session, ("a", "ok"), ("b", "ok"), ("c", "ok"), ("d", "empty_alias"))
    run(session, ("a", "ok"))
    assert session.score.tool == (4 * 0.55 + 1) / 5 == 0.64


@pytest.mark.parametrize(
    ("retrieved", "relevant", "ideal", "reach"),
    [(3, 2, 2, 5 / 6), (8, 2, 2, 0.625), (0, 0, 2, 0.0), (3, 3, 3, 1.0), (3, 1, 0, None)],
)
def test_knowledge_reach_of_one_retrieval(retrieved, relevant, ideal, reach):
    tally = Tally.of([Retrieval(retrieved=retrieved, relevant=relevant, admitted=relevant, ideal=ideal)])
    assert knowledge_reach(tally.retrievals) == reach


def test_tool_1_knowledge_five_sixths_without_handoff_is_090_and_healthy():
    total = total_reach(1.0, 5 / 6, None, WEIGHTS)
    assert total == pytest.approx(0.4 + 0.6 * 5 / 6, abs=1e-15)
    assert band_of(total, CUTS) == "healthy"


@pytest.mark.parametrize(
    ("links", "total"),
    [
        ((1.0, None, None), 1.0),
        ((0.5, None, 1.0), (0.4 * 0.5 + 0.3) / 0.7),
        ((None, 0.5, None), 0.5),
        ((None, 0.5, 1.0), 0.75),
        ((None, None, 0.25), 0.25),
        ((None, None, None), None),
        ((0.8, 0.5, 0.0), 0.4 * 0.8 + 0.3 * 0.5),
    ],
)
def test_an_absent_link_gives_its_weight_to_the_others(links, total):
    assert total_reach(*links, WEIGHTS) == (None if total is None else pytest.approx(total, abs=1e-15))


def test_absent_full_gives_the_seeds_own_score():
    assert total_reach(0.5, None, None, Weights(absent="full")) == pytest.approx(0.4 * 0.5 + 0.6)


@pytest.mark.parametrize(
    ("score", "band"),
    [
        (1.0, "healthy"),
        (0.9, "healthy"),
        (0.9 - 1e-12, "healthy"),
        (0.899, "degraded"),
        (0.75, "degraded"),
        (0.749, "broken"),
        (None, ""),
    ],
)
def test_bands_are_compared_after_rounding(score, band):
    assert band_of(score, CUTS) == band


def test_task_reach_counts_complete_handoffs():
    tally = Tally.of([Handoff(missing=("order_id",)), Handoff(), Handoff(), Handoff()])
    assert reach_score(tally, WEIGHTS, CUTS).task == 0.75


def test_a_first_attempt_that_failed_shows_what_compensation_added():
    session = Session("s", Routes())
    ref = session.begin_turn(None)
    session.observe(ToolCall(session="s", turn=ref.turn, unit=ref.unit, tool="a", status="ok", first_status="fail"))
    session.observe(Turn(session="s", turn=ref.turn, unit=ref.unit))
    assert (session.score.tool, session.score.first_tool) == (1.0, 0.0)


COUNTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), max_size=30)


@given(COUNTS, st.randoms())
def test_adding_tallies_does_not_depend_on_order_or_grouping(rows, dice):
    events = [Retrieval(retrieved=a + b, relevant=min(a, b), admitted=min(a, b), ideal=c) for a, b, c in rows]
    whole = reach_score(Tally.of(events), WEIGHTS, CUTS)
    dice.shuffle(events)
    cut = dice.randint(0, len(events))
    assert reach_score(Tally.of(events[cut:]) + Tally.of(events[:cut]), WEIGHTS, CUTS) == whole


@given(COUNTS)
def test_a_tally_survives_a_store(rows):
    tally = Tally.of([Retrieval(retrieved=a, relevant=b, ideal=c) for a, b, c in rows])
    assert Tally.from_record(tally.to_record()) == tally
