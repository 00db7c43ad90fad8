"""OTLP in: what is accepted is stored, what is not gets the answer that the specification asks for, and nothing is lost."""

import gzip
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

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
from starlette.testclient import TestClient

from agent_reach import Reach
from agent_reach.events import Turn
from agent_reach.server.access import Access
from agent_reach.server.ingest import Ingest
from agent_reach.server.otlp_grpc import grpc_receiver
from agent_reach.server.otlp_http import receiver
from agent_reach.store.spool import Spool
from tests.integration.agents import ask, graph, user
from tests.integration.backend import Backend, running_collector
from tests.integration.serving import Serving, serving, until

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


@pytest.mark.parametrize("kind", [HttpMetrics, GrpcMetrics])
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


# no room, no server, killed -------------------------------------------------------------------------------------------


def test_a_full_spool_asks_senders_to_come_back_and_loses_nothing(tmp_path):
    body = request().SerializeToString()
    spool = Spool(tmp_path / "spool", max_bytes=len(body) + 100)
    ingest = Ingest(None, spool)
    with TestClient(receiver(ingest, Access())) as client:
        sent = [client.post("/v1/traces", content=body, headers={"content-type": PROTOBUF}) for _ in range(2)]
    assert [answer.status_code for answer in sent] == [200, 503]
    assert int(sent[1].headers["retry-after"]) > 0
    server, port = grpc_receiver(ingest, Access(), "127.0.0.1:0")
    server.start()
    export = grpc.insecure_channel(f"127.0.0.1:{port}").unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
    with pytest.raises(grpc.RpcError) as caught:
        export(body, timeout=20)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert b"RetryInfo" in dict(caught.value.trailing_metadata())["grpc-status-details-bin"]
    server.stop(None)
    assert (ingest.counts["accepted"], ingest.counts["refused"]) == (3, 2)


def test_what_was_acknowledged_is_there_after_kill_9(tmp_path):
    served = Serving(tmp_path / "data")
    served.start()
    acknowledged, stop = [0], threading.Event()

    def send():
        while not stop.is_set():
            try:
                if served.post(request(200).SerializeToString()).status_code == 200:
                    acknowledged[0] += 200
            except httpx.TransportError:
                time.sleep(0.05)

    sender = threading.Thread(target=send)
    sender.start()
    for pause in (0.3, 0.9):
        time.sleep(pause)
        served.kill()
        served.start()
    stop.set()
    sender.join()
    served.settle()
    served.stop()
    [[distinct]] = served.rows("SELECT uniqExact(TraceId, SpanId) FROM agent_reach.otel_traces")
    assert acknowledged[0] > 0
    assert distinct >= acknowledged[0]


def test_a_stop_stores_what_was_accepted(tmp_path):
    served = Serving(tmp_path / "data")
    served.start()
    for _ in range(5):
        served.post(request(500).SerializeToString())
    assert served.stop() == 0
    assert served.rows("SELECT count() FROM agent_reach.otel_traces") == [[2_500]]


def start_fails(folder, *options, **environment):
    command = [str(Path(sys.executable).parent / "agent-reach"), "serve", "--data", str(folder), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **environment})
    assert done.returncode == 2, done.stderr
    return " ".join(done.stderr.split())


def test_a_port_in_use_is_named_with_the_option_that_changes_it(tmp_path):
    free = ["--port", "0", "--http-port", "0", "--grpc-port", "0"]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for option in ("--port", "--http-port", "--grpc-port"):
            said = start_fails(tmp_path / "data", *free, option, port)
            assert f"127.0.0.1:{port}" in said
            assert option in said


def test_others_may_only_come_in_with_a_token(tmp_path):
    said = start_fails(tmp_path / "data", "--host", "0.0.0.0", AGENT_REACH_TOKEN="")
    assert "AGENT_REACH_TOKEN" in said
    assert "16 characters" in start_fails(tmp_path / "data", AGENT_REACH_TOKEN="short")


def test_a_folder_of_somebody_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    assert "holds something else" in start_fails(tmp_path, "--port", "0", "--http-port", "0", "--grpc-port", "0")


