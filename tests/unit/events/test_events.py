import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_reach.errors import ReachError, SchemaVersionError
from agent_reach.events import (
    SCHEMA_VERSION,
    ToolCall,
    Turn,
    UnitClosed,
    attributes_of,
    event_from_line,
    event_from_span,
    line_from_event,
    span_name,
    unit_attributes,
    unit_from_turn,
)
from tests.unit.events.strategies import EVENTS, TEXT, events_of


@given(EVENTS)
def test_an_event_survives_the_way_to_a_json_line_and_back(event):
    line = line_from_event(event)
    assert "\n" not in line
    assert line.isascii()
    assert event_from_line(line) == event


@given(EVENTS)
def test_an_event_survives_the_way_to_a_span_and_back(event):
    ids = {"id": event.id, "parent": event.parent, "trace": event.trace}
    assert event_from_span(attributes_of(event), time=event.time, latency=event.latency, **ids) == event


@given(EVENTS)
def test_span_attributes_are_what_opentelemetry_can_hold(event):
    for value in attributes_of(event).values():
        assert isinstance(value, str | bool | int | float) or all(isinstance(v, str) for v in value)


def test_lone_surrogates_in_a_payload_survive_a_line():
    event = ToolCall(session="s", tool="t", result="\ud800 half")
    assert event_from_line(line_from_event(event)) == event


def test_a_span_carries_names_hash_size_and_verdicts_without_payloads():
    event = ToolCall(tool="t", status="fail", fail_cause="timeout", argument_names=("a",), arguments_hash="ff", result_size=3)
    attributes = attributes_of(event)
    assert span_name(event) == "execute_tool t"
    assert attributes["agent_reach.arguments.names"] == ("a",)
    assert attributes["agent_reach.arguments.hash"] == "ff"
    assert attributes["agent_reach.result.size"] == 3
    assert attributes["agent_reach.status"] == "fail"
    assert attributes["agent_reach.fail.cause"] == "timeout"
    assert "gen_ai.tool.call.arguments" not in attributes


def test_an_older_reader_refuses_a_newer_schema_clearly():
    line = json.dumps({"v": SCHEMA_VERSION + 1, "kind": "tool_call"})
    with pytest.raises(SchemaVersionError, match="upgrade agent-reach-sdk"):
        event_from_line(line)
    with pytest.raises(SchemaVersionError):
        event_from_span({"agent_reach.schema": SCHEMA_VERSION + 1, "agent_reach.event": "tool_call"}, time=0)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", "one JSON object a line"),
        ("[1]", "one JSON object a line"),
        ('{"v": 1, "kind": "feeling"}', "kind: expected one of tool_attempt"),
        ('{"v": 1, "kind": "tool_call", "turn": "x"}', "tool_call.turn"),
        ('{"v": 1, "kind": "tool_call", "status": "great"}', "tool_call.status"),
        ('{"v": 1, "kind": "tool_call", "colour": "red"}', "tool_call.colour"),
    ],
)
def test_a_broken_line_says_what_is_wrong_with_it(line, said):
    with pytest.raises(ReachError, match=said.replace("[", r"\[")):
        event_from_line(line)


def test_a_span_that_is_not_ours_is_refused():
    with pytest.raises(ReachError, match=r"agent_reach\.event"):
        event_from_span({"gen_ai.tool.name": "t"}, time=0)


@given(events_of(Turn), st.integers(0, 99), st.integers(0, 99), TEXT)
def test_a_unit_that_closes_with_its_turn_survives_on_the_turns_span(turn, needs, taken, agent):
    shared = {name: getattr(turn, name) for name in ("session", "turn", "unit", "intent", "guessed", "abnormal", "trace")}
    unit = UnitClosed(
        **shared, time=turn.time + turn.latency, id=f"{turn.id}.u{turn.unit}", parent=turn.id, agent=agent, needs=needs, taken=taken
    )
    attributes = {**attributes_of(turn), **unit_attributes(unit)}
    assert unit_from_turn(attributes, turn) == unit
    ids = {"id": turn.id, "parent": turn.parent, "trace": turn.trace}
    assert event_from_span(attributes, time=turn.time, latency=turn.latency, **ids) == turn
    assert unit_from_turn(attributes_of(turn), turn) is None
