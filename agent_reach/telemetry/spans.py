"""Events as OpenTelemetry spans."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, StatusCode, TraceFlags

from agent_reach import semconv
from agent_reach.events import Event, Turn, attributes_of, span_name

_ERROR = StatusCode.ERROR


class SpanHandle:
    """An open span and its ids.

    Attributes:
        id, trace: 16 and 32 hex digits.
        beneath: the context for spans under this one.
    """

    __slots__ = ("_outer", "beneath", "id", "span", "trace")

    def __init__(self, span: Span, outer: Any, trace_id: str = "") -> None:
        self.span, self._outer = span, outer
        ids = span.get_span_context()
        self.id = f"{ids.span_id:016x}"
        self.trace = trace_id or f"{ids.trace_id:032x}"
        self.beneath: Any = None

    def context(self) -> Any:
        """The context for spans under this one, made when there is one."""
        if self.beneath is None:
            self.beneath = trace.set_span_in_context(self.span, self._outer)
        return self.beneath


class OtelTracing:
    """Spans by any tracer. An empty result leaves the status UNSET; a failure is ERROR; an interrupt, a cancellation and a
    handoff are neither."""

    def __init__(self, tracer: trace.Tracer) -> None:
        self._tracer = tracer

    def open(self, operation: str, subject: str, at: int, parent: Any) -> SpanHandle:
        """Begin a span; without a parent, under the current one."""
        outer = otel_context.get_current() if parent is None else parent.context()
        span = self._tracer.start_span(_name(operation, subject), outer, SpanKind.INTERNAL, start_time=at)
        return SpanHandle(span, outer, "" if parent is None else parent.trace)

    def close(self, handle: Any, event: Event) -> None:
        """End a span with all that its event says."""
        span = handle.span
        if span.is_recording():
            span.set_attributes(attributes_of(event))
            if event.status == "fail":
                span.set_status(_ERROR, getattr(event, "fail_cause", "") or None)
            if isinstance(event, Turn):
                span.update_name(span_name(event))
                _add_evaluations(span, event)
        span.end(event.time + event.latency)

    def annotate(self, handle: Any, event: Event) -> None:
        """Add an event to an open span."""
        if handle.span.is_recording():
            handle.span.add_event(span_name(event), attributes_of(event), timestamp=event.time)

    def describe(self, handle: Any, attributes: dict[str, Any]) -> None:
        """Add attributes to an open span."""
        handle.span.set_attributes(attributes)

    def record(self, event: Event) -> None:
        """A span that is begun and ended at once, under the parent that the event names."""
        context = otel_context.Context() if not event.parent else trace.set_span_in_context(_parent(event), otel_context.Context())
        span = self._tracer.start_span(span_name(event), context, SpanKind.INTERNAL, start_time=event.time)
        self.close(SpanHandle(span, context), event)

    def enter(self, handle: Any) -> Any:
        """Make the span the current one."""
        context = trace.set_span_in_context(handle.span)
        return context, otel_context.attach(context)

    def leave(self, token: Any) -> None:
        """Undo `enter`; in another context (a closed coroutine) there is nothing to undo."""
        context, attached = token
        if otel_context.get_current() is context:
            otel_context.detach(attached)


@lru_cache(maxsize=1_024)
def _name(operation: str, subject: str) -> str:
    return f"{operation} {subject}".rstrip()


def _parent(event: Event) -> Span:
    flags = TraceFlags(TraceFlags.SAMPLED)
    return NonRecordingSpan(SpanContext(int(event.trace or "0", 16), int(event.parent, 16), is_remote=False, trace_flags=flags))


def _add_evaluations(span: Span, turn: Turn) -> None:
    """One `gen_ai.evaluation.result` a score."""
    for name, value in (
        ("ReachScore", turn.score),
        ("ToolReach", turn.tool),
        ("KnowledgeReach", turn.knowledge),
        ("TaskReach", turn.task),
    ):
        if value >= 0:
            attributes: dict[str, Any] = {semconv.GEN_AI_EVALUATION_NAME: name, semconv.GEN_AI_EVALUATION_SCORE: value}
            if name == "ReachScore":
                attributes[semconv.GEN_AI_EVALUATION_LABEL] = turn.band
            span.add_event(semconv.EVENT_EVALUATION, attributes, timestamp=turn.time + turn.latency)
