"""Messages of many dialects as one plain form.

Read are OpenAI's chat messages (with `tool_calls` or the older `function_call`), Anthropic's content blocks, and LangChain's
dumps (`messages_to_dict`, `model_dump`, `dumpd`).
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agent_reach.errors import ReachError

_ROLES: Final = {
    "human": "user", "user": "user", "ai": "assistant", "assistant": "assistant", "tool": "tool", "function": "tool",
    "system": "system", "developer": "system", "HumanMessage": "user", "AIMessage": "assistant", "AIMessageChunk": "assistant",
    "ToolMessage": "tool", "FunctionMessage": "tool", "SystemMessage": "system", "HumanMessageChunk": "user",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that a model asked for; `id` is `""` where the recording has none."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Attributes:
        role: `user`, `assistant`, `tool` or `system`; any other speaker counts as an assistant.
        text: its text.
        calls: tool calls that it asks for.
        content: of a tool message, as it stands.
        call_id, name: the call that a tool message answers.
        failed: it says that the call failed.
    """

    role: str
    text: str
    calls: tuple[Call, ...] = ()
    content: Any = None
    call_id: str = ""
    name: str = ""
    failed: bool = False


class MessageError(ReachError):
    """A message cannot be read."""

    def __init__(self, key: str, expected: str) -> None:
        self.key, self.expected = key, expected
        super().__init__(f"{key}: expected {expected}")


def read_message(raw: Any) -> list[Message]:
    """The message, or several where one holds a number of tool results.

    Raises:
        MessageError: it is none; names the key.
    """
    if not isinstance(raw, Mapping):
        raise MessageError("message", f"an object with a role, found {type(raw).__name__}")
    values = _flat(raw)
    role = _role(values)
    content = values.get("content")
    results = list(_tool_results(content))
    text = text_in(content)
    if role == "tool":
        return [_tool_message(values, content)]
    message = Message(role, text, tuple(_calls(values, content)))
    return [*results, message] if text or message.calls or not results else results


def _flat(raw: Mapping[str, Any]) -> dict[str, Any]:
    """LangChain's wrappings taken off: `{"type": "ai", "data": {…}}` and `{"lc": 1, "id": […], "kwargs": {…}}`."""
    if isinstance(raw.get("data"), Mapping) and "type" in raw:
        return {**raw["data"], "type": raw["type"]}
    if "lc" in raw and isinstance(raw.get("kwargs"), Mapping):
        return {**raw["kwargs"], "type": raw["id"][-1] if raw.get("id") else ""}
    return dict(raw)


def _role(values: Mapping[str, Any]) -> str:
    role = values.get("role") or values.get("type") or values.get("name")
    if not isinstance(role, str):
        raise MessageError("role", "a text such as user, assistant or tool")
    return _ROLES.get(role, "assistant")


def text_in(content: Any) -> str:
    """The text of a content: itself, or of its text blocks."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(b if isinstance(b, str) else str(b.get("text") or "") for b in content if isinstance(b, str | Mapping))
    return "" if content is None else json.dumps(content, default=str)


def _tool_message(values: Mapping[str, Any], content: Any) -> Message:
    artifact = values.get("artifact")
    return Message(
        "tool",
        text_in(content),
        content=content if artifact is None else artifact,
        call_id=str(values.get("tool_call_id") or ""),
        name=str(values.get("name") or ""),
        failed=values.get("status") == "error",
    )


def _tool_results(content: Any) -> Iterable[Message]:
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping) and block.get("type") == "tool_result":
            inner = block.get("content")
            yield Message(
                "tool",
                text_in(inner),
                content=inner,
                call_id=str(block.get("tool_use_id") or ""),
                failed=bool(block.get("is_error")),
            )


def _calls(values: Mapping[str, Any], content: Any) -> Iterable[Call]:
    listed = values.get("tool_calls") or []
    if not isinstance(listed, list):
        raise MessageError("tool_calls", f"a list, found {type(listed).__name__}")
    for index, raw in enumerate(listed):
        yield _call(raw, f"tool_calls[{index}]")
    if isinstance(values.get("function_call"), Mapping):
        yield _call({"function": values["function_call"]}, "function_call")
    for block in content if isinstance(content, list) and not listed else ():
        if isinstance(block, Mapping) and block.get("type") == "tool_use":
            yield Call(str(block.get("id") or ""), str(block.get("name") or ""), read_arguments(block.get("input")))


def _call(raw: Any, key: str) -> Call:
    if not isinstance(raw, Mapping):
        raise MessageError(key, "an object with a function")
    function = raw.get("function") if isinstance(raw.get("function"), Mapping) else raw
    assert isinstance(function, Mapping)
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise MessageError(f"{key}.name", "the name of a tool")
    arguments = function.get("arguments", function.get("args"))
    return Call(str(raw.get("id") or ""), name, read_arguments(arguments))


def read_arguments(raw: Any) -> dict[str, Any]:
    """Arguments as JSON text, a Python literal or an object; anything else stands under `input`."""
    if isinstance(raw, Mapping):
        return dict(raw)
    if isinstance(raw, str):
        for read in (json.loads, ast.literal_eval):
            try:
                value = read(raw)
            except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
                continue
            return value if isinstance(value, dict) else {"input": value}
    return {} if raw is None or raw == "" else {"input": raw}
