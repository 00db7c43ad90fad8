"""Recorded events as spans with the ids and times that they had."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from opentelemetry.sdk.trace import Event as SpanEvent
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from agent_reach.errors import ReachError
from agent_reach.events import Event, Turn, UnitClosed, attributes_of, span_name, unit_attributes
from agent_reach.events.spans import SPAN_EVENTS
from agent_reach.telemetry.otlp import exporters, resource

_BATCH = 512


def send_events(events: Iterable[Event], otlp: str) -> int:
    """Send events to an OTLP endpoint.

    Returns:
        how many spans were sent.

    Raises:
        ReachError: the endpoint did not take them.
    """
    spans = spans_of(events)
    exporter = exporters(otlp)[0]
    try:
        for start in range(0, len(spans), _BATCH):
            result = exporter.export(spans[start : start + _BATCH])
            if result.name != "SUCCESS":
                raise ReachError(f"otlp: {otlp} did not take the spans; is a collector listening there?")
    finally:
        exporter.shutdown()
    return len(spans)


def encode_events(events: Iterable[Event], service: str) -> tuple[bytes, int]:
    """Events as an OTLP request of the service, and how many spans it holds."""
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    from opentelemetry.sdk.resources import Resource

    spans = spans_of(events, Resource({"service.name": service}))
    return encode_spans(spans).SerializeToString(), len(spans)


def spans_of(events: Iterable[Event], shared: Any = None) -> Sequence[ReadableSpan]:
    """One span an event, with the span events that belong to it; those whose span is not there get one of their own.

    Args:
        events: in any order.
        shared: the resource of the spans; by default that of this process.
    """
    ordered = list(events)
    turns = {event.id: event.time + event.latency for event in ordered if isinstance(event, Turn)}
    units = {e.parent: e for e in ordered if isinstance(e, UnitClosed) and turns.get(e.parent) == e.time}
    folded = {id(unit) for unit in units.values()}
    ordered = [event for event in ordered if id(event) not in folded]
    ids = {event.id for event in ordered if not isinstance(event, SPAN_EVENTS)}
    beside: dict[str, list[SpanEvent]] = {}
    alone: list[Event] = []
    for event in ordered:
        if isinstance(event, SPAN_EVENTS) and event.parent in ids:
            beside.setdefault(event.parent, []).append(SpanEvent(span_name(event), attributes_of(event), event.time))
        else:
            alone.append(event)
    shared = resource() if shared is None else shared
    more = {turn: unit_attributes(unit) for turn, unit in units.items()}
    return [_span(event, beside.get(event.id, ()), shared, more.get(event.id, {})) for event in alone]


def _span(event: Event, events: Sequence[SpanEvent], shared: Any, more: Mapping[str, Any]) -> ReadableSpan:
    trace = int(event.trace or "0", 16) or 1
    parent = None if not event.parent else _context(trace, int(event.parent, 16))
    own = event.id if len(event.id) == 16 and "." not in event.id else f"{abs(hash(event.id)) % 2**63 or 1:016x}"
    return ReadableSpan(
        name=span_name(event),
        context=_context(trace, int(own, 16)),
        parent=parent,
        resource=shared,
        attributes={**attributes_of(event), **more},
        events=events,
        kind=SpanKind.INTERNAL,
        status=Status(StatusCode.ERROR) if event.status == "fail" else Status(),
        start_time=event.time,
        end_time=event.time + event.latency,
        instrumentation_scope=InstrumentationScope("agent_reach"),
    )


def _context(trace: int, span: int) -> SpanContext:
    return SpanContext(trace, span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
