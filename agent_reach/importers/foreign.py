"""Spans of other instrumentations in one plain form.

Read are OpenInference, the official GenAI instrumentation, traceloop (OpenLLMetry) and LangSmith's OpenTelemetry export. What they
do not capture cannot be judged: with content capture off, a result that came back without an error counts as usable.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from agent_reach.importers.messages import Message, MessageError, read_arguments, read_message

Kind = Literal["tool", "retrieval", "agent", "other"]


@dataclass(frozen=True, slots=True)
class ForeignSpan:
    """A span as the store holds it.

    Attributes:
        id, parent, trace: hexadecimal.
        time, duration: nanoseconds.
        status: `Unset`, `Ok` or `Error`.
        message: of the status.
        attributes: all values as text.
    """

    id: str
    parent: str
    trace: str
    name: str
    time: int
    duration: int
    status: str
    message: str
    attributes: Mapping[str, str]
    events: Sequence[tuple[str, Mapping[str, str]]] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """What a foreign span says.

    Attributes:
        kind: what it is about.
        name: of the tool, source or agent.
        call_id, arguments: of a tool call.
        answer: the tool's answer, None when it was not captured.
        error: text of an exception, `""` when there was none.
        query, documents: of a retrieval; None when it was not captured.
        session, agent: `""` where the span does not say.
        messages: what went in, and what came out, of an agent.
    """

    kind: Kind
    name: str
    session: str
    agent: str
    error: str = ""
    call_id: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    answer: Message | None = None
    query: str = ""
    documents: tuple[str, ...] | None = None
    asked: tuple[Message, ...] = ()
    messages: tuple[Message, ...] = ()


_KINDS: Final[dict[str, Kind]] = {
    "tool": "tool",
    "execute_tool": "tool",
    "retriever": "retrieval",
    "retrieval": "retrieval",
    "vector_db_retrieve": "retrieval",
    "agent": "agent",
    "invoke_agent": "agent",
    "workflow": "agent",
}
_KIND_KEYS: Final = ("openinference.span.kind", "langsmith.span.kind", "gen_ai.operation.name", "traceloop.span.kind")
_SESSION_KEYS: Final = ("thread_id", "session_id", "conversation_id")
_PREFIXES: Final = ("traceloop.association.properties.", "langsmith.metadata.")
_INPUTS: Final = ("gen_ai.tool.call.arguments", "input.value", "traceloop.entity.input", "gen_ai.prompt", "gen_ai.input.messages")
_OUTPUTS: Final = (
    "gen_ai.tool.call.result",
    "output.value",
    "traceloop.entity.output",
    "gen_ai.completion",
    "gen_ai.output.messages",
)
_WRAPPINGS: Final = ("output", "outputs", "inputs", "input")
_MAX_NESTING: Final = 6


def read_span(span: ForeignSpan) -> Seen:
    """What the span is about, whatever instrumentation made it."""
    kind = _kind(span)
    metadata = _metadata(span.attributes)
    session = _first(span.attributes, ("session.id", "gen_ai.conversation.id")) or _first(metadata, _SESSION_KEYS)
    agent = _first(span.attributes, ("gen_ai.agent.name",)) or _first(metadata, ("lc_agent_name",))
    error = (span.message or _exception(span) or "error") if span.status == "Error" else ""
    if kind == "tool":
        return _tool(span, session, agent, error)
    if kind == "retrieval":
        return _retrieval(span, session, agent, error)
    came_in, came_out = _value(span.attributes, _INPUTS), _value(span.attributes, _OUTPUTS)
    return Seen(
        kind, agent or span.name, session, agent, error, asked=tuple(_messages(came_in)), messages=tuple(_messages(came_out))
    )


def _kind(span: ForeignSpan) -> Kind:
    for key in _KIND_KEYS:
        found = _KINDS.get(span.attributes.get(key, "").lower())
        if found is not None:
            return found
    return "other"


def _tool(span: ForeignSpan, session: str, agent: str, error: str) -> Seen:
    attributes = span.attributes
    came_in, came_out = _value(attributes, _INPUTS), _value(attributes, _OUTPUTS)
    answer = _answer(came_out)
    call_id = attributes.get("gen_ai.tool.call.id") or (answer.call_id if answer else "")
    name = _first(attributes, ("gen_ai.tool.name", "tool.name", "traceloop.entity.name")) or span.name
    return Seen("tool", name, session, agent, error, call_id, _arguments(came_in), answer)


def _arguments(value: Any) -> Mapping[str, Any]:
    """Of a call; traceloop keeps the callback's own record of it, in which the arguments stand under `inputs`."""
    if isinstance(value, Mapping) and "input_str" in value:
        inner = value.get("inputs")
        return inner if isinstance(inner, Mapping) else read_arguments(value["input_str"])
    return read_arguments(value)


