"""Handoffs between agents: judged when the receiver starts, after missing parameters were supplied."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command, Send

from agent_reach.checks import Said, find_parameter, missing_from_handoff
from agent_reach.contracts import HandoffContract
from agent_reach.errors import ContractError
from agent_reach.events import Handoff
from agent_reach.integrations.calls import CallRecord
from agent_reach.integrations.judge import is_handoff
from agent_reach.integrations.translate import HANDOFF_KEY, SUBAGENT_TOOL, messages_in, passed_by, receiver_of, said

if TYPE_CHECKING:
    from agent_reach.integrations.runtime import Runtime
    from agent_reach.integrations.turns import OpenTurn


def hands_over(response: Any, tool: str) -> bool:
    """The call gives the task to another agent, for good or (deepagents) for a while."""
    return tool == SUBAGENT_TOOL or (isinstance(response, Command) and is_handoff(response, tool))


def handed_over(record: CallRecord, response: Any, state: Any) -> Any:
    """The response of a call, passed on if it is a handoff; a bug of ours leaves it as it is."""
    if not hands_over(response, record.tool):
        return response
    try:
        return pass_on(record, response, state)
    except Exception as fault:  # noqa: BLE001 - our bugs never become the user's
        record.runtime.notes.internal("judging a handoff", fault)
        return response


def pass_on(record: CallRecord, response: Any, state: Any) -> Any:
    """Judge the handoff that a call made, supply what it lacks if the policy allows, and count it.

    Args:
        record: of the call.
        response: a command that goes to the receiver, or what a sub-agent's tool returned.
        state: of the sender, where missing parameters are looked for.

    Returns:
        the response, completed; or a message that asks the sender for what is missing (once a turn and receiver).
    """
    runtime, turn = record.runtime, record.turn
    if record.tool == SUBAGENT_TOOL:
        receiver = str(record.arguments.get("subagent_type", ""))
        missing = _missing(runtime, receiver, [record.arguments], [])
        publish(runtime, turn, record, receiver, missing)
        return response
    receiver = receiver_of(response)
    missing = missing_from_command(runtime, receiver, response, state, record.arguments)
    supplied: dict[str, Any] = {}
    policy = runtime.policy
    if missing and policy is not None and policy.supply:
        supplied = _found(record, receiver, missing, state)
        lacking = tuple(name for name in missing if name not in supplied)
        if lacking and not policy.dry_run and receiver not in turn.supply_asked:
            turn.supply_asked.add(receiver)
            record.taken("supply", target=record.agent, reason=f"missing {', '.join(lacking)}")
            return _ask_sender(record, receiver, lacking)
        if supplied:
            record.taken("supply", target=receiver, reason=f"missing {', '.join(supplied)}", dry_run=policy.dry_run)
        if not policy.dry_run:
            missing = lacking
            response = _with_supplied(response, supplied)
        else:
            supplied = {}
    publish(runtime, turn, record, receiver, missing, tuple(supplied))
    return response


def publish(
    runtime: Runtime, turn: OpenTurn, record: CallRecord | None, receiver: str, missing: Sequence[str],
    supplied: Sequence[str] = (), *, sender: str = "",
) -> None:  # fmt: skip
    """Count one handoff."""
    now = runtime.clock()
    parent = record.handle if record is not None else turn.handle
    handle = runtime.tracing.open("handoff", receiver, now, parent)
    turn.handing_over.add(receiver)
    sender = sender or (record.agent if record is not None else turn.agent)
    event = Handoff(
        **turn.where(),
        time=now,
        id=handle.id,
        parent=parent.id,
        agent=sender,
        status="handoff",
        sender=sender,
        receiver=receiver,
        missing=tuple(missing),
        supplied=tuple(supplied),
        call_id=record.call_id if record is not None else "",
    )
    runtime.publish(event, handle)


def missing_from_command(
    runtime: Runtime, receiver: str, command: Command[Any], state: Any, arguments: Mapping[str, Any] | None = None
) -> tuple[str, ...]:
    """What the receiver's contract requires and a command does not give.

    Args:
        state: of the sender; within one graph the receiver reads it, too, merged with the update.
        arguments: of the handoff's tool call, if one made it.
    """
    given, messages = passed_by(command)
    shared = messages_in(state) if command.graph is None else []
    return _missing(runtime, receiver, [arguments or {}, *given], said([*shared, *messages]))


def _missing(runtime: Runtime, receiver: str, given: Sequence[Mapping[str, Any]], history: Sequence[Said]) -> tuple[str, ...]:
    contract = runtime.handoffs.get(receiver)
    return () if contract is None else missing_from_handoff(contract, given, history)


def _found(record: CallRecord, receiver: str, missing: Sequence[str], state: Any) -> dict[str, Any]:
    """Missing parameters that the session's shared facts or the sender's own history hold."""
    schemas = record.runtime.handoffs[receiver].parameters
    history = said(messages_in(state))
    facts = record.turn.session.facts
    found = {n: find_parameter(n, schemas[n], [facts], history) for n in missing if n in schemas}
    return {name: value for name, value in found.items() if value is not None}


def _ask_sender(record: CallRecord, receiver: str, lacking: Sequence[str]) -> ToolMessage:
    text = (
        f"[agent_reach: `{receiver}` was not started, since the handoff lacks {', '.join(lacking)}. "
        "Find what is missing, say it in the handoff or in your message, and hand over again.]"
    )
    return ToolMessage(text, name=record.tool, tool_call_id=record.call_id, status="error")


def _with_supplied(command: Command[Any], supplied: Mapping[str, Any]) -> Command[Any]:
    """The command, with the supplied parameters told in its last tool message and set in its state."""
    if not supplied:
        return command
    note = f"\n\n[agent_reach: supplied {json.dumps(dict(supplied), ensure_ascii=False, default=str)}]"
    goto = command.goto if isinstance(command.goto, list | tuple) else [command.goto]
    sends = [Send(t.node, _told(t.arg, note)) if isinstance(t, Send) else t for t in goto]
    update = _told(command.update, note) if isinstance(command.update, dict) else command.update
    return replace(command, goto=sends if isinstance(command.goto, list | tuple) else command.goto, update=update)


def _told(state: Any, note: str) -> Any:
    if not isinstance(state, Mapping) or not isinstance(state.get("messages"), list):
        return state
    messages: list[BaseMessage] = list(state["messages"])
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, ToolMessage) and isinstance(message.content, str):
            messages[index] = message.model_copy(update={"content": message.content + note})
            break
    return {**state, "messages": messages}


def handoff_tool(contract: HandoffContract, *, name: str | None = None, description: str | None = None) -> BaseTool:
    """A handoff tool whose arguments are what the receiver requires, for langgraph-supervisor, langgraph-swarm or any graph.

    The goal, the parameters and the conclusions go to the receiver as a tool message after the sender's history. What the model
    leaves out is no error here: the handoff is judged, and supplied where a policy allows it.

    Raises:
        ContractError: the contract names no receiver.
    """
    receiver = contract.receiver
    if not receiver:
        raise ContractError("receiver", "the name of the agent that receives", receiver)
    tool_name = name or f"transfer_to_{receiver.replace(' ', '_')}"

    def hand_over(runtime: ToolRuntime, **told: Any) -> Command[Any]:
        text = f"Handed over to {receiver}: {json.dumps(told, ensure_ascii=False, default=str)}"
        message = ToolMessage(text, name=tool_name, tool_call_id=runtime.tool_call_id or "")
        update = {"messages": [*messages_in(runtime.state), message], "active_agent": receiver}
        return Command(goto=receiver, graph=Command.PARENT, update=update)

    hand_over.__annotations__["runtime"] = ToolRuntime  # LangGraph looks at the type, not at its name
    return StructuredTool(
        name=tool_name,
        description=description or contract.description or f"Hand the task over to {receiver}.",
        func=hand_over,
        args_schema=_arguments_schema(contract),
        metadata={HANDOFF_KEY: receiver},
    )


def _arguments_schema(contract: HandoffContract) -> dict[str, Any]:
    """What the model is asked for, as JSON Schema."""
    properties: dict[str, Any] = {"goal": {"type": "string", "description": "What is wanted."}} if contract.goal else {}
    properties |= {name: {"description": name, **schema} for name, schema in contract.parameters.items()}
    if contract.conclusions:
        properties["conclusions"] = {"type": "string", "description": "What was found so far."}
    return {"title": "HandOver", "type": "object", "properties": properties, "required": list(properties)}
