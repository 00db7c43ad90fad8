"""OTLP requests: refuse what is none, drop what no store could hold, keep the rest as protobuf bytes."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from agent_reach.errors import RequestError
from agent_reach.server.lean import LeanRequest
from agent_reach.store.otlp import NESTING

MAX_BYTES: Final = 64 << 20
"""Of one request, after decompression."""

_OURS: Final = "agent_reach"
_IDS: Final = frozenset({"traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id"})
_MAX_JSON_DEPTH: Final = 60


@dataclass(frozen=True, slots=True)
class Accepted:
    """What is kept of a request.

    Attributes:
        body: the request in protobuf, empty when nothing is left.
        spans: how many are kept.
        rejected: how many were dropped, and `reason` why.
    """

    body: bytes
    spans: int
    rejected: int = 0
    reason: str = ""


def inflate(body: bytes, encoding: str) -> bytes:
    """Undo the content encoding.

    Raises:
        RequestError: 415 for an unknown encoding, 413 for too much, 400 for what is no gzip.
    """
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "deflate"):
        raise RequestError(415, f"content-encoding {encoding!r} is not read; use gzip or none")
    inflater = zlib.decompressobj(wbits=47)
    try:
        whole = inflater.decompress(body, MAX_BYTES + 1)
    except zlib.error as error:
        raise RequestError(400, f"the body is no {encoding}: {error}") from error
    if len(whole) > MAX_BYTES:
        raise RequestError(413, f"over {MAX_BYTES >> 20} MB after decompression; send smaller batches")
    if not inflater.eof:
        raise RequestError(400, f"the {encoding} body ends too early")
    return whole


def read_traces(body: bytes, *, is_json: bool = False, oldest: int = 0) -> Accepted:
    """Parse and check an `ExportTraceServiceRequest`.

    Args:
        body: the message.
        is_json: it is in OTLP's JSON.
        oldest: spans that began before are out of retention; nanoseconds since 1970.

    Raises:
        RequestError: 400, it is no such message.
    """
    request = _from_json(body) if is_json else _from_protobuf(body)
    rejected, reasons, changed = 0, set[str](), is_json
    kept = 0
    for resource_spans in request.resource_spans:
        for scope_spans in resource_spans.scope_spans:
            wrong = [(i, fault) for i, span in enumerate(scope_spans.spans) if (fault := _fault(span, oldest))]
            for i, fault in reversed(wrong):
                del scope_spans.spans[i]
                reasons.add(fault)
            rejected += len(wrong)
            kept += len(scope_spans.spans)
            if scope_spans.scope.name != _OURS:
                changed = _flatten_deep(scope_spans.spans) or changed
    changed = changed or bool(rejected)
    reason = f"{rejected} spans rejected: {'; '.join(sorted(reasons))}" if rejected else ""
    return Accepted(request.SerializeToString() if changed else body, kept, rejected, reason)


def _from_protobuf(body: bytes) -> Any:
    """The request; in full only where something in it may have to be changed."""
    try:
        lean = LeanRequest.FromString(body)
        if {scope.scope.name for resource in lean.resource_spans for scope in resource.scope_spans} == {_OURS}:
            return lean
        return ExportTraceServiceRequest.FromString(body)
    except DecodeError as error:
        raise RequestError(400, "the body is no ExportTraceServiceRequest in protobuf") from error


def is_readable(body: bytes) -> bool:
    """All of a kept request can be parsed."""
    try:
        ExportTraceServiceRequest.FromString(body)
    except DecodeError:
        return False
    return True


_NO_TRACE, _NO_SPAN = bytes(16), bytes(8)


def _fault(span: Any, oldest: int) -> str:
    """Why a span cannot be stored, `""` when it can."""
    trace, id, begun = span.trace_id, span.span_id, span.start_time_unix_nano
    if len(trace) != 16 or trace == _NO_TRACE:
        return "trace_id must be 16 bytes, not all zero"
    if len(id) != 8 or id == _NO_SPAN:
        return "span_id must be 8 bytes, not all zero"
    if begun == 0:
        return "start_time_unix_nano is missing"
    if begun < oldest:
        return "the span is older than what is kept"
    return ""


# values that nest deeper than the store reads ------------------------------------------------------------------------


def _flatten_deep(spans: Iterable[Any]) -> bool:
    """Turn attribute values that nest too deep into JSON text; says whether there were any."""
    found = False
    for span in spans:
        for attributes in (span.attributes, *(event.attributes for event in span.events)):
            for pair in attributes:
                value = pair.value
                if (value.HasField("array_value") or value.HasField("kvlist_value")) and _depth(value) > NESTING:
                    value.string_value = json.dumps(_plain(value), ensure_ascii=False)
                    found = True
    return found


def _depth(value: Any) -> int:
    if value.HasField("array_value"):
        return 1 + max((_depth(item) for item in value.array_value.values), default=0)
    if value.HasField("kvlist_value"):
        return 1 + max((_depth(item.value) for item in value.kvlist_value.values), default=0)
    return 0


def _plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_plain(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return {item.key: _plain(item.value) for item in value.kvlist_value.values}
    if kind == "bytes_value":
        return base64.b64encode(value.bytes_value).decode()
    return None if kind is None else getattr(value, kind)


# JSON -----------------------------------------------------------------------------------------------------------------


def _from_json(body: bytes) -> ExportTraceServiceRequest:
    """OTLP's JSON: ids are hexadecimal, not base64, and unknown fields are passed over."""
    try:
        document = json.loads(body)
        if not isinstance(document, dict):
            raise ValueError("expected an object")
        request = ExportTraceServiceRequest()
        ParseDict(_with_base64_ids(document, 0), request, ignore_unknown_fields=True)
        return request
    except (ValueError, ParseError, RecursionError) as error:
        text = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise RequestError(400, f"the body is no ExportTraceServiceRequest in JSON: {text}") from error


def _with_base64_ids(value: Any, depth: int) -> Any:
    if depth > _MAX_JSON_DEPTH:
        raise ValueError(f"nested deeper than {_MAX_JSON_DEPTH} levels")
    if isinstance(value, list):
        return [_with_base64_ids(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {
            key: _base64(item) if key in _IDS and isinstance(item, str) else _with_base64_ids(item, depth + 1)
            for key, item in value.items()
        }
    return value


def _base64(hexadecimal: str) -> str:
    try:
        return base64.b64encode(binascii.unhexlify(hexadecimal)).decode()
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"an id is not hexadecimal: {hexadecimal[:40]!r}") from error
