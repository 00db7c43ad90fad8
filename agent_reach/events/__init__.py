"""What happened: one stream of events, of which every number in the product is a function."""

from agent_reach.events.base import SCHEMA_VERSION, Band, Event, FailCause, Rung, Stage, Status, TurnOutcome
from agent_reach.events.lines import event_from_line, line_from_event
from agent_reach.events.model import (
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
from agent_reach.events.spans import attributes_of, event_from_span, span_name, unit_attributes, unit_from_turn

__all__ = [
    "SCHEMA_VERSION",
    "Band",
    "CompensationStep",
    "Decision",
    "Event",
    "FailCause",
    "Handoff",
    "NodeReached",
    "PlanStep",
    "PreconditionFailed",
    "Retrieval",
    "Rung",
    "Stage",
    "Status",
    "TaskRun",
    "Thought",
    "ToolAttempt",
    "ToolCall",
    "Turn",
    "TurnOutcome",
    "UnitClosed",
    "attributes_of",
    "event_from_line",
    "event_from_span",
    "kind_of",
    "line_from_event",
    "span_name",
    "unit_attributes",
    "unit_from_turn",
]
