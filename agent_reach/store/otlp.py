"""OTLP protobuf to rows of `otel_traces`, inside ClickHouse: that Python never touches an attribute is what makes it fast.

A segment is a file of `ExportTraceServiceRequest` messages, each after its length (a varint).
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

NESTING: Final = 1
"""Levels of arrays and maps in an attribute that are read here; deeper ones arrive as JSON text already."""

_YEAR_2100: Final = 4_102_444_800_000_000_000
"""Nanoseconds; later times, from broken clocks, are cut to it, since ClickHouse's short dates end soon after."""

COLUMNS: Final = (
    "Timestamp", "TraceId", "SpanId", "ParentSpanId", "TraceState", "SpanName", "SpanKind", "ServiceName", "ResourceAttributes",
    "ScopeName", "ScopeVersion", "SpanAttributes", "Duration", "StatusCode", "StatusMessage", "Events.Timestamp", "Events.Name",
    "Events.Attributes", "Links.TraceId", "Links.SpanId", "Links.TraceState", "Links.Attributes",
)  # fmt: skip


def format_schema() -> str:
    """Path of the protobuf schema and its message, as ClickHouse takes them."""
    return f"{files('agent_reach.store') / 'sql' / 'otlp.proto'}:Traces"


def select_spans(segment: Path) -> str:
    """A SELECT of rows for `otel_traces` from a segment file, whose name `claim` has found to be harmless."""
    return _select().replace("{segment}", f"'{segment.absolute()}'")


@cache
def _select() -> str:
    time, end = _time("s.start_time_unix_nano"), "least(s.end_time_unix_nano, 9223372036854775807)"
    return f"""
SELECT
    {time} AS `Timestamp`,
    lower(hex(s.trace_id)) AS `TraceId`,
    lower(hex(s.span_id)) AS `SpanId`,
    lower(hex(s.parent_span_id)) AS `ParentSpanId`,
    s.trace_state AS `TraceState`,
    s.name AS `SpanName`,
    transform(s.kind, [1, 2, 3, 4, 5], ['Internal', 'Server', 'Client', 'Producer', 'Consumer'], 'Unspecified') AS `SpanKind`,
    resource['service.name'] AS `ServiceName`,
    resource AS `ResourceAttributes`,
    scope.name AS `ScopeName`,
    scope.version AS `ScopeVersion`,
    {_map("s.attributes")} AS `SpanAttributes`,
    if(s.end_time_unix_nano > s.start_time_unix_nano, {end} - least(s.start_time_unix_nano, {end}), 0) AS `Duration`,
    transform(s.status.code, [1, 2], ['Ok', 'Error'], 'Unset') AS `StatusCode`,
    s.status.message AS `StatusMessage`,
    arrayMap(e -> {_time("e.time_unix_nano")}, s.events) AS `Events.Timestamp`,
    arrayMap(e -> e.name, s.events) AS `Events.Name`,
    arrayMap(e -> {_map("e.attributes")}, s.events) AS `Events.Attributes`,
    arrayMap(l -> lower(hex(l.trace_id)), s.links) AS `Links.TraceId`,
    arrayMap(l -> lower(hex(l.span_id)), s.links) AS `Links.SpanId`,
    arrayMap(l -> l.trace_state, s.links) AS `Links.TraceState`,
    arrayMap(l -> {_map("l.attributes")}, s.links) AS `Links.Attributes`
FROM (
    SELECT resource, scope_spans.scope AS scope, arrayJoin(scope_spans.spans) AS s
    FROM (
        SELECT {_map("resource_span.resource.attributes")} AS resource, arrayJoin(resource_span.scope_spans) AS scope_spans
        FROM (SELECT arrayJoin(resource_spans) AS resource_span FROM file({{segment}}, 'Protobuf', '{_structure()}'))
    )
)"""


def _time(nanoseconds: str) -> str:
    return f"fromUnixTimestamp64Nano(toInt64(least({nanoseconds}, {_YEAR_2100})))"


def _map(attributes: str) -> str:
    return f"mapFromArrays({attributes}.key, arrayMap(v -> {_text('v', NESTING)}, {attributes}.value))"


def _text(value: str, nesting: int) -> str:
    """An attribute value as the Collector writes it: text as it is, all else as JSON."""
    scalars = f"{value}.string_value, toString({value}.int_value), toString({value}.bool_value), toString({value}.double_value)"
    return f"coalesce({scalars}, base64Encode({value}.bytes_value), {_array(value, nesting, 0)}, {_object(value, nesting, 0)}, '')"


def _json(value: str, nesting: int, depth: int) -> str:
    text = f"if(isNull({value}.string_value), NULL, toJSONString(assumeNotNull({value}.string_value)))"
    scalars = f"{text}, toString({value}.int_value), toString({value}.bool_value), toString({value}.double_value)"
    encoded = f"concat('\"', base64Encode({value}.bytes_value), '\"')"
    if not nesting:
        return f"coalesce({scalars}, {encoded}, 'null')"
    return f"coalesce({scalars}, {encoded}, {_array(value, nesting, depth)}, {_object(value, nesting, depth)}, 'null')"


def _array(value: str, nesting: int, depth: int) -> str:
    items, item = f"{value}.array_value.values", f"i{depth}"
    joined = f"arrayStringConcat(arrayMap({item} -> {_json(item, nesting - 1, depth + 1)}, {items}), ',')"
    return f"if(empty({items}), NULL, concat('[', {joined}, ']'))"


def _object(value: str, nesting: int, depth: int) -> str:
    items, item = f"{value}.kvlist_value.values", f"p{depth}"
    pair = f"concat(toJSONString({item}.key), ':', {_json(f'{item}.value', nesting - 1, depth + 1)})"
    return f"if(empty({items}), NULL, concat('{{', arrayStringConcat(arrayMap({item} -> {pair}, {items}), ','), '}}'))"


_SCALARS: Final = (
    "string_value Nullable(String), bool_value Nullable(Bool), int_value Nullable(Int64), "
    "double_value Nullable(Float64), bytes_value Nullable(String)"
)


def _any_value(nesting: int) -> str:
    if not nesting:
        return f"Tuple({_SCALARS})"
    inner = _any_value(nesting - 1)
    array = f"array_value Tuple(values Array({inner}))"
    return f"Tuple({_SCALARS}, {array}, kvlist_value Tuple(values Array(Tuple(key String, value {inner}))))"


def _structure() -> str:
    attributes = f"attributes Array(Tuple(key String, value {_any_value(NESTING)}))"
    event = f"Tuple(time_unix_nano UInt64, name String, {attributes})"
    link = f"Tuple(trace_id String, span_id String, trace_state String, {attributes})"
    span = (
        "Tuple(trace_id String, span_id String, trace_state String, parent_span_id String, name String, kind Int32, "
        f"start_time_unix_nano UInt64, end_time_unix_nano UInt64, {attributes}, events Array({event}), links Array({link}), "
        "status Tuple(message String, code Int32))"
    )
    scope_spans = f"Tuple(scope Tuple(name String, version String), spans Array({span}))"
    return f"resource_spans Array(Tuple(resource Tuple({attributes}), scope_spans Array({scope_spans})))"
