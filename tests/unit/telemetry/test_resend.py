from agent_reach.events import Decision, ToolCall, Turn, UnitClosed, event_from_span, unit_from_turn
from agent_reach.telemetry.resend import spans_of

TRACE, TURN, CALL = "1" * 32, "2" * 16, "3" * 16
WHERE = {"session": "s", "turn": 1, "unit": 1, "trace": TRACE}
EVENTS = [
    Decision(**WHERE, id="d", parent=TURN, time=5, chosen=("find",)),
    ToolCall(**WHERE, id=CALL, parent=TURN, time=6, latency=1, tool="find", status="fail"),
    UnitClosed(**WHERE, id=f"{TURN}.u1", parent=TURN, time=15, agent="a", needs=1),
    Turn(**WHERE, id=TURN, time=5, latency=10),
    UnitClosed(session="s", turn=1, unit=2, trace=TRACE, id=f"{TURN}.u2", parent=TURN, time=99, agent="a"),
]


def read(span):
    parent = f"{span.parent.span_id:016x}" if span.parent else ""
    ids = {"id": f"{span.context.span_id:016x}", "parent": parent, "trace": f"{span.context.trace_id:032x}"}
    return event_from_span(span.attributes, time=span.start_time, latency=span.end_time - span.start_time, **ids)


def test_recorded_events_become_spans_with_their_ids_times_and_span_events():
    spans = spans_of(EVENTS)
    read_back = [read(span) for span in spans]
    assert read_back == [EVENTS[1], EVENTS[3], EVENTS[4]]
    [turn] = [span for span in spans if span.name.startswith("invoke_agent")]
    assert [e.name for e in turn.events] == ["agent_reach.decision"]
    assert unit_from_turn(turn.attributes, EVENTS[3]) == EVENTS[2]
    assert [span.status.status_code.name for span in spans] == ["ERROR", "UNSET", "UNSET"]


def test_an_event_whose_span_is_missing_gets_a_span_of_its_own():
    assert [span.name for span in spans_of(EVENTS[:1])] == ["agent_reach.decision"]
