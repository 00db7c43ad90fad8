"""The verdict on one result."""

from __future__ import annotations

from typing import Final, NamedTuple

from agent_reach.events import FailCause, Stage, Status


class Finding(NamedTuple):
    """Status of one attempt, with the reason.

    Attributes:
        status: section 1 of the definitions.
        fail_cause: why it failed, `""` unless `status` is `fail`.
        empty_kind: in which way it is empty, `""` unless `status` is `empty_alias`.
        stage: before, during or after the call.
        error_type: class of the exception, else the fail cause.
    """

    status: Status
    fail_cause: FailCause = ""
    empty_kind: str = ""
    stage: Stage = ""
    error_type: str = ""


OK: Final = Finding("ok")

_STAGES: Final[dict[FailCause, Stage]] = {
    "bad_arguments": "before",
    "unknown_tool": "before",
    "precondition": "before",
    "unparseable": "after",
}


def failed(cause: FailCause, error_type: str = "") -> Finding:
    """A failure at the stage that its cause implies."""
    return Finding("fail", cause, "", _STAGES.get(cause, "during"), error_type or cause)


def empty(kind: str) -> Finding:
    """An empty result taken for a success by the tool."""
    return Finding("empty_alias", "", kind, "after")
