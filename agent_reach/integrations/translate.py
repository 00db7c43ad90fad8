"""LangChain messages, commands and configurations as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.types import Command, Send

from agent_reach.checks import Said

HANDOFF_KEY = "__handoff_destination"
"""Metadata by which the tools of langgraph-supervisor and langgraph-swarm name their receiver."""
OWN_NAME = "agent_reach"
"""Name of messages that a gate sends to the model in the user's place."""
SUBAGENT_TOOL = "task"
"""The tool by which deepagents calls a sub-agent; its argument `subagent_type` names it."""


def text_of(message: BaseMessage | Any) -> str:
    """The text of a message, without its other content blocks."""
    content = getattr(message, "content", message)
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(b if isinstance(b, str) else str(b.get("text", "")) for b in content if isinstance(b, str | dict))
    return ""


def raw_messages(value: Any, key: str = "messages") -> Sequence[Any]:
    """What a state holds under `messages`, as it stands."""
    found = value.get(key) if isinstance(value, dict) else getattr(value, key, value)
    return found if isinstance(found, list | tuple) else ()


def messages_in(value: Any, key: str = "messages") -> list[BaseMessage]:
    """Messages of a state, an input or an output: a list, a mapping or an object with `messages`."""
    found = value.get(key) if isinstance(value, dict) else getattr(value, key, value)
    if isinstance(found, BaseMessage):
        return [found]
    return [m for m in found if isinstance(m, BaseMessage)] if isinstance(found, list | tuple) else []


def user_text(inputs: Any) -> str:
    """The newest user message in a root run's input, whatever its shape; `""` when there is none."""
    if isinstance(inputs, str):
        return inputs
    if isinstance(inputs, HumanMessage):
        return text_of(inputs)
    raw = inputs.get("messages") if isinstance(inputs, Mapping) else getattr(inputs, "messages", inputs)
    if isinstance(raw, list | tuple):
        return _newest_user_text(raw)
    if isinstance(inputs, Mapping):
        named = [inputs.get(key) for key in ("input", "question", "query", "user_input", "text")]
        return next((user_text(v) for v in named if isinstance(v, str | HumanMessage | list) and v), "")
    return ""


def _newest_user_text(messages: Sequence[Any]) -> str:
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            if message.name == OWN_NAME:
                continue
            return text_of(message)
        if isinstance(message, tuple) and len(message) == 2 and message[0] in ("user", "human"):
            return str(message[1])
        if isinstance(message, dict) and message.get("role", message.get("type")) in ("user", "human"):
            return text_of(message.get("content", ""))
        if isinstance(message, str):
            return message
    return ""


def human_turns(messages: Iterable[BaseMessage]) -> int:
    """How many messages the user wrote."""
    return sum(isinstance(m, HumanMessage) and m.name != OWN_NAME for m in messages)


def said(messages: Iterable[BaseMessage]) -> list[Said]:
    """A history as the handoff check reads it."""
    roles = {HumanMessage: "user", AIMessage: "assistant", ToolMessage: "tool"}
    history: list[Said] = []
    for message in messages:
        role = next((name for cls, name in roles.items() if isinstance(message, cls)), "")
        if role:
            calls = getattr(message, "tool_calls", None) or []
            values = {k: v for call in calls if isinstance(call.get("args"), dict) for k, v in call["args"].items()}
            history.append(Said(role, text_of(message), values))
    return history


def receiver_of(command: Command[Any]) -> str:
    """Who a command sends to, `""` when it goes nowhere."""
    goto = command.goto if isinstance(command.goto, list | tuple) else [command.goto]
    for target in goto:
        if isinstance(target, Send):
            return target.node
        if isinstance(target, str) and target:
            return target
    return ""


def passed_by(command: Command[Any]) -> tuple[list[Mapping[str, Any]], list[BaseMessage]]:
    """State that a command hands over, and the messages in it."""
    goto = command.goto if isinstance(command.goto, list | tuple) else [command.goto]
    states = [target.arg for target in goto if isinstance(target, Send)]
    states += [command.update] if command.update else []
    mappings = [s for s in states if isinstance(s, Mapping)]
    messages = [m for s in states for m in messages_in(s)]
    return [{k: v for k, v in s.items() if k != "messages"} for s in mappings], messages


def prompt_hash(messages: Sequence[BaseMessage]) -> str:
    """Hash of the system messages, 16 hex digits; `""` without one."""
    texts = [text_of(m) for m in messages if isinstance(m, SystemMessage)]
    return blake2b("\x1e".join(texts).encode("utf-8", "replace"), digest_size=8).hexdigest() if texts else ""


def agent_in(metadata: Mapping[str, Any]) -> str:
    """The agent that a run's metadata names: `create_agent`'s own name, else the node of the enclosing graph."""
    name = metadata.get("lc_agent_name")
    if isinstance(name, str) and name:
        return name
    namespace = metadata.get("langgraph_checkpoint_ns")
    if isinstance(namespace, str) and "|" in namespace:
        return namespace.split("|")[-2].split(":", 1)[0]
    return ""


def session_in(metadata: Mapping[str, Any], configurable: Mapping[str, Any]) -> str:
    """The session that a run's configuration names, `""` when none does."""
    for source, key in (
        (metadata, "thread_id"),
        (configurable, "thread_id"),
        (metadata, "session_id"),
        (metadata, "conversation_id"),
        (configurable, "session_id"),
        (configurable, "conversation_id"),
    ):
        value = source.get(key)
        if value:
            return str(value)
    return ""
