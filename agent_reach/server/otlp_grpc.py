"""OTLP over gRPC."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse

from agent_reach.errors import ReachError, RequestError, StoreError
from agent_reach.server.access import Access
from agent_reach.server.decode import MAX_BYTES
from agent_reach.server.ingest import RETRY_AFTER, Ingest
from agent_reach.server.otlp_http import traces_answer

_THREADS: Final = 8
_OPTIONS: Final = [("grpc.max_receive_message_length", MAX_BYTES), ("grpc.so_reuseport", 0)]
_SERVICES: Final = "opentelemetry.proto.collector"


def grpc_receiver(ingest: Ingest, access: Access, address: str) -> tuple[grpc.Server, int]:
    """A server that listens on the address already, and its port.

    Raises:
        ReachError: the address is in use or does not exist.
    """
    server = grpc.server(ThreadPoolExecutor(_THREADS, "agent-reach-grpc"), options=_OPTIONS)
    traces = _handler(lambda body: traces_answer(ingest.accept_traces(body)), access)
    metrics = _handler(lambda body: _metrics_answer(ingest, body), access)
    server.add_generic_rpc_handlers((
        grpc.method_handlers_generic_handler(f"{_SERVICES}.trace.v1.TraceService", {"Export": traces}),
        grpc.method_handlers_generic_handler(f"{_SERVICES}.metrics.v1.MetricsService", {"Export": metrics}),
    ))  # fmt: skip
    try:
        port = server.add_insecure_port(address)
    except RuntimeError as error:
        raise ReachError(f"cannot listen on {address} for OTLP/gRPC: is the port in use? Give another with --grpc-port") from error
    return server, port


def _metrics_answer(ingest: Ingest, body: bytes) -> ExportMetricsServiceResponse:
    ingest.accept_metrics(body)
    return ExportMetricsServiceResponse()


def _handler(accept: Callable[[bytes], Any], access: Access) -> grpc.RpcMethodHandler[Any, Any]:
    def export(body: bytes, context: grpc.ServicerContext) -> Any:
        metadata = {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}
        if not access.allows(metadata.get("authorization", "")):
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "a token is required: metadata 'authorization: Bearer …'")
        try:
            return accept(body)
        except RequestError as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        except StoreError as error:
            context.set_trailing_metadata((("grpc-status-details-bin", _try_again(str(error))),))
            context.abort(grpc.StatusCode.UNAVAILABLE, str(error))

    return grpc.unary_unary_rpc_method_handler(export, response_serializer=lambda message: message.SerializeToString())


def _try_again(text: str) -> bytes:
    """The details from which a client knows how long to wait."""
    detail = AnyMessage()
    detail.Pack(RetryInfo(retry_delay=Duration(seconds=RETRY_AFTER)))
    status = Status(code=grpc.StatusCode.UNAVAILABLE.value[0], message=text, details=[detail])
    return bytes(status.SerializeToString())
