"""Alerts and the server's own counts as OpenTelemetry metrics, for whoever watches the watcher."""

from __future__ import annotations

from collections.abc import Iterable

from opentelemetry.metrics import CallbackOptions, Observation

from agent_reach import semconv
from agent_reach.server.alerts import Alerts
from agent_reach.server.ingest import Ingest
from agent_reach.telemetry.otlp import Telemetry

_SECONDS = 5.0


class Meters:
    """Exports to an OTLP endpoint, or where the `OTEL_*` variables say.

    Raises:
        ContractError: the endpoint is no URL.
    """

    def __init__(self, alerts: Alerts, ingest: Ingest, otlp: str | None) -> None:
        self._alerts, self._ingest = alerts, ingest
        self._telemetry = Telemetry(otlp=otlp)
        meter = self._telemetry.meter
        meter.create_observable_gauge(semconv.METRIC_ALERTS, [self._firing], "{alert}", "Alerts that fire")
        meter.create_observable_counter(semconv.METRIC_SERVED, [self._counts], "{span}", "Spans by what became of them")

    def _firing(self, _options: CallbackOptions) -> Iterable[Observation]:
        return [
            Observation(1, {"rule": alert.when, semconv.GEN_AI_AGENT_NAME: alert.agent}) for alert in self._alerts.firing.values()
        ]

    def _counts(self, _options: CallbackOptions) -> Iterable[Observation]:
        return [Observation(self._ingest.counts[name], {"outcome": name}) for name in ("accepted", "rejected")]

    def close(self) -> None:
        """Send what is left."""
        self._telemetry.shutdown(_SECONDS)
