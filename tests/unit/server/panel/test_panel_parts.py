from hypothesis import given
from hypothesis import strategies as st

from agent_reach.contracts import Thresholds
from agent_reach.server.panel import charts
from agent_reach.server.panel.filters import RANGES, Filters
from agent_reach.server.panel.texts import language_of, translator
from agent_reach.server.panel.views import as_list, explain

TEXTS = st.text(max_size=20)


@given(st.dictionaries(st.sampled_from(["range", "until", "agent", "intent", "version", "search", "broken", "x"]), TEXTS))
def test_any_url_gives_filters_that_their_own_url_gives_again(query):
    filters = Filters.of(query)
    assert filters.range in RANGES
    from urllib.parse import parse_qsl

    assert Filters.of(dict(parse_qsl(filters.query().removeprefix("?")))) == filters


def test_a_range_has_at_most_72_points_and_ends_with_the_minute_that_runs():
    for name, seconds in RANGES.items():
        filters = Filters(range=name)
        assert seconds / filters.bucket <= 72
        begin, end = filters.window(1_000_000)
        assert (end - begin, end) == (seconds, 1_000_060)
    assert Filters(until="500000").window(1_000_000)[1] == 500_000


def test_a_curve_breaks_where_a_bucket_is_missing():
    points = [(0, 1.0, 5), (60, 0.5, 5), (180, 0.7, 5), (240, None, 0), (300, 0.2, 1)]
    drawn = charts.curve(points, (0, 360), 60, Thresholds(), [(60, "2"), (999, "3")], 0.6)
    assert [len(run.split()) for run in drawn.segments] == [2, 1, 1]
    assert (drawn.mean, drawn.n) == (0.6, 16)
    assert [text for _, text in drawn.marks] == ["2"]
    assert all(0 <= y <= charts.HEIGHT for _, y, _ in drawn.dots)


def event(kind="tool_call", **values):
    base = {"kind": kind, "turn": 1, "at": 0.0, "seconds": 1.0, "agent": "a", "sender": "a", "receiver": "b", "tool": "t", "source": "s",
            "missing": "", "status": "ok", "verdict": "", "fail_cause": "", "empty_kind": "", "first_status": "ok", "rung": "",
            "served_by": "", "ideal": 0, "relevant": 0, "retrieved": 0, "admitted": 0, "outcome": "answered", "score": 0.5, "id": "x"}  # fmt: skip
    return {**base, **values}


def test_a_timeline_has_a_lane_an_agent_and_a_column_a_turn():
    events = [
        event(at=0.0),
        event(at=2.0, agent="b"),
        event("handoff", at=1.0),
        event("turn", seconds=3.0),
        event(turn=2, at=9_000.0),
    ]
    drawn = charts.timeline(events)
    assert [agent for _, agent in drawn.lanes] == ["a", "b"]
    assert [number for _, _, number, _ in drawn.columns] == [1, 2]
    assert (len(drawn.bars), len(drawn.arrows), len(drawn.scores)) == (3, 1, 1)
    for x, width, number, _ in drawn.columns:
        inside = [bar for bar in drawn.bars if bar.event["turn"] == number]
        assert all(x <= bar.x <= x + width for bar in inside)


def test_events_are_explained_in_words():
    assert explain(event(status="fail", fail_cause="timeout"))["cause"] == "timeout"
    assert explain(event(status="empty_alias", empty_kind="no_rows"))["cause"] == "empty: no_rows"
    saved = explain(event(first_status="fail", rung="reroute", served_by="u"))
    assert (saved["cause"], saved["done"], saved["short"]) == ("failed at first", "reroute → u", False)
    handoff = explain(event("handoff", missing='["order_id"]'))
    assert (handoff["link"], handoff["cause"], handoff["short"]) == ("task", "missing: order_id", True)
    assert explain(event("retrieval", ideal=2, relevant=1, retrieved=4))["short"]


def test_lists_in_attributes_are_read_whatever_they_hold():
    assert as_list('["a", 1]') == ["a", "1"]
    assert as_list("") == []
    assert as_list("[broken") == ["[broken"]
    assert as_list('{"a": 1}') == ['{"a": 1}']


def test_the_language_is_the_chosen_one_else_the_browsers_else_english():
    assert language_of("zh", "en") == "zh"
    assert language_of("", "fr, zh-CN;q=0.8, en;q=0.5") == "zh"
    assert language_of("xx", "") == "en"
    assert translator("zh")("Now") == "当前"
    assert translator("zh")("not in the table") == "not in the table"
