"""What goes wrong around the agent stays around it."""

import asyncio
import http.server
import os
import sys
import threading
import time

import pytest
from langchain_core.tools import tool
from langgraph.prebuilt import ToolNode
from opentelemetry import trace

from agent_reach import Compensation, Reach, Routes
from agent_reach.events import ToolCall, Turn
from agent_reach.importers.events import read_events
from tests.integration.agents import ask, graph, run, tool_texts, user

MODES = pytest.mark.parametrize("mode", ["sync", "async"])


class Hostile:
    def __repr__(self):
        raise RuntimeError("no repr")

    def __str__(self):
        raise RuntimeError("no text")


def hostile_values():
    cyclic = {}
    cyclic["self"] = cyclic
    deep = "end"
    for _ in range(2_000):
        deep = [deep]
    return {
        "cyclic": cyclic,
        "deep": deep,
        "set": {1},
        "bytes": b"\xff",
        "nan": float("nan"),
        "surrogate": "\ud800",
        "none": None,
        "huge": "x" * 5_000_000,
    }


@MODES
@pytest.mark.parametrize("kind", list(hostile_values()))
async def test_any_result_passes_unchanged_with_payloads_on(observed, mode, kind):
    @tool
    def give(x: str) -> object:
        """Give."""
        return hostile_values()[kind]

    lines = [ask(("give", {"x": "\ud800"}), ids=["a"]), "done"]
    plain = await run(graph(ToolNode([give], handle_tool_errors=True), lines), user(), {}, mode)
    seen = observed(capture_payloads=True)
    watched = await run(
        graph(seen.reach.tool_node([give], handle_tool_errors=True), lines), user(), {"callbacks": [seen.reach.tracker]}, mode
    )
    assert tool_texts(watched) == tool_texts(plain)
    assert len(seen.of(ToolCall)) == 1
    assert not seen.reach.notes.counts


@tool
def find(x: int) -> dict:
    """Find."""
    return {"found": x}


def test_a_classifier_a_hook_a_redactor_and_an_envelope_that_raise_are_counted(observed, monkeypatch):
    def broken(*args):
        raise RuntimeError("broken")

    routes = Routes(intents={"q": {"steps": [["find"]]}}, tools={"find": {"envelope": broken}}, classifier=broken)
    seen = observed(routes, capture_payloads=True, redact=[broken])
    seen.reach.on_band(broken)
    state = graph(seen.reach.tool_node([find]), [ask(("find", {"x": 1})), "done"]).invoke(
        user(), {"callbacks": [seen.reach.tracker]}
    )
    assert tool_texts(state) == ['{"found": 1}']
    assert {"classifier", "redactor", "envelope", "band_hook"} <= set(seen.reach.notes.counts)


def test_our_own_bug_changes_nothing_for_the_agent(observed, monkeypatch):
    seen = observed()
    monkeypatch.setattr(type(seen.reach.runtime), "publish", lambda *a: 1 / 0)
    monkeypatch.setattr(type(seen.reach.runtime), "turn_of", lambda *a, **k: 1 / 0)
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    state = graph(seen.reach.tool_node([find]), [ask(("find", {"x": 1})), "done"]).invoke(
        user(), {"callbacks": [seen.reach.tracker]}
    )
    assert tool_texts(state) == ['{"found": 1}']
    assert seen.reach.notes.counts["internal"] >= 2


class Answers(http.server.BaseHTTPRequestHandler):
    code = 500

    def do_POST(self):
        if self.code == 0:
            time.sleep(30)
        self.send_response(self.code)
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture
def collector():
    """Starts a collector that answers with a status; 0 never answers."""
    servers = []

    def start(code):
        handler = type("H", (Answers,), {"code": code})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()


@pytest.mark.parametrize("code", [400, 503, 0, None])
def test_a_collector_that_is_down_slow_or_refuses_changes_nothing_and_shutdown_ends(collector, code):
    endpoint = "http://127.0.0.1:9" if code is None else collector(code)
    reach = Reach(otlp=endpoint)
    state = graph(reach.tool_node([find]), [ask(("find", {"x": 1})), "done"]).invoke(user(), {"callbacks": [reach.tracker]})
    begun = time.monotonic()
    reach.shutdown(1.0)
    assert time.monotonic() - begun < 20
    assert tool_texts(state) == ['{"found": 1}']


def test_a_global_provider_is_read_and_never_replaced():
    before = trace.get_tracer_provider()
    Reach(otlp="http://127.0.0.1:9").shutdown(0.5)
    assert trace.get_tracer_provider() is before


