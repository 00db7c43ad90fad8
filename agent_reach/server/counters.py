"""OTLP metrics: the counters and gauges of agent-reach itself are kept, all others are passed over."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from google.protobuf.json_format import Parse, ParseError
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from agent_reach.errors import RequestError
from agent_reach.semconv import PREFIX

_NEWEST: Final = 4_102_444_800_000_000_000  # the year 2100


def read_counters(body: bytes, *, is_json: bool = False) -> list[dict[str, Any]]:
    """Rows for `reach_counters`.

    Raises:
        RequestError: 400, it is no `ExportMetricsServiceRequest`.
    """
    try:
        if is_json:
            request = Parse(body, ExportMetricsServiceRequest(), ignore_unknown_fields=True)
        else:
            request = ExportMetricsServiceRequest.FromString(body)
    except (DecodeError, ParseError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(400, "the body is no ExportMetricsServiceRequest") from error
    return list(_rows(request))


def _rows(request: ExportMetricsServiceRequest) -> Iterator[dict[str, Any]]:
    for resource_metrics in request.resource_metrics:
        resource = {pair.key: pair.value.string_value for pair in resource_metrics.resource.attributes}
        for scope_metrics in resource_metrics.scope_metrics:
            for metric in scope_metrics.metrics:
                if not metric.name.startswith(PREFIX):
                    continue
                for point in (*metric.sum.data_points, *metric.gauge.data_points):
                    yield {
                        "time": _time(point.time_unix_nano),
                        "service": resource.get("service.name", ""),
                        "instance": resource.get("service.instance.id", ""),
                        "name": metric.name,
                        "attributes": {pair.key: pair.value.string_value for pair in point.attributes},
                        "value": float(point.as_int or point.as_double),
                    }


def _time(nanoseconds: int) -> str:
    return datetime.fromtimestamp(min(nanoseconds, _NEWEST) / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
