"""OTLP over HTTP: protobuf and JSON, gzip, the answers that the specification asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from anyio import to_thread
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from agent_reach.errors import RequestError, StoreError
from agent_reach.server.access import Access, RequireToken
from agent_reach.server.decode import MAX_BYTES, inflate
from agent_reach.server.ingest import RETRY_AFTER, Ingest

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"
_GRPC_CODES: Final = {400: 3, 413: 8, 415: 3, 503: 14}


def receiver(ingest: Ingest, access: Access) -> Starlette:
    """The application that listens on 4318."""
    routes = [
        Route("/v1/traces", _Endpoint(ingest.accept_traces, traces_answer), methods=["POST"]),
        Route("/v1/metrics", _Endpoint(ingest.accept_metrics, lambda _: ExportMetricsServiceResponse()), methods=["POST"]),
    ]
    return Starlette(routes=routes, middleware=[Middleware(RequireToken, access=access)])


class _Endpoint:
    """One signal: reads the request, hands it on, answers in the request's own encoding."""

    def __init__(self, accept: Callable[..., Any], answer: Callable[[Any], Message]) -> None:
        self._accept, self._answer = accept, answer

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        try:
            response = await self._respond(request, kind)
        except ClientDisconnect:
            return
        except RequestError as error:
            response = _refusal(error.status, str(error), kind)
        except StoreError as error:
            response = _refusal(503, str(error), kind)
            response.headers["Retry-After"] = str(RETRY_AFTER)
        await response(scope, receive, send)

    async def _respond(self, request: Request, kind: str) -> Response:
        if kind not in (PROTOBUF, JSON):
            raise RequestError(415, f"content-type {kind or 'none'!r} is not read; use {PROTOBUF} or {JSON}")
        body = await _read(request)
        encoding = request.headers.get("content-encoding", "").strip().lower()

        def work() -> Any:
            return self._accept(inflate(body, encoding), is_json=kind == JSON)

        return _answer(self._answer(await to_thread.run_sync(work)), kind)


async def _read(request: Request) -> bytes:
    """The body, given up as soon as it is too long."""
    announced = request.headers.get("content-length", "0")
    if announced.isdigit() and int(announced) > MAX_BYTES:
        raise RequestError(413, f"over {MAX_BYTES >> 20} MB; send smaller batches")
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MAX_BYTES:
            raise RequestError(413, f"over {MAX_BYTES >> 20} MB; send smaller batches")
        chunks.append(chunk)
    return b"".join(chunks)


def traces_answer(accepted: Any) -> ExportTraceServiceResponse:
    """What the specification calls a partial success, where spans were dropped."""
    response = ExportTraceServiceResponse()
    if accepted.rejected:
        response.partial_success.rejected_spans = accepted.rejected
        response.partial_success.error_message = accepted.reason
    return response


def _answer(message: Message, kind: str, status: int = 200) -> Response:
    body = MessageToJson(message, indent=None) if kind == JSON else message.SerializeToString()
    return Response(body, status, media_type=kind)


def _refusal(status: int, text: str, kind: str) -> Response:
    message = Status(code=_GRPC_CODES.get(status, 2), message=text)
    return _answer(message, kind if kind in (PROTOBUF, JSON) else JSON, status)
