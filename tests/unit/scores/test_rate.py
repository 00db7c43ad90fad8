import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_reach.contracts import Routes
from agent_reach.events import Decision, ToolCall, Turn
from agent_reach.live import Session
from agent_reach.scores.rate import FIGURES, Cell, RateTally, rate_of, to_record
from agent_reach.scores.stats import wilson
from agent_reach.scores.steps import StepOutcome, turn_bucket
from tests.streams import live, random_stream

ROUTES = Routes(intents={"order": {"steps": [["db", "cache"]]}, "refund": {"steps": [["db", "cache"], ["pay"]]}})


def unit(tally, intent, *calls, number=1, session="s", turn=1, offered=()):
    """One unit: calls are `tool`, `tool!` for one that failed, `tool!cause`, `+tool+tool` for a decision."""
    where = {"session": session, "unit": number, "turn": turn, "intent": intent}
    running = Session(session, ROUTES)
    for call in (*calls, ""):
        if call.startswith("+"):
            event = Decision(**where, chosen=tuple(name for name in call.split("+") if name), offered=offered)
        elif call:
            tool, failed, cause = call.partition("!")
            event = ToolCall(**where, tool=tool, status="fail" if failed else "ok", fail_cause=cause)
        else:
            event = Turn(**where)
        for closed in running.observe(event):
            tally.observe(closed)
    for closed in running.close_all(0):
        tally.observe(closed)
    return tally


def values(tally):
    return {figure: (tally.overall(figure).hits, tally.overall(figure).n) for figure in FIGURES}


@pytest.mark.parametrize(
    ("intent", "calls", "expected"),
    [
        ("order", ["db"], {"candidate": (1, 1), "precise": (1, 1), "first": (1, 1), "execution": (1, 1)}),
        ("order", ["cache"], {"candidate": (1, 1), "reach": (1, 1), "precise": (0, 1), "first": (0, 1), "execution": (1, 1)}),
        ("order", ["cache", "db"], {"candidate": (1, 1), "precise": (1, 1), "first": (0, 1), "execution": (2, 2)}),
        ("order", ["faq", "db!"], {"candidate": (1, 1), "precise": (1, 1), "first": (0, 1), "execution": (0, 1)}),
        ("order", ["faq"], {"candidate": (0, 1), "precise": (0, 1), "first": (0, 1), "execution": (0, 0)}),
        ("order", [], {"candidate": (0, 1), "precise": (0, 1), "first": (0, 1), "execution": (0, 0)}),
        ("refund", ["db"], {"candidate": (1, 2), "precise": (1, 2), "first": (1, 2), "execution": (1, 1)}),
        ("refund", ["db", "pay"], {"candidate": (2, 2), "precise": (2, 2), "first": (2, 2), "execution": (2, 2)}),
    ],
)
def test_pairs_of_unit_and_step_are_counted(intent, calls, expected):
    assert expected.items() <= values(unit(RateTally(), intent, *calls)).items()


def test_a_decision_counts_while_a_step_is_open():
    tally = unit(RateTally(), "refund", "+faq", "+db", "+", "+pay+db", "+faq")
    assert values(tally)["decision"] == (2, 4)


def test_units_without_a_route_are_in_no_denominator():
    tally = unit(RateTally(), "chat", "db")
    assert all(n == 0 for _, n in values(tally).values())
    assert tally.overall("precise") == (0, 0, None, None)
    assert tally.without_route == 1


def test_rates_stand_by_intent_tool_and_turn():
    tally = RateTally()
    unit(tally, "order", "db", number=1, turn=1)
    unit(tally, "order", "cache", number=2, turn=3)
    unit(tally, "refund", "db", "pay", number=3, turn=5)
    assert {group: (rate.hits, rate.n) for group, rate in tally.rates("precise", ["intent", "tool"]).items()} == {
        ("order", "db"): (1, 2), ("refund", "db"): (1, 1), ("refund", "pay"): (1, 1),
    }  # fmt: skip
    assert {group[0]: rate.n for group, rate in tally.rates("precise", ["turns"]).items()} == {"1–2": 1, "3–4": 1, "5+": 2}
    assert [turn_bucket(turn) for turn in (1, 2, 3, 4, 5, 99)] == ["1–2", "1–2", "3–4", "3–4", "5+", "5+"]


def test_misses_say_where_and_what_was_called_instead():
    tally = unit(RateTally(), "order", "faq", "cache", session="s7", number=4)
    [miss] = tally.misses
    assert (miss.session, miss.unit, miss.cell, miss.called, miss.candidate) == (
        "s7",
        4,
        Cell("order", "db", "1–2"),
        ("faq", "cache"),
        True,
    )