def test_a_token_is_asked_for_on_every_door(tmp_path):
    token = "a-token-of-sixteen-or-more"
    with serving(tmp_path / "data", AGENT_REACH_TOKEN=token) as served:
        body = request().SerializeToString()
        assert served.post(body).status_code == 401
        assert served.post(body, authorization="Bearer wrong").status_code == 401
        assert served.post(body, authorization=f"Bearer {token}").status_code == 200
        export = grpc.insecure_channel(served.grpc.removeprefix("http://")).unary_unary(
            "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
        )
        with pytest.raises(grpc.RpcError) as caught:
            export(body, timeout=20)
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        assert export(body, timeout=20, metadata=[("authorization", f"Bearer {token}")]) == b""
        assert httpx.get(served.panel).status_code == 401
        page = httpx.get(served.panel, headers={"accept": "text/html"})
        assert (page.status_code, page.headers["location"]) == (303, "/login")
        with httpx.Client(base_url=served.panel) as browser:
            assert browser.post("/login", data={"token": "wrong"}).status_code == 401
            entered = browser.post("/login", data={"token": token})
            cookie = entered.headers["set-cookie"]
            assert entered.status_code == 303
            assert "httponly" in cookie.lower()
            assert "samesite=strict" in cookie.lower()
            assert token not in cookie
            assert browser.get("/").status_code == 200
        reach = Reach(otlp=served.http)
        reach.runtime.tracing.record(Turn(session="s", id="a" * 16, trace="b" * 32, time=time.time_ns()))
        assert reach.shutdown() is False
        assert reach.notes.counts["dropped_span"] == 1
        assert token not in served.log()


def test_a_name_that_points_here_from_elsewhere_is_not_answered(server):
    assert httpx.get(server.panel, headers={"host": "evil.example"}).status_code == 421
    assert httpx.get(server.panel, headers={"host": "localhost:1"}).status_code == 200


def test_a_collector_in_between_delivers_every_span_once(tmp_path):
    with serving(tmp_path / "data") as served:
        with running_collector(tmp_path, Backend(served.http, httpx.Client())) as collector:
            exporter = HttpSpans(endpoint=f"{collector.http}/v1/traces")
            assert exporter.export(some_spans(300)).name == "SUCCESS"
            exporter.shutdown()
            assert until(lambda: served.health().get("accepted", 0) == 300)
        served.settle()
    assert served.rows("SELECT count(), uniqExact(SpanId) FROM agent_reach.otel_traces") == [[300, 300]]


def test_an_alert_shows_on_the_panel_and_leaves_as_a_metric(tmp_path):
    rules = tmp_path / "alerts.yaml"
    rules.write_text(f"log: {tmp_path / 'alerts.jsonl'}\nrules:\n- when: band\n  least: 3\n")
    with serving(tmp_path / "watching") as watching:
        with serving(tmp_path / "data", "--alerts", str(rules), "--otlp", watching.http) as served:
            reach = Reach(otlp=served.http)

            @tool
            def lookup(order_id: str) -> list[str]:
                """Look an order up."""
                return []

            for number in range(4):
                app = graph(reach.tool_node([lookup]), [ask(("lookup", {"order_id": "A-1"})), "It has shipped."], [lookup])
                app.invoke(user("Where is it?"), {"callbacks": [reach.tracker], "configurable": {"thread_id": f"t{number}"}})
            assert reach.shutdown()
            assert until(lambda: "ReachScore 0.00 (broken) over 10 min" in httpx.get(served.panel).text, 40)
        watching.stop()
    assert json.loads((tmp_path / "alerts.jsonl").read_text().splitlines()[0])["state"] == "firing"
    rows = watching.rows(
        "SELECT name, attributes, max(value) FROM agent_reach.reach_counters GROUP BY name, attributes ORDER BY name"
    )
    assert ["agent_reach.alerts", {"rule": "band", "gen_ai.agent.name": "agent"}, 1.0] in rows
    accepted = [row[2] for row in rows if row[:2] == ["agent_reach.serve.spans", {"outcome": "accepted"}]]
    assert accepted[0] >= 8
