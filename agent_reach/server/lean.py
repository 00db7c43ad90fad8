"""The few fields of an OTLP request that are looked at before it is kept; all others pass through as the bytes they are.

To parse a request of the SDK in full takes ten times as long, and holds the interpreter meanwhile.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE: Final = "agent_reach.lean"
_FIELD = descriptor_pb2.FieldDescriptorProto
_BYTES, _TEXT, _FIXED, _MESSAGE = _FIELD.TYPE_BYTES, _FIELD.TYPE_STRING, _FIELD.TYPE_FIXED64, _FIELD.TYPE_MESSAGE

_MESSAGES: Final[dict[str, list[tuple[str, int, Any, str]]]] = {
    "Span": [("trace_id", 1, _BYTES, ""), ("span_id", 2, _BYTES, ""), ("start_time_unix_nano", 7, _FIXED, "")],
    "Scope": [("name", 1, _TEXT, "")],
    "ScopeSpans": [("scope", 1, _MESSAGE, "Scope"), ("spans", 2, _MESSAGE, "Span")],
    "ResourceSpans": [("scope_spans", 2, _MESSAGE, "ScopeSpans")],
    "Request": [("resource_spans", 1, _MESSAGE, "ResourceSpans")],
}
"""Of each message its fields: name, number and type as in OTLP, and of which message."""


def _request_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="agent_reach/lean.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, of in fields:
            label = _FIELD.LABEL_REPEATED if field.endswith("spans") else _FIELD.LABEL_OPTIONAL
            added = message.field.add(name=field, number=number, type=kind, label=label)
            if of:
                added.type_name = f".{_PACKAGE}.{of}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.Request"))


LeanRequest: Final = _request_class()
"""Parses what `ExportTraceServiceRequest` does, with the fields above; serialised again it holds everything."""
