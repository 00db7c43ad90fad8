"""Every example runs offline, ends by itself and shows what it says it shows."""

import http.server
import os
import runpy
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

SHOWN = {
    "01_agent_executor_callbacks": [
        "  ToolReach 1.00, total 1.00 (healthy)",
        "  answer: Your order is on its way.",
        "  ToolReach 0.00, total 0.00 (broken)",
        "  customer-2 ToolCall     empty_alias",
    ],
    "02_agent_executor_wrapped_tools": [
        "  price gave timeout: retry with price",
        "  stock_db gave empty (no_items): reroute with stock_cache",
        "ToolReach 1.00 (healthy); first attempts alone 0.00",
    ],
    "03_langgraph_tool_node": [
        "  score: ToolReach 0.00 (broken)",
        "[agent_reach: `orders_db` gave empty (no_data) (2 times); this comes from `orders_replica` instead]",
        "  score: ToolReach 1.00 (healthy)",
    ],
    "04_create_agent_middleware": [
        "[agent_reach: `exchange_rate` gave network (2 times); this is an earlier result of the same call, 0 s old]",
        "exchange_rate: ok, attempts 1, no compensation",
        "exchange_rate: ok, attempts 3, snapshot compensation",
    ],
    "09_evaluation": [
        "compensation off: 0 of 5 runs pass",
        "  5 × obstacle: orders_db",
        "compensation on: 5 of 5 runs pass",
    ],
    "05_supervisor_handoff": [
        "  supervisor -> orders: order_id missing, nothing supplied",
        "  TaskReach 0.00 (broken)",
        "  supervisor -> orders: nothing missing, nothing supplied",
        "  supervisor -> orders: nothing missing, order_id supplied",
        "  TaskReach 1.00 (healthy)",
    ],
    "06_rag": [
        "  policies: 4 retrieved, 2 relevant, 0 kept out",
        "  policies: 4 retrieved, 2 relevant, 2 kept out",
        "  KnowledgeReach 0.75 (degraded)",
    ],
    "07_human_handoff": [
        "paused: The agent needs `refund` and did not get it (refund: timeout). Whether it took effect is not known: look before doing it again. What should it be told?",
        "   tool: I checked with the bank: 49 EUR were paid back.",
        "the tool ran 1 time(s)",
        "refund: fail (timeout), settled by: human",
    ],
    "08_otlp_backend": [
        "     ai: It arrives on Friday.",
        "No collector took the spans at {endpoint}; the agent ran all the same.",
    ],
}


def run(path, *arguments, **variables):
    """Run an example as its reader would, with what agent_reach fails at inside raised instead of logged."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "LANGSMITH_", "LANGCHAIN_"))}
    done = subprocess.run(
        [sys.executable, str(path), *arguments],
        env={**inherited, "PYTEST_CURRENT_TEST": "1", **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def nobody():
    """An endpoint at which nothing listens: the port is taken, so that no other process can, and refuses connections."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


@pytest.fixture
def collector():
    """An OTLP/HTTP endpoint that takes all it is sent, and the paths that it was sent to."""
    paths = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", paths
    server.shutdown()
    server.server_close()


def test_the_examples_are_all_here():
    assert sorted(path.stem for path in EXAMPLES.glob("0*.py")) == sorted(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_is_short_and_says_what_it_shows(name):
    lines = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 80
    assert lines[0].startswith('"""')


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_runs_offline(name, nobody, monkeypatch, capsys):
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setattr(sys, "argv", [name, *([nobody] if name == "08_otlp_backend" else [])])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    shown = capsys.readouterr().out.splitlines()
    for line in SHOWN[name]:
        assert line.format(endpoint=nobody) in shown


@pytest.mark.parametrize("by", ["argument", "variable"])
def test_spans_and_metrics_reach_a_collector(by, collector):
    endpoint, paths = collector
    example = EXAMPLES / "08_otlp_backend.py"
    if by == "argument":
        shown = run(example, endpoint)
    else:
        shown = run(example, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf")
    assert f"Spans and metrics were sent to {endpoint}." in shown
    assert set(paths) == {"/v1/traces", "/v1/metrics"}
