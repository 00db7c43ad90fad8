"""An event as the name and attributes of a span, and back, without loss.

Decisions, thoughts and compensation steps become *span events* of the turn or call that they belong to; all others are spans.
A unit that closes with its turn adds its counts to the turn's span; one that closes later gets a span of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Final

from agent_reach import semconv
from agent_reach.errors import ReachError, SchemaVersionError
from agent_reach.events.base import SCHEMA_VERSION, Event
from agent_reach.events.model import (
    KINDS,
    CompensationStep,
    Decision,
    Handoff,
    NodeReached,
    PlanStep,
    PreconditionFailed,
    Retrieval,
    TaskRun,
    Thought,
    ToolAttempt,
    ToolCall,
    Turn,
    UnitClosed,
    kind_of,
)

SPAN_EVENTS: Final = (Decision, Thought, CompensationStep, NodeReached, PlanStep, PreconditionFailed)
_OWN_IDS: Final = (*SPAN_EVENTS, UnitClosed)  # whose id is not that of a span

_LATENCY: Final = "agent_reach.latency"
_ID: Final = "agent_reach.id"
_NO_ERROR_TYPE: Final = "_OTHER"  # the conventions' word for a failure of unknown type

_OPERATIONS: Final[dict[type[Event], tuple[str, str]]] = {
    ToolCall: (semconv.SPAN_TOOL, "tool"),
    ToolAttempt: (semconv.SPAN_TOOL, "tool"),
    Retrieval: (semconv.SPAN_RETRIEVAL, "source"),
    Handoff: (semconv.SPAN_HANDOFF, "receiver"),
    Turn: (semconv.SPAN_AGENT, "agent"),
    UnitClosed: (semconv.SPAN_UNIT, "intent"),
    TaskRun: (semconv.SPAN_TASK, "task"),
}


@cache
def _mapped(cls: Any) -> tuple[tuple[str, str, Any], ...]:
    return tuple((f.name, f.metadata["attribute"], f.default) for f in fields(cls) if "attribute" in f.metadata)


@cache
def _optional(cls: Any) -> tuple[tuple[str, str, Any], ...]:
    return tuple(row for row in _mapped(cls) if not cls.__dataclass_fields__[row[0]].metadata["always"])


@cache
def _always(cls: Any) -> tuple[tuple[str, str], ...]:
    return tuple((name, key) for name, key, _ in _mapped(cls) if cls.__dataclass_fields__[name].metadata["always"])


@cache
def _constant(cls: Any) -> dict[str, Any]:
    kind = next(name for name, member in KINDS.items() if member is cls)
    attributes: dict[str, Any] = {semconv.EVENT: kind, semconv.SCHEMA: SCHEMA_VERSION}
    if cls in _OPERATIONS:
        attributes[semconv.GEN_AI_OPERATION_NAME] = _OPERATIONS[cls][0]
    if cls in (ToolCall, ToolAttempt):
        attributes[semconv.GEN_AI_TOOL_TYPE] = "function"
    return attributes


_UNIT_ON_TURN: Final = ("needs", "reached", "first_reached", "taken", "answered", "degraded", "reason", "route_version")
_UNIT_STEPS: Final = ("steps", "called")  # empty without a route, and then left out
_UNIT_AGENT: Final = "agent_reach.unit.agent"


def unit_attributes(unit: UnitClosed) -> dict[str, Any]:
    """What a unit that closes with its turn adds to the turn's span: integer deltas, and how it closed."""
    keys = {name: key for name, key, _ in _mapped(UnitClosed)}
    attributes = {keys[name]: getattr(unit, name) for name in _UNIT_ON_TURN}
    steps = {keys[name]: value for name in _UNIT_STEPS if (value := getattr(unit, name))}
    return {**attributes, **steps, _UNIT_AGENT: unit.agent}


def unit_from_turn(attributes: Mapping[str, Any], turn: Turn) -> UnitClosed | None:
    """The unit that closed with a turn, from the attributes of the turn's span; None when none did."""
    if _UNIT_AGENT not in attributes:
        return None
    keys = {name: key for name, key, _ in _mapped(UnitClosed)}
    values = {name: attributes[keys[name]] for name in _UNIT_ON_TURN}
    values |= {name: tuple(attributes.get(keys[name], ())) for name in _UNIT_STEPS}
    return UnitClosed(
        **values,
        session=turn.session,
        time=turn.time + turn.latency,
        id=f"{turn.id}.u{turn.unit}",
        parent=turn.id,
        trace=turn.trace,
        turn=turn.turn,
        unit=turn.unit,
        agent=attributes[_UNIT_AGENT],
        intent=turn.intent,
        guessed=turn.guessed,
        abnormal=turn.abnormal,
    )


def span_name(event: Event) -> str:
    """Such as `execute_tool search_orders`; for a span event its own name, such as `agent_reach.decision`."""
    operation = _OPERATIONS.get(type(event))
    if operation is None:
        return semconv.PREFIX + kind_of(event)
    return f"{operation[0]} {getattr(event, operation[1])}".rstrip()


def attributes_of(event: Event) -> dict[str, Any]:
    """Attributes of the span or span event; most fields that hold their default are left out."""
    cls: Any = type(event)
    attributes = dict(_constant(cls))
    for name, key in _always(cls):
        attributes[key] = getattr(event, name)
    for name, key, default in _optional(cls):
        value = getattr(event, name)
        if value != default:
            attributes[key] = value
    if event.status == "fail" and not attributes.get(semconv.ERROR_TYPE):
        attributes[semconv.ERROR_TYPE] = _NO_ERROR_TYPE
    if cls in SPAN_EVENTS:
        attributes[_LATENCY] = event.latency
    if cls in _OWN_IDS:
        attributes[_ID] = event.id
    return attributes


def event_from_span(
    attributes: Mapping[str, Any], *, time: int, latency: int = 0, id: str = "", parent: str = "", trace: str = ""
) -> Event:
    """The inverse of `attributes_of`; times and ids come from the span (for a span event: from its span).

    Raises:
        SchemaVersionError: a newer package wrote it.
        ReachError: the span carries no event of ours.
    """
    version = attributes.get(semconv.SCHEMA)
    if version is not None and (not isinstance(version, int) or version > SCHEMA_VERSION):
        raise SchemaVersionError(version, SCHEMA_VERSION)
    cls: Any = KINDS.get(str(attributes.get(semconv.EVENT, "")))
    if cls is None:
        raise ReachError(f"{semconv.EVENT}: expected one of {', '.join(KINDS)}, found no such attribute")
    values: dict[str, Any] = {}
    for name, key, default in _mapped(cls):
        value = attributes.get(key, default)
        values[name] = tuple(value) if isinstance(default, tuple) else value
    if values.get("error_type") == _NO_ERROR_TYPE:
        values["error_type"] = ""
    if cls in SPAN_EVENTS:
        latency = attributes.get(_LATENCY, 0)
    if cls in _OWN_IDS:
        id = attributes.get(_ID, "")
    made: Event = cls(**values, time=time, latency=latency, id=id, parent=parent, trace=trace)
    return made
