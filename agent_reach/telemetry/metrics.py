"""Counters fed from the stream, read by the SDK when it collects, and one histogram."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from agent_reach import semconv
from agent_reach.events import Event, Handoff, Retrieval, ToolAttempt, ToolCall, UnitClosed
from agent_reach.live import Notes

_WAITING = 1_024
_Row = tuple[str, str, str]
"""Agent, name and value of the second label."""


class Metrics:
    """A sink: counts events by agent, link and outcome.

    The counters are observable, since a synchronous one would cost as much as a span. They only grow, so they add up over
    processes.
    """

    def __init__(self, meter: Meter, notes: Notes) -> None:
        self._counts: dict[str, dict[_Row, int]] = {}
        self._durations: deque[tuple[float, str]] = deque()
        self._notes, self._meter = notes, meter
        self._lock = threading.Lock()
        for name, unit, text in (
            (semconv.METRIC_NEEDS, "{need}", "Needs (tool), retrievals (knowledge) and handoffs (task) that settled"),
            (semconv.METRIC_REACHED, "{need}", "Those that were reached or complete"),
            (semconv.METRIC_EMPTIES, "{result}", "Empty results, by whether they were taken as success"),
            (semconv.METRIC_CALLS, "{call}", "Tool calls by status"),
            (semconv.METRIC_ATTEMPTS, "{attempt}", "Executions by rung of the ladder"),
        ):
            self._counts[name] = {}
            meter.create_observable_counter(name, [self._reader(name)], unit, text)
        meter.create_observable_counter(semconv.METRIC_DROPPED, [self._read_notes], "{fault}", "Faults of the observer")
        self._duration = meter.create_histogram(semconv.METRIC_TOOL_DURATION, "s", "Duration of tool calls")

    def watch_breakers(self, read: Callable[[], Mapping[str, bool]]) -> None:
        """Tell which circuit breakers are open, by tool, whenever the SDK collects."""

        def observe(_options: CallbackOptions) -> Iterable[Observation]:
            return [Observation(int(is_open), {semconv.GEN_AI_TOOL_NAME: tool}) for tool, is_open in read().items()]

        self._meter.create_observable_gauge(semconv.METRIC_BREAKER, [observe], "{breaker}", "1 while a tool's breaker is open")

    def _reader(self, name: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def read(_options: CallbackOptions) -> Iterable[Observation]:
            self._record_durations()
            with self._lock:
                rows = list(self._counts[name].items())
            return [Observation(count, {semconv.GEN_AI_AGENT_NAME: agent, label: value}) for (agent, label, value), count in rows]

        return read

    def _read_notes(self, _options: CallbackOptions) -> Iterable[Observation]:
        return [Observation(count, {"kind": kind}) for kind, count in list(self._notes.counts.items())]

    def __call__(self, event: Event) -> None:
        """Take in one event."""
        if isinstance(event, ToolCall):
            self._count_call(event)
        elif isinstance(event, ToolAttempt):
            self._add(semconv.METRIC_ATTEMPTS, event.agent, "rung", event.rung)
            if event.status == "empty_alias":
                self._add(semconv.METRIC_EMPTIES, event.agent, "outcome", "attempt")
        elif isinstance(event, UnitClosed):
            self._link(event.agent, "tool", event.needs, event.reached)
            self._add(semconv.METRIC_EMPTIES, event.agent, "outcome", "taken", event.taken)
        elif isinstance(event, Retrieval):
            self._link(event.agent, "knowledge", 1 if event.ideal else 0, int(event.complete))
        elif isinstance(event, Handoff):
            self._link(event.agent, "task", 1, int(event.complete))

    def _count_call(self, call: ToolCall) -> None:
        self._add(semconv.METRIC_CALLS, call.agent, "status", call.status)
        if call.attempts == 1:
            self._add(semconv.METRIC_ATTEMPTS, call.agent, "rung", "first")
            if call.status == "empty_alias":
                self._add(semconv.METRIC_EMPTIES, call.agent, "outcome", "attempt")
        self._durations.append((call.latency / 1e9, call.tool))
        if len(self._durations) > _WAITING:
            self._record_durations()

    def _record_durations(self) -> None:
        """Hand the durations on: when the SDK collects, since a synchronous record costs as much as starting a span."""
        while self._durations:
            try:
                seconds, tool = self._durations.popleft()
            except IndexError:  # another thread took the last one
                return
            self._duration.record(seconds, {semconv.GEN_AI_TOOL_NAME: tool})

    def _link(self, agent: str, link: str, needs: int, reached: int) -> None:
        self._add(semconv.METRIC_NEEDS, agent, "link", link, needs)
        self._add(semconv.METRIC_REACHED, agent, "link", link, reached)

    def _add(self, name: str, agent: str, label: str, value: str, count: int = 1) -> None:
        if count:
            key = (agent, label, value)
            rows = self._counts[name]
            with self._lock:
                rows[key] = rows.get(key, 0) + count