def test_spans_made_inside_a_tool_nest_under_its_span(observed):
    seen = observed()

    @tool
    def traced(x: int) -> dict:
        """Trace."""
        with trace.get_tracer("inner", tracer_provider=None).start_as_current_span("inner"):
            pass
        return {"parent": f"{trace.get_current_span().get_span_context().span_id:016x}"}

    state = graph(seen.reach.tool_node([traced]), [ask(("traced", {"x": 1})), "done"]).invoke(
        user(), {"callbacks": [seen.reach.tracker]}
    )
    assert seen.of(ToolCall)[0].id in tool_texts(state)[0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_after_fork_observes_on(tmp_path):
    path = tmp_path / "events.jsonl"
    reach = Reach(store=path)
    app = graph(reach.tool_node([find]), [ask(("find", {"x": 1})), "done"])
    with reach.session("parent"):
        app.invoke(user(), {"callbacks": [reach.tracker]})
    reach.runtime.evaluator._lock.acquire()
    child = os.fork()
    if child == 0:
        try:
            with reach.session("child"):
                graph(reach.tool_node([find]), [ask(("find", {"x": 1})), "done"]).invoke(user(), {"callbacks": [reach.tracker]})
            os._exit(0)
        except BaseException:
            os._exit(1)
    reach.runtime.evaluator._lock.release()
    assert os.waitpid(child, 0)[1] == 0
    calls = [e.session for e in read_events(path) if isinstance(e, ToolCall)]
    assert calls == ["parent", "child"]


def test_a_thread_that_dies_in_a_tool_loses_no_call(observed):
    @tool
    def dies(x: int) -> str:
        """Exit."""
        sys.exit(3)

    seen = observed()
    app = graph(seen.reach.tool_node([dies]), [ask(("dies", {"x": 1})), "done"])
    with seen.reach.session("s"), pytest.raises(BaseException):  # noqa: B017
        app.invoke(user(), {"callbacks": [seen.reach.tracker]})
    assert [c.status for c in seen.of(ToolCall)] == ["cancelled"]


def test_two_event_loops_share_one_reach(observed):
    seen = observed()

    def work(name):
        async def talk():
            app = graph(seen.reach.tool_node([find]), [ask(("find", {"x": 1})), "done"])
            for _ in range(20):
                await app.ainvoke(user(), {"callbacks": [seen.reach.tracker], "metadata": {"session_id": name}})

        asyncio.run(talk())

    threads = [threading.Thread(target=work, args=(f"loop{n}",)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted({c.session for c in seen.of(ToolCall)}) == ["loop0", "loop1"]


def test_events_are_appended_to_a_file_and_a_full_disk_is_counted(tmp_path, observed):
    path = tmp_path / "events.jsonl"
    seen = observed(store=path)
    with seen.reach.session("s"):
        graph(seen.reach.tool_node([find]), [ask(("find", {"x": 1})), "done"]).invoke(user(), {"callbacks": [seen.reach.tracker]})
    assert list(read_events(path)) == seen.events
    seen.reach._lines.close()
    with seen.reach.session("s"):
        graph(seen.reach.tool_node([find]), [ask(("find", {"x": 1})), "done"]).invoke(user(), {"callbacks": [seen.reach.tracker]})
    assert seen.reach.notes.counts["dropped_event"] > 0


def test_a_store_that_cannot_be_written_is_an_error_at_set_up(tmp_path):
    with pytest.raises(Exception, match="a file that can be written"):
        Reach(store=tmp_path / "no" / "folder" / "events.jsonl")


def test_alternates_that_do_not_exist_here_are_noted(observed):
    @tool
    def empty(x: int) -> list:
        """Nothing."""
        return []

    seen = observed({"tools": {"empty": {"read_only": True, "alternates": ["elsewhere"]}}}, compensation=Compensation(backoff=0.0))
    graph(seen.reach.tool_node([empty]), [ask(("empty", {"x": 1})), "done"]).invoke(user(), {})
    assert seen.reach.notes.counts["unknown_alternate"] == 1


def test_a_turn_that_an_error_ended_is_a_failure_and_a_misspelt_intent_is_noted(observed):
    @tool
    def boom(x: int) -> str:
        """Raise."""
        raise ValueError("boom")

    seen = observed({"intents": {"order": {"steps": [["boom"]]}}})
    with seen.reach.session("s", intent="ordr"), pytest.raises(ValueError, match="boom"):
        graph(seen.reach.tool_node([boom]), [ask(("boom", {"x": 1})), "done"]).invoke(user(), {"callbacks": [seen.reach.tracker]})
    [turn] = seen.of(Turn)
    assert (turn.outcome, turn.status) == ("abandoned", "fail")
    assert [s.status.status_code.name for s in seen.spans if s.name.startswith("invoke_agent")] == ["ERROR"]
    assert seen.reach.notes.counts["unknown_intent"] == 1
