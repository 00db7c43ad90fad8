import random

import pytest

from agent_reach.contracts import Routes
from agent_reach.events import Handoff, ToolCall, Turn, UnitClosed
from agent_reach.live import Session
from agent_reach.scores import Tally
from agent_reach.scores.reach import reach_score
from tests.streams import ROUTES, live, random_stream


class Talk:
    """A conversation, one event after another."""

    def __init__(self, routes=ROUTES):
        self.session = Session("s", routes)
        self.now = 0
        self.closed = []

    def turn(self, intent=None):
        self.ref = self.session.begin_turn(intent)
        return self

    def _tell(self, cls, **values):
        self.now += 10
        ref = self.ref
        event = cls(session="s", turn=ref.turn, unit=ref.unit, intent=ref.intent, time=self.now, latency=1, **values)
        self.closed += self.session.observe(event)
        return self

    def call(self, tool, status="ok", **more):
        return self._tell(ToolCall, tool=tool, status=status, first_status=status, **more)

    def answer(self, outcome="answered"):
        return self._tell(Turn, outcome=outcome)


def test_two_questions_after_one_another_are_two_units():
    talk = Talk().turn("q").call("a").call("c").answer().turn("q").call("a").call("c").answer()
    assert [(u.needs, u.reached, u.reason) for u in talk.closed] == [(2, 2, "reached"), (2, 2, "reached")]


def test_a_turn_without_an_intent_continues_the_open_unit():
    talk = Talk().turn("q").call("a").answer("asked").turn(None).call("c").answer()
    assert [(u.needs, u.reached, u.unit) for u in talk.closed] == [(2, 2, 1)]


def test_another_intent_closes_the_unit():
    talk = Talk().turn("q").call("a").answer().turn("r").call("d").answer()
    assert [(u.intent, u.needs, u.reached, u.reason) for u in talk.closed] == [("q", 2, 1, "intent"), ("r", 1, 1, "reached")]


def test_an_intent_without_a_route_is_treated_as_without_a_table():
    talk = Talk().turn("unknown").call("x").call("x").answer()
    assert [(u.needs, u.reached) for u in talk.closed] == [(2, 2)]


def test_a_final_answer_with_a_need_in_vain_is_guessed_and_a_question_is_not():
    assert Talk(Routes()).turn().call("a", "fail").answer().closed[0].guessed
    assert not Talk(Routes()).turn().call("a", "fail").answer("asked").closed[0].guessed


def test_a_later_call_of_the_same_tool_serves_the_same_need():
    assert Talk(Routes()).turn().call("a", "fail").call("a").answer().closed[0].needs == 1


def test_parallel_calls_of_the_same_tool_are_needs_of_their_own():
    talk = Talk(Routes()).turn()
    talk.now = 0
    for status in ("fail", "ok"):
        talk.session.observe(ToolCall(session="s", turn=1, unit=1, tool="a", status=status, time=5, latency=5))
    assert talk.answer().closed[0].needs == 2


def test_a_person_who_took_over_makes_an_empty_result_untaken_but_not_reached():
    unit = Talk(Routes()).turn().call("a", "empty_alias", compensation="human").answer().closed[0]
    assert (unit.reached, unit.taken) == (0, 0)


def test_a_need_whose_calls_were_all_cancelled_counts_only_after_a_final_answer():
    talk = Talk(Routes()).turn().call("a", "cancelled").answer("abandoned").turn().answer()
    assert [u.needs for u in talk.closed] == [0, 0]
    assert Talk(Routes()).turn().call("a", "cancelled").answer().closed[0].needs == 1


def test_an_abandoned_turn_neither_charges_nor_forgives_until_its_unit_closes():
    talk = Talk(Routes()).turn().call("a", "empty_alias").answer("abandoned")
    assert talk.closed == []
    assert talk.session.score.tool == 0.0
    talk.turn().call("b").answer()
    assert [u.taken for u in talk.closed] == [1, 0]


def test_pending_empties_settle_at_the_final_answer_and_a_later_success_corrects_them():
    talk = Talk().turn("q").call("a", "empty_alias")
    assert talk.session.settled.units.most_common(1)[0][0].taken == 0
    talk.answer()
    assert talk.session.settled.units.most_common(1)[0][0].taken == 1
    talk.turn(None).call("b")
    assert talk.session.settled.units.most_common(1)[0][0].taken == 0


def test_a_call_that_no_step_expects_lowers_no_reach():
    assert Talk().turn("q").call("a").call("c").call("weather", "fail").answer().closed[0].needs == 2


def test_incomplete_handoffs_that_were_finished_are_degraded():
    talk = Talk(Routes()).turn()
    talk._tell(Handoff, missing=("x",))
    assert talk.answer().closed[0].degraded == 1


def batch(events):
    sessions = {}
    for event in events:
        sessions.setdefault(event.session, Session(event.session, ROUTES)).observe(event)
    for session in sessions.values():
        session.close_all(0)
    return {id: s.tally for id, s in sessions.items()}


@pytest.mark.parametrize("block", range(4))
def test_live_equals_batch_equals_any_split_and_merge(block):
    for seed in range(block * 250, block * 250 + 250):
        dice = random.Random(seed)
        events = random_stream(dice)
        tallies, emitted = live(events)
        assert tallies == batch(events)
        whole = Tally.of(emitted)
        cuts = sorted(dice.randint(0, len(emitted)) for _ in range(3))
        parts = [emitted[: cuts[0]], emitted[cuts[0] : cuts[1]], emitted[cuts[1] : cuts[2]], emitted[cuts[2] :]]
        dice.shuffle(parts)
        merged = sum((Tally.of(part) for part in parts), Tally())
        assert merged == whole == sum(tallies.values(), Tally())
        figures = reach_score(merged, ROUTES.weights, ROUTES.thresholds)
        assert figures == reach_score(whole, ROUTES.weights, ROUTES.thresholds)


@pytest.mark.parametrize("seed", range(40))
def test_a_session_goes_on_in_another_process(seed):
    dice = random.Random(seed)
    events = random_stream(dice)
    cut = dice.randint(0, len(events))
    sessions = {}
    for number, event in enumerate(events):
        if number == cut:
            stored = {id: s.to_record() for id, s in sessions.items()}
            sessions = {id: Session(id, ROUTES) for id in stored}
            for id, session in sessions.items():
                session.restore(stored[id])
        sessions.setdefault(event.session, Session(event.session, ROUTES)).observe(event)
    for session in sessions.values():
        session.close_all(0)
    assert {id: s.tally for id, s in sessions.items()} == batch(events)


def test_recorded_units_are_taken_over_instead_of_being_closed_again():
    session = Session("s", ROUTES)
    session.observe(ToolCall(session="s", turn=1, unit=1, tool="a"))
    session.observe(UnitClosed(session="s", turn=1, unit=1, needs=5, reached=4))
    assert session.close_all(0) == []
    assert session.score.tool == 0.8
