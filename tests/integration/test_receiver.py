"""OTLP in: what is accepted is stored, what is not gets the answer that the specification asks for, and nothing is lost."""

import gzip
import json
import socket
import subprocess
import sys

import grpc
import httpx
import pytest
from google.rpc.status_pb2 import Status
from langchain_core.tools import tool
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcMetrics
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpans
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpMetrics
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agent_reach import Reach
from tests.integration.agents import ask, graph, user
from tests.integration.serving import Serving, serving

PROTOBUF = "application/x-protobuf"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("receiver") / "data") as served:
        yield served


def some_spans(count=3, attributes=None):
    """Finished spans of the SDK's own."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    for number in range(count):
        provider.get_tracer("test").start_span(f"span-{number}", attributes=attributes or {"n": number}).end()
    return exporter.get_finished_spans()


def request(count=3, attributes=None):
    return encode_spans(some_spans(count, attributes))


def span_of(message):
    return message.resource_spans[0].scope_spans[0].spans[0]


# what is accepted -----------------------------------------------------------------------------------------------------


def stored_after(folder, *bodies, kind=PROTOBUF):
    """Rows of a server that got these requests and was then asked to stop."""
    served = Serving(folder)
    served.start()
    answers = [served.post(body, kind) for body in bodies]
    assert served.stop() == 0
    sql = "SELECT * FROM agent_reach.otel_traces ORDER BY Timestamp, SpanId FORMAT JSONEachRow"
    code = "import sys; from chdb.session import Session; print(Session(sys.argv[1]).query(sys.argv[2], 'JSONEachRow'))"
    command = [sys.executable, "-c", code, str(folder / "chdb"), sql]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return answers, [json.loads(line) for line in out.splitlines() if line.strip()]


def test_every_field_of_a_span_is_stored_as_the_collector_stores_it(tmp_path):
    message = request(1)
    span = span_of(message)
    values = [("text", "string_value", "x"), ("yes", "bool_value", True), ("n", "int_value", -5), ("f", "double_value", 1.5)]
    del span.attributes[:]
    for key, field, value in values:
        setattr(span.attributes.add(key=key).value, field, value)
    span.attributes.add(key="list").value.array_value.values.add().string_value = 'a"b'
    span.attributes.add(key="map").value.kvlist_value.values.add(key="k").value.int_value = 3
    span.attributes.add(key="bytes").value.bytes_value = b"\x00\xff"
    span.attributes.add(key="nothing")
    deep = span.attributes.add(key="deep").value.kvlist_value.values.add(key="a").value
    deep.array_value.values.add().kvlist_value.values.add(key="b").value.array_value.values.add().string_value = "bottom"
    span.events.add(time_unix_nano=span.start_time_unix_nano, name="happened").attributes.add(key="e").value.bool_value = False
    link = span.links.add(trace_id=b"\x01" * 16, span_id=b"\x02" * 8, trace_state="s=1")
    link.attributes.add(key="l").value.string_value = "v"
    span.status.code, span.status.message, span.kind, span.trace_state = 2, "no", 3, "t=1"
    answers, rows = stored_after(tmp_path / "data", message.SerializeToString())
    assert answers[0].status_code == 200
    assert answers[0].headers["content-type"] == PROTOBUF
    row = rows[0]
    assert row["SpanAttributes"] == {
        "text": "x", "yes": "true", "n": "-5", "f": "1.5", "list": '["a\\"b"]', "map": '{"k":3}', "bytes": "AP8=", "nothing": "",
        "deep": '{"a": [{"b": ["bottom"]}]}',
    }  # fmt: skip
    assert (row["TraceId"], row["SpanId"]) == (span.trace_id.hex(), span.span_id.hex())
    assert (row["StatusCode"], row["StatusMessage"], row["SpanKind"], row["TraceState"]) == ("Error", "no", "Client", "t=1")
    assert int(row["Duration"]) == span.end_time_unix_nano - span.start_time_unix_nano
    assert row["ResourceAttributes"]["service.name"] == row["ServiceName"]
    assert (row["ScopeName"], row["SpanName"]) == ("test", "span-0")
    assert (row["Events.Name"], row["Events.Attributes"]) == (["happened"], [{"e": "false"}])
    assert (row["Links.TraceId"], row["Links.SpanId"]) == (["01" * 16], ["02" * 8])
    assert (row["Links.TraceState"], row["Links.Attributes"]) == (["s=1"], [{"l": "v"}])


def test_json_with_hexadecimal_ids_gives_the_same_row_as_protobuf(tmp_path):
    from google.protobuf.json_format import MessageToDict

    message = request(1)
    document = MessageToDict(message)
    span = document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    original = span_of(message)
    span["traceId"], span["spanId"] = original.trace_id.hex(), original.span_id.hex()
    span["aFieldOfTomorrow"] = {"x": 1}
    answers, rows = stored_after(tmp_path / "json", json.dumps(document).encode(), kind="application/json; charset=utf-8")
    _, expected = stored_after(tmp_path / "protobuf", message.SerializeToString())
    assert answers[0].json() == {}
    assert rows == expected


def test_clock_skew_orphans_duplicates_and_wrong_types_are_stored_as_they_came(tmp_path):
    message = request(5)
    spans = message.resource_spans[0].scope_spans[0].spans
    spans[0].start_time_unix_nano = spans[0].end_time_unix_nano = 2**64 - 1
    spans[1].end_time_unix_nano = spans[1].start_time_unix_nano - 5
    spans[2].start_time_unix_nano -= 20 * 86_400 * 10**9
    spans[3].parent_span_id = b"\x09" * 8
    spans[4].span_id = spans[3].span_id
    spans[4].kind, spans[4].status.code = 77, 99
    for key, value in (("agent_reach.event", "tool_call"), ("agent_reach.turn", "many"), ("agent_reach.unit.needs", "-3")):
        spans[3].attributes.add(key=key).value.string_value = value
    answers, rows = stored_after(tmp_path / "data", message.SerializeToString(), message.SerializeToString())
    assert [answer.status_code for answer in answers] == [200, 200]
    assert len(rows) == 10
    assert "2100" in {row["Timestamp"][:4] for row in rows}
    assert all(int(row["Duration"]) < 2**63 for row in rows)
    assert {row["SpanKind"] for row in rows} == {"Internal", "Unspecified"}


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "identity"])
def test_encoded_bodies_are_read(server, encoding):
    import zlib

    body = request().SerializeToString()
    sent = {"gzip": gzip.compress, "deflate": zlib.compress, "identity": bytes}[encoding](body)
    before = server.health().get("accepted", 0)
    assert server.post(sent, **{"content-encoding": encoding}).status_code == 200
    assert server.health()["accepted"] == before + 3


@pytest.mark.parametrize("spans", [HttpSpans, GrpcSpans])
def test_the_exporters_of_the_sdk_are_served(server, spans):
    address = f"{server.http}/v1/traces" if spans is HttpSpans else server.grpc
    exporter = spans(endpoint=address, **({"insecure": True} if spans is GrpcSpans else {}))
    before = server.health().get("accepted", 0)
    assert exporter.export(some_spans(50)).name == "SUCCESS"
    exporter.shutdown()
    assert server.health()["accepted"] == before + 50


@pytest.mark.parametrize("kind", [HttpMetrics, pytest.param(GrpcMetrics, marks=pytest.mark.long)])
def test_counters_of_agent_reach_are_kept_and_other_metrics_passed_over(tmp_path, kind):
    served = Serving(tmp_path / "data")
    served.start()
    address = f"{served.http}/v1/metrics" if kind is HttpMetrics else served.grpc
    exporter = kind(endpoint=address, **({"insecure": True} if kind is GrpcMetrics else {}))
    provider = MeterProvider([PeriodicExportingMetricReader(exporter, 60_000)])
    meter = provider.get_meter("test")
    meter.create_counter("agent_reach.notes").add(3, {"kind": "dropped_event"})
    meter.create_counter("http.requests").add(9)
    assert provider.force_flush()
    provider.shutdown()
    assert "dropped_event 3" in httpx.get(served.panel).text
    served.stop()
    rows = served.rows("SELECT name, attributes, max(value) FROM agent_reach.reach_counters GROUP BY name, attributes")
    assert rows == [["agent_reach.notes", {"kind": "dropped_event"}, 3.0]]


def test_a_whole_agent_is_scored_over_the_wire(server):
    reach = Reach(otlp=server.http)

    @tool
    def lookup(order_id: str) -> list[str]:
        """Look an order up."""
        return []

    app = graph(reach.tool_node([lookup]), [ask(("lookup", {"order_id": "A-1"})), "It has shipped."], [lookup])
    app.invoke(user("Where is my order?"), {"callbacks": [reach.tracker], "configurable": {"thread_id": "wire-1"}})
    assert reach.shutdown()
    server.settle()
    page = httpx.get(f"{server.panel}/session/wire-1").text
    assert all(words in page for words in ("wire-1", "lookup", "empty: no_items", "broken", "guessed"))


# what is refused ------------------------------------------------------------------------------------------------------


def garbage():
    whole = request().SerializeToString()
    yield "truncated", whole[: len(whole) // 2], PROTOBUF, 400
    yield "noise", b"\xff\x00\xfe" * 50, PROTOBUF, 400
    yield "length that lies", b"\x0a\xff\xff\xff\xff\x0f" + b"x" * 20, PROTOBUF, 400
    yield "deep nesting", b"\x0a\x80\x01" * 2_000, PROTOBUF, 400
    yield "bad utf-8", ExportTraceServiceRequest().SerializeToString() + b"\x0a\x06\x1a\x04\xff\xfe\xfd\xfc", PROTOBUF, 400
    yield "no json", b"{", "application/json", 400
    yield "a list", b"[]", "application/json", 400
    yield "deep json", b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "application/json", 400
    yield "id that is no hex", b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"xyz"}]}]}]}', "application/json", 400
    yield "wrong type", b'{"resourceSpans":[{"scopeSpans":7}]}', "application/json", 400
    yield "html", b"<html>", "text/html", 415
    yield "no type", b"x", "", 415


@pytest.mark.parametrize(("body", "kind", "status"), [case[1:] for case in garbage()], ids=[case[0] for case in garbage()])
def test_what_is_no_request_is_refused_in_its_own_encoding(server, body, kind, status):
    answer = server.post(body, kind)
    assert answer.status_code == status
    if kind == PROTOBUF:
        assert Status.FromString(answer.content).message
    else:
        assert answer.json()["message"]
    assert server.post(request().SerializeToString()).status_code == 200


def test_bodies_that_are_too_long_are_refused_before_they_are_read(server):
    host, port = server.http.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as sock:
        head = f"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: {PROTOBUF}\r\nContent-Length: {100 << 20}\r\n\r\n"
        sock.sendall(head.encode())
        assert b" 413 " in sock.recv(4_096).split(b"\r\n", 1)[0]
    bomb = gzip.compress(b"\0" * (100 << 20))
    assert server.post(bomb, **{"content-encoding": "gzip"}).status_code == 413
    assert server.post(b"not gzip", **{"content-encoding": "gzip"}).status_code == 400
    assert server.post(gzip.compress(b"x" * 1_000)[:20], **{"content-encoding": "gzip"}).status_code == 400
    assert server.post(b"x", **{"content-encoding": "br"}).status_code == 415


def test_spans_without_usable_ids_are_named_and_the_others_kept(server):
    message = request(5)
    spans = message.resource_spans[0].scope_spans[0].spans
    spans[0].trace_id = b"\x00" * 16
    spans[1].span_id = b"short"
    spans[2].start_time_unix_nano = 0
    spans[3].start_time_unix_nano -= 40 * 86_400 * 10**9
    before = server.health().get("accepted", 0)
    answer = ExportTraceServiceResponse.FromString(server.post(message.SerializeToString()).content)
    assert answer.partial_success.rejected_spans == 4
    assert all(word in answer.partial_success.error_message for word in ("trace_id", "span_id", "missing", "older"))
    assert server.health()["accepted"] == before + 1


def test_an_attribute_that_is_none_costs_its_request_and_no_other(tmp_path):
    """Attributes of our own spans are not looked at when they arrive, only when they are stored."""
    ours = request(2)
    ours.resource_spans[0].scope_spans[0].scope.name = "agent_reach"
    good = ours.SerializeToString()
    ours.resource_spans[0].scope_spans[0].spans[0].attributes[0].key = "zz"
    bad = ours.SerializeToString().replace(b"\x0a\x02zz", b"\x0a\x7fzz")
    assert len(bad) == len(ours.SerializeToString())
    answers, rows = stored_after(tmp_path, good, bad, request(1).SerializeToString())
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert len(rows) == 3
    assert len(list((tmp_path / "spool" / "unreadable").iterdir())) == 1


def test_spans_of_ours_are_checked_as_all_others(server):
    message = request(3)
    message.resource_spans[0].scope_spans[0].scope.name = "agent_reach"
    message.resource_spans[0].scope_spans[0].spans[1].trace_id = bytes(16)
    before = server.health().get("accepted", 0)
    answer = ExportTraceServiceResponse.FromString(server.post(message.SerializeToString()).content)
    assert answer.partial_success.rejected_spans == 1
    assert server.health()["accepted"] == before + 2


def test_other_paths_and_methods_are_answered(server):
    assert server.post(b"x", path="/v1/logs").status_code == 404
    assert httpx.get(f"{server.http}/v1/traces").status_code == 405


def test_grpc_refuses_garbage_and_goes_on(server):
    channel = grpc.insecure_channel(server.grpc.removeprefix("http://"))
    export = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
    with pytest.raises(grpc.RpcError) as caught:
        export(b"\xff\xff", timeout=20)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert export(request().SerializeToString(), timeout=20) == b""
    channel.close()
