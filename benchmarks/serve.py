"""What `agent-reach serve` takes in and how fast its panel answers, against `phoenix serve` in the same run.

Three parts, each against real processes: ingest over OTLP/HTTP, from the first byte sent until a query finds the last span; the
same for Phoenix; every query of the panel over a store filled with many spans. Usage: serve.py [--seconds N] [--spans N]
[--skip-phoenix] [--kills N]
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(sys.executable).parent
SPANS = 2_000  # of one request
SENDERS = 4
PHOENIX_PATIENCE = 20  # looks, two seconds apart, at what it has stored after the sending


# load -----------------------------------------------------------------------------------------------------------------


def template():
    """A request of spans that the SDK itself made, and the offsets of their span and trace ids."""
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_core.tools import tool
    from langgraph.graph import END, START, MessagesState, StateGraph
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from agent_reach import Reach, Routes

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    routes = Routes(intents={"order": {"keywords": ["order"], "steps": [["lookup"]]}}, tools={"lookup": {"read_only": True}})
    reach = Reach(routes, tracer_provider=provider)

    @tool
    def lookup(order_id: str) -> list:
        """Look an order up."""
        return [] if order_id.endswith("7") else [order_id]

    graph = StateGraph(MessagesState)
    graph.add_node("tools", reach.tool_node([lookup]))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    app = graph.compile()
    for number in range(SPANS // 2):
        call = {"name": "lookup", "args": {"order_id": f"A-{number}"}, "id": f"c{number}", "type": "tool_call"}
        state = {"messages": [HumanMessage("Where is my order?"), AIMessage("", tool_calls=[call])]}
        app.invoke(state, {"callbacks": [reach.tracker], "configurable": {"thread_id": f"s{number}"}})
    spans = exporter.get_finished_spans()
    body = encode_spans(spans).SerializeToString()
    ids = {span.context.span_id.to_bytes(8, "big") for span in spans}
    traces = {span.context.trace_id.to_bytes(16, "big") for span in spans}
    return body, _offsets(body, ids, 8), _offsets(body, traces, 16), len(spans)


def _offsets(body, ids, size):
    found = {}
    for id in ids:
        at = body.find(id)
        found[id] = []
        while at >= 0:
            found[id].append(at)
            at = body.find(id, at + size)
    return list(found.values())


def renewed(made):
    """The request with ids that no other has."""
    body, spans, traces, _ = made
    fresh = bytearray(body)
    randomness = os.urandom(8 * len(spans) + 16 * len(traces))
    at = 0
    for size, places in ((8, spans), (16, traces)):
        for offsets in places:
            id = randomness[at : at + size]
            at += size
            for offset in offsets:
                fresh[offset : offset + size] = id
    return bytes(fresh)


def send_for(seconds, port, path="/v1/traces", senders=SENDERS, headers=None, least=0.02):
    """Send as fast as the server takes it, from processes of their own; returns spans acknowledged and when it began."""
    begun = time.time()
    here = str(Path(__file__).parent)
    code = f"import sys; sys.path.insert(0, {here!r}); import serve; serve.sender({seconds}, {port}, {path!r}, {least})"
    processes = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(senders)]
    rows = [json.loads(process.communicate()[0].strip().splitlines()[-1]) for process in processes]
    return sum(row["sent"] for row in rows), min(row["begun"] for row in rows), sum(row["refused"] for row in rows), begun


def sender(seconds, port, path, least):
    made = template()
    bodies = [renewed(made)]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    sent = refused = 0
    begun = time.time()
    while time.time() - begun < seconds:
        connection.request("POST", path, bodies[0], {"Content-Type": "application/x-protobuf"})
        answer = connection.getresponse()
        answer.read()
        if answer.status == 200:
            sent += made[3]
            bodies[0] = renewed(made)
        else:
            refused += 1
            time.sleep(least * 10)
    print(json.dumps({"sent": sent, "begun": begun, "refused": refused}))


# our server -----------------------------------------------------------------------------------------------------------


class Serve:
    def __init__(self, folder):
        self.folder, self.ports = folder, [_free() for _ in range(3)]
        self.start()

    def start(self):
        panel, http_port, grpc = self.ports
        options = ["--data", str(self.folder), "--port", str(panel), "--http-port", str(http_port), "--grpc-port", str(grpc)]
        self.process = subprocess.Popen([str(HERE / "agent-reach"), "serve", *options], stderr=subprocess.DEVNULL)
        _until(lambda: get(panel, "/health")[0] == 200, 60)

    def stored(self):
        return get_json(self.ports[0], "/health")

    def rss(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(120)


def _free():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def _until(check, seconds):
    limit = time.time() + seconds
    while time.time() < limit:
        try:
            if check():
                return True
        except OSError:
            pass
        time.sleep(0.05)
    return False


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.read()


def get_json(port, path):
    return json.loads(get(port, path)[1])


def count_spans(folder):
    """Distinct spans in a store that no process holds any more."""
    code = (
        "from chdb.session import Session; import sys; s = Session(sys.argv[1]);"
        "print(s.query('SELECT count(), uniqExact(TraceId, SpanId) FROM agent_reach.otel_traces', 'TSV'))"
    )
    out = subprocess.run([sys.executable, "-c", code, str(folder / "chdb")], capture_output=True, text=True, check=True).stdout
    return [int(x) for x in out.split()]


def ingest(seconds):
    folder = Path(tempfile.mkdtemp(prefix="reach-serve-"))
    serve = Serve(folder)
    peak = [0.0]
    watching = threading.Event()

    def watch():
        while not watching.wait(0.5):
            peak[0] = max(peak[0], serve.rss())

    threading.Thread(target=watch, daemon=True).start()
    sent, begun, refused, _ = send_for(seconds, serve.ports[1])
    _until(lambda: serve.stored()["waiting_bytes"] == 0, 600)
    took = time.time() - begun
    watching.set()
    serve.stop()
    rows, distinct = count_spans(folder)
    shutil.rmtree(folder)
    print(
        f"ingest: {sent} sent, {distinct} stored in {took:.1f} s, {refused} requests refused, peak {peak[0]:.0f} MB",
        file=sys.stderr,
    )
    return {"spans_per_s": round(distinct / took), "lost": sent - distinct, "doubled": rows - distinct, "peak_mb": round(peak[0])}


def phoenix(seconds):
    folder = Path(tempfile.mkdtemp(prefix="phoenix-"))
    port, grpc = _free(), _free()
    environment = {
        **os.environ, "PHOENIX_PORT": str(port), "PHOENIX_GRPC_PORT": str(grpc), "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_HOST": "127.0.0.1", "PHOENIX_TELEMETRY_ENABLED": "false", "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
    }  # fmt: skip
    process = subprocess.Popen(
        [str(HERE / "phoenix"), "serve"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        if not _until(lambda: get(port, "/healthz")[0] == 200, 120):
            return None
        sent, begun, _, _ = send_for(seconds, port, senders=1, least=0.5)
        stored, took = 0, time.time() - begun
        for _ in range(PHOENIX_PATIENCE):
            time.sleep(2)
            now = _phoenix_spans(folder)
            if now > stored:
                stored, took = now, time.time() - begun
            if now >= sent:
                break
        print(f"phoenix: {sent} sent, {stored} stored in {took:.1f} s", file=sys.stderr)
        return stored / took
    finally:
        process.kill()
        process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def _phoenix_spans(folder):
    import sqlite3

    with sqlite3.connect(f"file:{folder}/phoenix.db?mode=ro", uri=True, timeout=60) as database:
        return database.execute("SELECT count(*) FROM spans").fetchone()[0]


# killed in the middle --------------------------------------------------------------------------------------------------


def kills(times):
    """`kill -9` at random moments of ingest; what was acknowledged has to be there after the restart."""
    folder = Path(tempfile.mkdtemp(prefix="reach-kill-"))
    serve = Serve(folder)
    made = template()
    acknowledged = [0]
    stop = threading.Event()

    def send():
        while not stop.is_set():
            body = renewed(made)
            try:
                connection = http.client.HTTPConnection("127.0.0.1", serve.ports[1], timeout=30)
                connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
                if connection.getresponse().status == 200:
                    acknowledged[0] += made[3]
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    for number in range(times):
        time.sleep(random.Random(number).uniform(0.2, 2.0))
        serve.process.kill()
        serve.process.wait()
        serve.start()
    stop.set()
    thread.join(60)
    _until(lambda: serve.stored()["waiting_bytes"] == 0, 300)
    serve.stop()
    rows, distinct = count_spans(folder)
    shutil.rmtree(folder)
    print(f"{times} kills: {acknowledged[0]} acknowledged, {distinct} stored, {rows - distinct} doubled", file=sys.stderr)
    return {"kills": times, "kill_lost": max(0, acknowledged[0] - distinct), "kill_doubled": rows - distinct}


# queries --------------------------------------------------------------------------------------------------------------


def fill(folder, spans):
    """Copies of a real request with new ids, spread over an hour and fifty agents, written by ClickHouse itself."""
    from agent_reach.store.embedded import EmbeddedStore
    from agent_reach.store.spool import varint

    made = template()
    store = EmbeddedStore(folder)
    segment = folder / "seed.otlp"
    segment.write_bytes(varint(len(made[0])) + made[0])
    store.write_segment(segment)
    segment.unlink()
    copies = max(1, spans // made[3])
    step = 250
    for begin in range(0, copies, step):
        with store._writers.one() as writer:
            writer.query(_COPY.format(begin=begin, count=min(step, copies - begin)))
        print(f"\rfilled {min(begin + step, copies) * made[3]:,}", end="", file=sys.stderr)
    print(file=sys.stderr)
    with store._writers.one() as writer:
        _until(lambda: str(writer.query("SELECT count() FROM system.merges", "TSV")).strip() == "0", 300)
    store.close()


_COPY = """
INSERT INTO agent_reach.otel_traces
SELECT * EXCEPT (copy) REPLACE (
    Timestamp - toIntervalMillisecond(cityHash64(copy, SpanAttributes['gen_ai.conversation.id']) % 3500000) AS Timestamp,
    lower(hex(sipHash128(TraceId, copy))) AS TraceId,
    lower(hex(sipHash64(SpanId, copy))) AS SpanId,
    if(ParentSpanId = '', '', lower(hex(sipHash64(ParentSpanId, copy)))) AS ParentSpanId,
    mapUpdate(SpanAttributes, map(
        'gen_ai.conversation.id', concat(SpanAttributes['gen_ai.conversation.id'], '-', toString(copy)),
        'gen_ai.agent.name', concat('agent-', toString(cityHash64(copy) % 50)))) AS SpanAttributes)
