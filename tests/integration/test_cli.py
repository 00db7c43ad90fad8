import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent_reach import ReachError
from agent_reach.cli import app

COMMAND = str(Path(sys.executable).with_name("agent-reach"))
CHAT = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "find", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c", "content": "[]"},
    {"role": "assistant", "content": "done"},
]


def agent_reach(*arguments):
    return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def here(*arguments):
    """The command in this process, which need not start."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def test_scores_for_machines_are_one_json_object(tmp_path):
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"id": "s-1", "messages": CHAT}, {"id": "s-2", "messages": CHAT}]))
    done = here("score", path, "--json")
    report = json.loads(done.stdout)
    assert set(report) == {"total", "sessions"}
    keys = {"calls", "ok", "failed", "empty", "uncounted", "score", "tool", "knowledge", "task", "band"}
    assert keys <= set(report["total"])
    assert [s["session"] for s in report["sessions"]] == ["s-1", "s-2"]
    assert keys <= set(report["sessions"][0])
    assert report["total"]["band"] == "broken"
    assert done.exit_code == 0


def test_the_table_names_the_worst_sessions_first(tmp_path):
    path = tmp_path / "chat.json"
    good = [*CHAT[:2], {"role": "tool", "tool_call_id": "c", "content": "[1]"}, CHAT[3]]
    path.write_text(json.dumps([{"id": "good", "messages": good}, {"id": "bad", "messages": CHAT}]))
    text = here("score", path).stdout
    assert text.index("bad") < text.index("good") < text.rindex("all ")


@pytest.mark.parametrize(
    "arguments", [["score", "nowhere.json"], ["score", __file__], ["score", __file__, "--routes", "nowhere.yaml"]]
)
def test_an_error_is_one_clear_line_and_status_2(arguments):
    done = agent_reach(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_collector_that_does_not_answer_is_told(tmp_path):
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(CHAT))
    done = agent_reach("score", path, "--otlp", "nonsense")
    assert (done.returncode, "expected an endpoint" in done.stderr) == (2, True)


def test_the_demo_completes_more_when_it_compensates_and_its_events_can_be_scored(tmp_path):
    store = tmp_path / "events.jsonl"
    done = agent_reach("demo", "--store", store)
    assert done.returncode == 0, done.stderr
    assert "3 of 12" in done.stdout
    assert "12 of 12" in done.stdout
    assert "Traceback" not in done.stderr
    report = json.loads(here("score", store, "--json").stdout)
    observing = [s for s in report["sessions"] if s["session"].startswith("observing")]
    compensating = [s for s in report["sessions"] if s["session"].startswith("compensating")]
    assert len(observing) == len(compensating) == 12
    assert sum(s["failed"] + s["empty"] for s in compensating) < sum(s["failed"] + s["empty"] for s in observing)


def test_the_demo_names_what_a_real_model_needs():
    with pytest.raises(ReachError, match="nosuchprovider:x"):
        here("demo", "--model", "nosuchprovider:x")


def test_scored_conversations_are_sent_on_as_spans(tmp_path):
    from http.server import BaseHTTPRequestHandler, HTTPServer
    from threading import Thread

    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    names = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            spans = ExportTraceServiceRequest.FromString(body)
            names.extend(s.name for r in spans.resource_spans for scope in r.scope_spans for s in scope.spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Collector)
    Thread(target=server.serve_forever, daemon=True).start()
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(CHAT))
    done = agent_reach("score", path, "--otlp", f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    assert done.returncode == 0, done.stderr
    assert sorted(names) == ["execute_tool find", "invoke_agent agent"]


def asked_and_answered(tool, answer):
    calls = [{"id": "c", "type": "function", "function": {"name": tool, "arguments": "{}"}}]
    return [
        {"role": "user", "content": "Where is my order?"},
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c", "content": answer},
        {"role": "assistant", "content": "It has shipped."},
    ]


@pytest.mark.parametrize("recorded", ["conversations", "events"])
def test_reach_rates_of_recordings_follow_the_route_table(tmp_path, recorded):
    routes = tmp_path / "routes.yaml"
    routes.write_text("version: 3\nintents:\n  order_query:\n    keywords: [order]\n    steps: [[orders_db, orders_cache]]\n")
    talks = [asked_and_answered(tool, '{"id": 1}') for tool in ("orders_db", "orders_db", "orders_cache", "faq")]
    file = tmp_path / "talks.jsonl"
    if recorded == "conversations":
        file.write_text("\n".join(json.dumps({"messages": talk}) for talk in talks))
    else:
        where = {"v": 1, "kind": "tool_call", "turn": 1, "unit": 1, "intent": "order_query", "time": 1}
        tools = ("orders_db", "orders_db", "orders_cache", "faq")
        file.write_text("\n".join(json.dumps({**where, "session": f"s{i}", "tool": tool}) for i, tool in enumerate(tools)))
    done = here("score", str(file), "--routes", str(routes), "--json")
    overall = json.loads(done.stdout)["rates"]["overall"]
    assert {figure: (rate["value"], rate["n"]) for figure, rate in overall.items() if figure != "decision"} == {
        "candidate": (0.75, 4), "precise": (0.5, 4), "first": (0.5, 4), "execution": (1.0, 3), "reach": (0.75, 4),
    }  # fmt: skip
    assert overall["precise"]["low"] < 0.5 < overall["precise"]["high"]
    table = here("score", str(file), "--routes", str(routes)).stdout
    assert "reach rates by intent and needed tool" in table
    assert "75% of 4" in table


def test_instructions_are_checked_on_recorded_conversations(tmp_path):
    atoms = tmp_path / "atoms.yaml"
    atoms.write_text(
        "version: 2\natoms:\n- id: look-first\n  when: {user: order}\n  then: {call: orders_db}\n"
        "- id: no-promises\n  then: {not_say: guarantee}\n"
    )
    file = tmp_path / "talks.jsonl"
    file.write_text("\n".join(json.dumps({"id": t, "messages": asked_and_answered(t, "[1]")}) for t in ("orders_db", "faq")))
    report = json.loads(here("score", file, "--instructions", atoms, "--json").stdout)["instructions"]
    assert (report["version"], report["overall"]["value"], report["overall"]["n"]) == ("2", 0.75, 4)
    assert report["atoms"]["look-first"]["broken"] == [["faq", 1]]
    assert "look-first" in here("score", file, "--instructions", atoms).stdout
    events = tmp_path / "events.jsonl"
    events.write_text('{"v": 1, "kind": "tool_call", "session": "s", "tool": "t"}\n')
    refused = agent_reach("score", events, "--instructions", atoms)
    assert (refused.returncode, "recorded conversations" in refused.stderr.replace("\n", " ")) == (2, True)


@pytest.mark.long
def test_the_demo_says_when_its_spans_were_not_taken():
    done = agent_reach("demo", "--otlp", "http://127.0.0.1:9")
    assert "Not all spans were taken by http://127.0.0.1:9" in done.stdout


def test_a_port_that_cannot_be_is_one_clear_line():
    done = agent_reach("serve", "--port", "99999")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_bands_and_relevance_are_fitted_to_labelled_history(tmp_path, data):
    runs = str(data / "tau_airline" / "runs.json")
    fitted = json.loads(here("calibrate", runs, "--good", "reward>=1", "--json").stdout)
    assert sum(one["n"] for one in fitted["bins"]) == fitted["cuts"][0]["caught"]["n"] + fitted["cuts"][0]["disturbed"]["n"] == 91
    shown = here("calibrate", runs, "--good", "reward>=1")
    assert "failures caught" in shown.stdout
    assert "no cut is suggested" in shown.stderr.replace("\n", " ")
    labels = tmp_path / "labels.jsonl"
    rows = [{"relevance": 0.8 if n % 2 else 0.1, "needed": n % 2 == 1 and n % 10 != 1} for n in range(100)]
    labels.write_text("\n".join(map(json.dumps, rows)))
    assert "calibrated_relevance(" in here("calibrate", str(labels), "--relevance").stdout
    with pytest.raises(ReachError, match="needs --good"):
        here("calibrate", runs)


def test_the_outlook_of_conversations_is_fitted_and_told(tmp_path, data):
    runs, table, fitted = str(data / "tau_airline" / "runs.json"), tmp_path / "routes.yaml", tmp_path / "outlook.json"
    kinds = json.loads((data / "tau_airline" / "tools.json").read_text())
    table.write_text("version: 1\ntools:\n" + "".join(f"  {name}: {{side_effect: true}}\n" for name in kinds["side_effect"]))
    shown = here("calibrate", runs, "--good", "reward>=1", "--routes", str(table), "--outlook", str(fitted))
    assert "no_write" in shown.stdout
    rows = json.loads(here("score", runs, "--routes", str(table), "--outlook", str(fitted), "--json").stdout)["sessions"]
    assert len(rows) == 100
    assert 0.45 < sum(row["outlook"] for row in rows) / 100 < 0.53
    assert "outlook" in here("score", runs, "--routes", str(table), "--outlook", str(fitted), "--rows", "3").stdout
