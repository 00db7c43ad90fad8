"""The status of what a tool call came to: a message, a command, a raw object or an exception."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp, GraphInterrupt, ParentCommand
from langgraph.types import Command

from agent_reach.checks import OK, Finding, failed, finding_of_exception, finding_of_result
from agent_reach.checks.failures import cause_of_text
from agent_reach.contracts import ToolContract
from agent_reach.integrations.translate import SUBAGENT_TOOL, receiver_of, text_of

MISSING: Final = object()
REFUSED: Final = "agent_reach_refused"
"""Key in a tool message's `additional_kwargs`: the cause for which a gate did not make the call, or did not take its result."""

_CANCELLED: Final = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit)


def finding_of_error(error: BaseException, *, in_body: bool = True) -> Finding:
    """Status of a call that raised; control flow and cancellation are no failures."""
    if isinstance(error, GraphInterrupt):
        return Finding("interrupted")
    if isinstance(error, ParentCommand):
        return Finding("handoff")
    if isinstance(error, GraphBubbleUp):
        return Finding("interrupted")
    if isinstance(error, _CANCELLED):
        return Finding("cancelled")
    return finding_of_exception(error, in_body=in_body)


def finding_of_response(
    response: Any, contract: ToolContract, *, tool: str = "", raw: Any = MISSING, error: BaseException | None = None
) -> Finding:
    """Status of a call that returned.

    Args:
        response: what the graph or the agent gets.
        contract: of the tool.
        tool: its name.
        raw: what the tool's body returned, preferred to the text made of it.
        error: what the body raised, if that was handled.
    """
    if isinstance(response, ToolMessage):
        if REFUSED in response.additional_kwargs:
            return failed(response.additional_kwargs[REFUSED])
        if response.status == "error":
            return _handled(text_of(response), error)
        return finding_of_result(_data(response, raw), contract)
    if isinstance(response, Command):
        return _finding_of_command(response, contract, tool)
    if isinstance(response, list) and response and all(isinstance(r, ToolMessage | Command) for r in response):
        return finding_of_response(response[-1], contract, tool=tool, error=error)
    return finding_of_result(_artifact_first(response) if raw is MISSING else raw, contract)


def _handled(text: str, error: BaseException | None) -> Finding:
    if error is not None:
        return finding_of_error(error)
    if text.startswith("Error invoking tool"):
        return failed("bad_arguments", "ToolInvocationError")
    return failed(cause_of_text(text))


def _data(message: ToolMessage, raw: Any) -> Any:
    if message.artifact is not None:
        return message.artifact
    return message.content if raw is MISSING or _returns_pairs(raw, message) else raw


def _returns_pairs(raw: Any, message: ToolMessage) -> bool:
    """A `content_and_artifact` tool whose artifact is None: the content is what it returned first."""
    return isinstance(raw, tuple) and len(raw) == 2 and raw[1] is None and raw[0] == message.content


def _artifact_first(value: Any) -> Any:
    artifact = getattr(value, "artifact", None)
    return value if artifact is None else artifact


def is_handoff(response: Any, tool: str = "") -> bool:
    """The call handed the task to another agent."""
    return isinstance(response, Command) and tool != SUBAGENT_TOOL and bool(receiver_of(response))


def _finding_of_command(command: Command[Any], contract: ToolContract, tool: str) -> Finding:
    if is_handoff(command, tool):
        return Finding("handoff")
    update = command.update if isinstance(command.update, dict) else {}
    messages = [m for m in update.get("messages") or [] if isinstance(m, ToolMessage)]
    if messages and (len(update) == 1 or tool == SUBAGENT_TOOL):
        return finding_of_response(messages[-1], contract)
    return OK if update else finding_of_result(None, contract)
