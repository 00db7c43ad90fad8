"""`agent-reach serve` under stress and in company: no room, killed, stopped, tokens, alerts, a collector in between."""

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
from langchain_core.tools import tool
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpans
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
from tests.integration.test_receiver import PROTOBUF, request, some_spans


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("serve") / "data") as served:
        yield served


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
