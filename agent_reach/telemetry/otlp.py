"""Providers: the user's own, or one that exports over OTLP; a global provider is read and never replaced."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from opentelemetry import metrics, trace

from agent_reach.errors import ContractError

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


class Telemetry:
    """Where spans and metrics go, and how to flush them.

    Args:
        tracer_provider, meter_provider: the user's own.
        otlp: endpoint of an OTLP collector. `http://host:4318` and paths are OTLP/HTTP, `http://host:4317` and `grpc://…` gRPC.
            Without it the standard `OTEL_*` variables count, if an endpoint is set there; else the global providers.

    Raises:
        ContractError: the endpoint is no URL.
    """

    def __init__(self, *, tracer_provider: Any = None, meter_provider: Any = None, otlp: str | None = None) -> None:
        self._owned: list[Any] = []
        if tracer_provider is None and (otlp or _from_environment()):
            tracer_provider = self._own(_tracer_provider(otlp))
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
        return _bounded(lambda: all(p.force_flush(int(seconds * 1000)) for p in self._flushable), seconds)

    def shutdown(self, seconds: float) -> bool:
        """Flush, and stop the providers made here; returns within `seconds` even when the collector is down."""
        done = self.flush(seconds) if self._flushable else True
        for provider in self._owned:
            done &= _bounded(lambda p=provider: p.shutdown() is None, min(seconds, 2.0))  # type: ignore[misc]
        return done


def _bounded(work: Callable[[], bool], seconds: float) -> bool:
    """Run in a daemon thread and wait no longer than `seconds`: exporters retry for longer than a shutdown may take."""
    import threading

    result: list[bool] = []

    def attempt() -> None:
        result.append(work())

    thread = threading.Thread(target=attempt, name="agent-reach-flush", daemon=True)
    thread.start()
    thread.join(seconds)
    return bool(result and result[0])


def _from_environment() -> bool:
    return os.environ.get("OTEL_SDK_DISABLED", "").lower() != "true" and any(os.environ.get(name) for name in _ENDPOINTS)


def _is_grpc(endpoint: str | None) -> bool:
    if endpoint is None:
        protocol = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
        return protocol == "grpc"
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


def _tracer_provider(otlp: str | None) -> Any:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=resource(), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporters(otlp)[0]))
    return provider


def _meter_provider(otlp: str | None) -> Any:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    reader = PeriodicExportingMetricReader(exporters(otlp)[1])
    return MeterProvider([reader], resource=resource(), shutdown_on_exit=False)
