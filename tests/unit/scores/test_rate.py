import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_reach.contracts import Routes
from agent_reach.events import Decision, ToolCall, UnitClosed
from agent_reach.scores.rate import FIGURES, Cell, RateTally, rate_of, to_record, turn_bucket
from agent_reach.scores.stats import wilson
from tests.streams import ROUTES as STREAM_ROUTES
from tests.streams import live, random_stream

ROUTES = Routes(intents={"order": {"steps": [["db", "cache"]]}, "refund": {"steps": [["db", "cache"], ["pay"]]}})


def unit(tally, intent, *calls, number=1, session="s", turn=1):
    """One unit: calls are `tool`, `tool!` for one that failed, `+tool+tool` for a decision."""
    where = {"session": session, "unit": number, "turn": turn, "intent": intent}
    for call in calls:
        if call.startswith("+"):
            tally.observe(Decision(**where, chosen=tuple(name for name in call.split("+") if name)))
        else:
            status = "fail" if call.endswith("!") else "ok"
            tally.observe(ToolCall(**where, tool=call.rstrip("!"), status=status))
    tally.observe(UnitClosed(**where))
    return tally


def values(tally):
    return {figure: (tally.overall(figure).hits, tally.overall(figure).n) for figure in FIGURES}


@pytest.mark.parametrize(
    ("intent", "calls", "expected"),
    [
        ("order", ["db"], {"candidate": (1, 1), "precise": (1, 1), "first": (1, 1), "execution": (1, 1)}),
        ("order", ["cache"], {"candidate": (1, 1), "precise": (0, 1), "first": (0, 1), "execution": (1, 1)}),
        ("order", ["cache", "db"], {"candidate": (1, 1), "precise": (1, 1), "first": (0, 1), "execution": (2, 2)}),
        ("order", ["faq", "db!"], {"candidate": (1, 1), "precise": (1, 1), "first": (0, 1), "execution": (0, 1)}),
        ("order", ["faq"], {"candidate": (0, 1), "precise": (0, 1), "first": (0, 1), "execution": (0, 0)}),
        ("order", [], {"candidate": (0, 1), "precise": (0, 1), "first": (0, 1), "execution": (0, 0)}),
        ("refund", ["db"], {"candidate": (1, 2), "precise": (1, 2), "first": (1, 2), "execution": (1, 1)}),
        ("refund", ["db", "pay"], {"candidate": (2, 2), "precise": (2, 2), "first": (2, 2), "execution": (2, 2)}),
    ],
)
def test_pairs_of_unit_and_step_are_counted(intent, calls, expected):
    assert expected.items() <= values(unit(RateTally(ROUTES), intent, *calls)).items()


def test_a_decision_counts_while_a_step_is_open():
    tally = unit(RateTally(ROUTES), "refund", "+faq", "+db", "+", "+pay+db", "+faq")
    assert values(tally)["decision"] == (2, 4)


def test_units_without_a_route_are_in_no_denominator():
    tally = unit(RateTally(ROUTES), "chat", "db")
    assert all(n == 0 for _, n in values(tally).values())
    assert tally.overall("precise") == (0, 0, None, None)
    assert tally.without_route == 1


def test_rates_stand_by_intent_tool_and_turn():
    tally = RateTally(ROUTES)
    unit(tally, "order", "db", number=1, turn=1)
    unit(tally, "order", "cache", number=2, turn=3)
    unit(tally, "refund", "db", "pay", number=3, turn=5)
    assert {group: (rate.hits, rate.n) for group, rate in tally.rates("precise", ["intent", "tool"]).items()} == {
        ("order", "db"): (1, 2), ("refund", "db"): (1, 1), ("refund", "pay"): (1, 1),
    }  # fmt: skip
    assert {group[0]: rate.n for group, rate in tally.rates("precise", ["turns"]).items()} == {"1–2": 1, "3–4": 1, "5+": 2}
    assert [turn_bucket(turn) for turn in (1, 2, 3, 4, 5, 99)] == ["1–2", "1–2", "3–4", "3–4", "5+", "5+"]


def test_misses_say_where_and_what_was_called_instead():
    tally = unit(RateTally(ROUTES), "order", "faq", "cache", session="s7", number=4)
    [miss] = tally.misses
    assert (miss.session, miss.unit, miss.cell, miss.called, miss.candidate) == (
        "s7",
        4,
        Cell("order", "db", "1–2"),
        ("faq", "cache"),
        True,
    )


def test_an_unknown_figure_names_the_known_ones():
    with pytest.raises(KeyError, match="expected one of candidate"):
        RateTally(ROUTES).rates("speed")


@pytest.mark.parametrize("seed", range(60))
def test_rates_of_parts_add_up_to_the_rates_of_the_whole(seed):
    streams = [live(random_stream(random.Random(1_000 * seed + part)))[1] for part in range(3)]
    parts = []
    for events in streams:
        parts.append(RateTally(STREAM_ROUTES))
        for event in events:
            parts[-1].observe(event)
    whole = RateTally(STREAM_ROUTES)
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