def _answer(value: Any) -> Message | None:
    """A tool message, or what the tool returned in the form of one."""
    if value is None:
        return None
    value = _unwrapped(value)
    if isinstance(value, Mapping) and _is_message(value):
        try:
            return read_message(value)[0]
        except MessageError:
            pass
    return Message("tool", value if isinstance(value, str) else json.dumps(value, default=str), content=value)


def _retrieval(span: ForeignSpan, session: str, agent: str, error: str) -> Seen:
    attributes = span.attributes
    came_in, came_out = _value(attributes, _INPUTS), _value(attributes, _OUTPUTS)
    name = _first(attributes, ("gen_ai.data_source.id", "traceloop.entity.name")) or span.name.removeprefix("vector_db_retrieve ")
    query = attributes.get("gen_ai.retrieval.query.text", "") or _query(came_in)
    documents = came_out.get("documents") if isinstance(came_out, Mapping) else came_out if isinstance(came_out, list) else None
    if documents is None and any(key.startswith("retrieval.documents.") for key in attributes):
        documents = [value for key, value in sorted(attributes.items()) if key.endswith(".document.content")]
    texts = None if documents is None else tuple(_document(item) for item in documents)
    return Seen("retrieval", name, session, agent, error, query=query, documents=texts)


def _query(value: Any) -> str:
    if isinstance(value, Mapping):
        value = value.get("query") or value.get("input_str") or value.get("input") or ""
    return value if isinstance(value, str) else ""


def _document(item: Any) -> str:
    if isinstance(item, Mapping):
        inner = item.get("kwargs") if isinstance(item.get("kwargs"), Mapping) else item
        assert isinstance(inner, Mapping)
        return str(inner.get("page_content") or inner.get("content") or "")
    return str(item)


# values that are JSON texts ------------------------------------------------------------------------------------------


def _value(attributes: Mapping[str, str], keys: Iterable[str]) -> Any:
    """The first of the attributes that is there, parsed when it is JSON."""
    for key in keys:
        text = attributes.get(key)
        if text is not None:
            try:
                return json.loads(text)
            except (ValueError, RecursionError):
                return text
    return None


def _unwrapped(value: Any) -> Any:
    for _ in range(_MAX_NESTING):
        inner = next((value[key] for key in _WRAPPINGS if isinstance(value, Mapping) and key in value), None)
        if inner is None or not isinstance(value, Mapping) or _is_message(value):
            return value
        if set(value) - {*_WRAPPINGS, "kwargs", "tags", "metadata"}:
            return value
        value = inner
    return value


def _is_message(value: Mapping[str, Any]) -> bool:
    inner = value.get("data") or value.get("kwargs") or value
    return isinstance(inner, Mapping) and ("tool_call_id" in inner or ("content" in inner and ("role" in inner or "type" in inner)))


def _messages(value: Any, depth: int = 0) -> list[Message]:
    """The first list of messages that the value holds."""
    if depth > _MAX_NESTING:
        return []
    if isinstance(value, list):
        return [message for item in value for message in _one_message(item)]
    if isinstance(value, Mapping):
        for key in ("messages", *_WRAPPINGS):
            if key in value and (found := _messages(value[key], depth + 1)):
                return found
    return []


def _one_message(item: Any) -> list[Message]:
    if not isinstance(item, Mapping):
        return []
    if isinstance(item.get("parts"), list):
        item = _from_parts(item)
    try:
        return read_message(item)
    except MessageError:
        return []


def _from_parts(item: Mapping[str, Any]) -> dict[str, Any]:
    """A message of the GenAI conventions: a role and typed parts."""
    parts = [part for part in item["parts"] if isinstance(part, Mapping)]
    text = "".join(str(part.get("content") or "") for part in parts if part.get("type") == "text")
    calls = [
        {"id": part.get("id"), "name": part.get("name"), "args": part.get("arguments")}
        for part in parts
        if part.get("type") == "tool_call" and part.get("name")
    ]
    return {"role": item.get("role", ""), "content": text, "tool_calls": calls}


def _metadata(attributes: Mapping[str, str]) -> dict[str, str]:
    """What LangGraph's configuration said, wherever the instrumentation put it."""
    found = {key.removeprefix(prefix): value for key, value in attributes.items() for prefix in _PREFIXES if key.startswith(prefix)}
    text = attributes.get("metadata", "")
    if text.startswith("{"):
        try:
            inner = json.loads(text)
        except ValueError:
            inner = {}
        found |= {key: value for key, value in inner.items() if isinstance(value, str)}
    return found


def _first(values: Mapping[str, str], keys: Iterable[str]) -> str:
    return next((values[key] for key in keys if values.get(key)), "")


def _exception(span: ForeignSpan) -> str:
    for name, attributes in span.events:
        if name == "exception":
            return attributes.get("exception.message", "") or attributes.get("exception.type", "")
    return ""