@pytest.mark.parametrize(
    ("intent", "calls", "offered", "reasons"),
    [
        ("order", ["db"], (), [""]),
        ("order", ["cache"], (), ["lesser_tool"]),
        ("order", ["faq"], (), ["other_tool"]),
        ("order", [], (), ["no_call"]),
        ("order", ["+faq", "faq"], ("faq", "pay"), ["never_offered"]),
        ("order", ["+faq", "faq"], ("faq", "cache"), ["other_tool"]),
        ("order", ["orderdb!unknown_tool"], (), ["misnamed"]),
        ("refund", ["db!bad_arguments"], (), ["", "arguments"]),
        ("refund", ["db!precondition"], (), ["", "precondition"]),
        ("refund", ["db!timeout"], (), ["", "earlier_step"]),
        ("refund", ["faq"], (), ["other_tool", "earlier_step"]),
        ("refund", ["db"], (), ["", "no_call"]),
    ],
)
def test_a_miss_says_why_as_far_as_its_unit_tells(intent, calls, offered, reasons):
    tally = unit(RateTally(), intent, *calls, offered=offered)
    told = {miss.cell.tool: miss.reason for miss in tally.misses}
    assert [told.get(step.tools[0], "") for step in ROUTES.steps(intent)] == reasons


def test_where_in_the_offered_list_the_best_tool_stood_is_counted():
    tally = unit(RateTally(), "order", "+faq", "faq", offered=("faq", "a", "b", "db"))
    unit(tally, "order", "+db", "db", offered=("db", "faq"), number=2)
    unit(tally, "order", "db", number=3)
    assert tally.places == {("db", False, 7): 1, ("db", True, 0): 1}
    assert [(miss.place, miss.offered) for miss in tally.misses] == [(3, 4)]


def test_units_whose_expectation_is_in_doubt_are_in_no_rate():
    tally = RateTally(doubtful={("s", 1)})
    unit(tally, "order", "faq", number=1)
    unit(tally, "order", "db", number=2)
    assert (tally.overall("precise").n, tally.ambiguous, tally.without_route) == (1, 1, 0)


def test_counts_go_to_rows_and_back():
    tally = unit(unit(RateTally(), "refund", "db", "+pay", "pay!"), "order", "cache", number=2)
    again = RateTally()
    again.add_rows(tally.to_rows())
    assert to_record(again) == to_record(tally)


@given(st.builds(StepOutcome, tool=st.text(min_size=1, max_size=9), turns=st.sampled_from(["1–2", "5+"]), candidate=st.booleans(),
                 precise=st.booleans(), first=st.booleans(), alternative=st.booleans(), decided=st.integers(0, 9),
                 place=st.integers(-1, 300), reason=st.sampled_from(["", "misnamed"])))  # fmt: skip
def test_a_step_goes_to_a_text_and_back(step):
    assert StepOutcome.from_text(step.to_text()) == step


def test_a_text_that_is_no_step_is_refused():
    with pytest.raises(ValueError, match="ten fields"):
        StepOutcome.from_text("db")


def test_an_unknown_figure_names_the_known_ones():
    with pytest.raises(KeyError, match="expected one of candidate"):
        RateTally().rates("speed")


@pytest.mark.parametrize("seed", range(60))
def test_rates_of_parts_add_up_to_the_rates_of_the_whole(seed):
    streams = [live(random_stream(random.Random(1_000 * seed + part)))[1] for part in range(3)]
    parts = []
    for events in streams:
        parts.append(RateTally())
        for event in events:
            parts[-1].observe(event)
    whole = RateTally()
    for event in [event for events in streams for event in events]:
        whole.observe(event)
    assert to_record(sum(parts[1:], parts[0])) == to_record(whole)
    for figure in FIGURES:
        rate = whole.overall(figure)
        assert 0 <= rate.hits <= rate.n
    assert whole.overall("precise").hits <= whole.overall("candidate").hits


# intervals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(5, 5, 0.5655, 1.0), (0, 5, 0.0, 0.4345), (8, 10, 0.4902, 0.9433), (50, 100, 0.4038, 0.5962)],
)
def test_wilson_intervals_are_those_of_the_literature(successes, n, low, high):
    interval = wilson(successes, n)
    assert interval == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 10_000), st.data())
def test_an_interval_holds_its_share_and_stays_a_share(n, data):
    successes = data.draw(st.integers(0, n))
    low, high = wilson(successes, n)
    assert 0 <= low <= successes / n + 1e-12
    assert successes / n - 1e-12 <= high <= 1


@pytest.mark.parametrize(("successes", "n"), [(1, 0), (-1, 5), (6, 5)])
def test_counts_that_are_none_are_refused(successes, n):
    with pytest.raises(ValueError, match="expected 0 <= successes <= n"):
        wilson(successes, n)


def test_a_share_of_nothing_has_no_value():
    assert rate_of(0, 0) == (0, 0, None, None)
