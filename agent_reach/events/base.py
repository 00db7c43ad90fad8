"""What every event carries, and the words that events share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

SCHEMA_VERSION: Final = 1

Status = Literal["ok", "fail", "empty_alias", "cancelled", "interrupted", "handoff"]
FailCause = Literal[
    "",
    "timeout",
    "rate_limited",
    "auth",
    "server_error",
    "network",
    "bad_arguments",
    "unparseable",
    "unknown_tool",
    "precondition",
    "other",
]
Stage = Literal["", "before", "during", "after"]
Rung = Literal["first", "retry", "reroute", "snapshot", "supply", "human"]
Band = Literal["", "healthy", "degraded", "broken"]
TurnOutcome = Literal["answered", "asked", "abandoned"]


def attribute(name: str, default: Any = "", *, always: bool = False) -> Any:
    """A field that a span carries under the attribute `name`; unless `always`, only when it differs from its default."""
    return field(default=default, metadata={"attribute": name, "always": always})


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What every event carries.

    Attributes:
        session: one conversation.
        time: when it began, nanoseconds since 1970 in UTC.
        latency: how long it took, nanoseconds.
        id, parent, trace: span id (16 hex digits), id of the enclosing span, trace id (32 hex digits).
        turn, unit: numbers of the turn and of the task unit in their session, from 1; 0 when there is none.
        agent: who acted.
        intent: what the user wants, `""` without a route table.
        status: see section 1 of the definitions.
    """

    session: str = attribute("gen_ai.conversation.id")
    time: int = 0
    latency: int = 0
    id: str = ""
    parent: str = ""
    trace: str = ""
    turn: int = attribute("agent_reach.turn", 0)
    unit: int = attribute("agent_reach.task_unit", 0)
    agent: str = attribute("gen_ai.agent.name")
    intent: str = attribute("agent_reach.intent")
    status: Status = attribute("agent_reach.status", "ok", always=True)