FROM (SELECT * FROM agent_reach.otel_traces WHERE SpanAttributes['gen_ai.agent.name'] NOT LIKE 'agent-%') AS seed
CROSS JOIN (SELECT number + {begin} + 1 AS copy FROM numbers({count})) AS copies
SETTINGS max_insert_threads = 2"""


def queries(spans):
    folder = Path(tempfile.mkdtemp(prefix="reach-queries-"))
    fill(folder, spans)
    serve = Serve(folder)
    port = serve.ports[0]
    _until(lambda: b"agent-" in get(port, "/?range=6h")[1], 300)
    session = "s1-1"
    paths = ["/?range=6h", "/sessions?range=6h", "/sessions?range=6h&broken=1", "/intents?range=6h", "/knowledge?range=6h",
             "/compensation?range=6h", f"/session/{session}", "/?range=6h&agent=agent-7"]  # fmt: skip
    took = {}
    for path in paths:
        times = []
        for _ in range(5):
            begun = time.perf_counter()
            status, body = get(port, path)
            times.append(time.perf_counter() - begun)
            assert status == 200, (path, status, body[:300])
        took[path] = sorted(times)[2]
        print(f"{path:34} {took[path] * 1000:7.0f} ms   ({min(times) * 1000:.0f}..{max(times) * 1000:.0f})", file=sys.stderr)
    serve.stop()
    rows, _ = count_spans(folder)
    shutil.rmtree(folder)
    return {"stored": rows, "overview_s": round(took["/?range=6h"], 3), "slowest_query_s": round(max(took.values()), 3)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--spans", type=int, default=10_000_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--skip-phoenix", action="store_true")
    options = parser.parse_args()
    result = {"spans_per_s": None, "lost": None, "ratio_to_phoenix": None, "overview_s": None, "slowest_query_s": None}
    if options.seconds:
        result.update(ingest(options.seconds))
        if not options.skip_phoenix:
            rate = phoenix(min(30, options.seconds))
            result["phoenix_spans_per_s"] = round(rate) if rate else None
            result["ratio_to_phoenix"] = round(result["spans_per_s"] / rate, 1) if rate else None
    if options.kills:
        result.update(kills(options.kills))
    if options.spans:
        result.update(queries(options.spans))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
