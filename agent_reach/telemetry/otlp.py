"""Providers: the user's own, or one that exports over OTLP; a global provider is read and never replaced."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from opentelemetry import metrics, trace

from agent_reach.errors import ContractError
from agent_reach.live import Notes

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


class Telemetry:
    """Where spans and metrics go, and how to flush them.

    Args:
        tracer_provider, meter_provider: the user's own.
        otlp: endpoint of an OTLP collector. `http://host:4318` and paths are OTLP/HTTP, `http://host:4317` and `grpc://…` gRPC.
            Without it the standard `OTEL_*` variables count, if an endpoint is set there (gRPC unless the protocol or the port 4318
            says HTTP); else the global providers.
        notes: count spans that the endpoint did not take, as `dropped_span`.

    Raises:
        ContractError: the endpoint is no URL.
    """

    def __init__(
        self,
        *,
        tracer_provider: Any = None,
        meter_provider: Any = None,
        otlp: str | None = None,
        notes: Notes | None = None,
    ) -> None:
        self._owned: list[Any] = []
        if tracer_provider is None and (otlp or _from_environment()):
            tracer_provider = self._own(_tracer_provider(otlp, notes or Notes()))
            if meter_provider is None:
                meter_provider = self._own(_meter_provider(otlp))
        self.tracer = trace.get_tracer("agent_reach", tracer_provider=tracer_provider)
        self.meter = metrics.get_meter("agent_reach", meter_provider=meter_provider)
        self._flushable = [p for p in (tracer_provider, meter_provider) if hasattr(p, "force_flush")]

    def _own(self, provider: Any) -> Any:
        self._owned.append(provider)
        return provider

    def flush(self, seconds: float) -> bool:
        """Send what is waiting; True when all of it left in time."""
        return _all_within([lambda p=p: p.force_flush(int(seconds * 1000)) for p in self._flushable], seconds)  # type: ignore[misc]

    def shutdown(self, seconds: float) -> bool:
        """Flush, and stop the providers made here; returns within `seconds` even when the collector is down."""
        done = self.flush(seconds * 0.8)
        stopped = _all_within([lambda p=p: p.shutdown() is None for p in self._owned], seconds * 0.2)  # type: ignore[misc]
        return done and stopped


def _all_within(work: Sequence[Callable[[], bool]], seconds: float) -> bool:
    """Run side by side in daemon threads and wait no longer than `seconds`: exporters retry for longer than a shutdown may take."""
    results: list[bool] = []
    threads = [threading.Thread(target=lambda w=w: results.append(w()), daemon=True) for w in work]
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return len(results) == len(work) and all(results)


def _from_environment() -> bool:
    return os.environ.get("OTEL_SDK_DISABLED", "").lower() != "true" and any(os.environ.get(name) for name in _ENDPOINTS)


def _is_grpc(endpoint: str | None) -> bool:
    if endpoint is None:
        protocol = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
        if protocol:
            return protocol == "grpc"
        return not any(os.environ.get(name, "").rstrip("/").endswith((":4318", "/v1/traces")) for name in _ENDPOINTS)
    return endpoint.startswith("grpc") or endpoint.rstrip("/").endswith(":4317")


def exporters(otlp: str | None) -> tuple[Any, Any]:
    """A span exporter and a metric exporter for an endpoint, or for what the `OTEL_*` variables say.

    Raises:
        ContractError: the endpoint is no URL.
    """
    if otlp is not None and "://" not in otlp:
        raise ContractError("otlp", "an endpoint such as http://localhost:4318 or grpc://localhost:4317", otlp)
    if _is_grpc(otlp):
        return _grpc_exporters(otlp)
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    if otlp is None:
        return OTLPSpanExporter(), OTLPMetricExporter()
    base = otlp.rstrip("/").removesuffix("/v1/traces")
    return OTLPSpanExporter(endpoint=f"{base}/v1/traces"), OTLPMetricExporter(endpoint=f"{base}/v1/metrics")


def _grpc_exporters(otlp: str | None) -> tuple[Any, Any]:
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    if otlp is None:
        return OTLPSpanExporter(), OTLPMetricExporter()
    secure = otlp.startswith(("https", "grpcs"))
    address = otlp.partition("://")[2].rstrip("/")
    target = f"{'https' if secure else 'http'}://{address}"
    return OTLPSpanExporter(target, insecure=not secure), OTLPMetricExporter(target, insecure=not secure)


def resource() -> Any:
    """What the spans say of the process; the `OTEL_*` variables name the service."""
    from opentelemetry.sdk.resources import Resource

    named = "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "") or os.environ.get("OTEL_SERVICE_NAME")
    return Resource.create({} if named else {"service.name": "agent-reach"})


def _counted(exporter: Any, notes: Notes) -> Any:
    """The exporter, with what it could not deliver noted: the SDK itself says so only in its log."""
    from opentelemetry.sdk.trace.export import SpanExportResult

    export = exporter.export

    def counted(spans: Sequence[Any]) -> Any:
        result = export(spans)
        if result is not SpanExportResult.SUCCESS:
            notes.add("dropped_span", "the OTLP endpoint did not take spans", count=len(spans))
        return result

    exporter.export = counted
    return exporter


def _tracer_provider(otlp: str | None, notes: Notes) -> Any:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=resource(), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(_counted(exporters(otlp)[0], notes)))
    return provider


def _meter_provider(otlp: str | None) -> Any:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    reader = PeriodicExportingMetricReader(exporters(otlp)[1])
    return MeterProvider([reader], resource=resource(), shutdown_on_exit=False)
