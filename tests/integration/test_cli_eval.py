"""`agent-reach eval`, `compare` and the pytest mark, as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from shutil import which

import pytest
from typer.testing import CliRunner

from agent_reach import ReachError
from agent_reach.cli import app

COMMAND = Path(sys.executable).parent / "agent-reach"
TASK = """
name: refund
version: 1
messages: ["Please refund A1."]
side_effects: [refund, mail]
nodes:
  - {id: look, tools: [find], verify: "results.find[-1].order == 'A1'"}
  - {id: pay, depends_on: [look], tools: [refund], effect: {order: A1, amount: "*"}}
  - {id: tell, depends_on: [pay], tools: [mail]}
outputs: ["39.00"]
"""
SHOP = """
from tests.integration.agents import Script
from tests.integration.evaluated import LINES, agent

make = agent()
lazy = agent([LINES[0], LINES[2], "I paid 39.00."])


def noisy(reach):
    print("noise from the agent")
    return agent()(reach)
"""
ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    (tmp_path / "task.yaml").write_text(TASK)
    (tmp_path / "shop.py").write_text(SHOP)
    return tmp_path


def run(*arguments):
    found = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if found.exception is not None and not isinstance(found.exception, SystemExit | ReachError):
        raise found.exception
    return found


def test_an_evaluation_prints_its_figures_and_writes_every_report(project):
    done = run("eval", "task.yaml", "--agent", "shop:make", "--runs", 6, "--out", "out", "--min-gate", 0.6)
    assert done.exit_code == 0, done.output
    assert "6 of 6 runs pass, [0.610, 1.000]; limit 0.6: passed" in done.stdout
    names = {"runs.jsonl", "report.html", "report.md", "report.json", "junit.xml", "graph-1-refund.dot", "graph-1-refund.svg"}
    assert {file.name for file in (project / "out").iterdir()} == names
    record = json.loads((project / "out" / "report.json").read_text())
    assert (record["runs"], record["gate"]["passed"], record["by_task"][0]["depth"]["mean"]) == (6, 6, 1.0)
    suite = ET.parse(project / "out" / "junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("6", "0", "0")
    ET.parse(project / "out" / "graph-1-refund.svg")
    assert "task.yaml: 3 nodes, mostly 10 to 15" in done.stderr
    assert [(use["tool"], use["calls"], use["ok"]) for use in record["by_task"][0]["tools"]] == [
        ("find", 6, 6),
        ("mail", 6, 6),
        ("refund", 6, 6),
    ]


def test_too_few_passes_end_with_status_1_and_say_where_runs_broke(project):
    done = run("eval", "task.yaml", "--agent", "shop:lazy", "--min-gate", 0.8)
    assert (done.exit_code, "0 of 5 runs pass" in done.stdout) == (1, True)
    assert "nothing was done for pay" in done.stdout


def test_faults_are_injected_by_name_and_compensated(project):
    (project / "routes.yaml").write_text("tools: {find: {read_only: true}, refund: {side_effect: true}, mail: {side_effect: true}}")
    options = ("--faults", "error", "--routes", "routes.yaml", "--json")
    alone = json.loads(run("eval", "task.yaml", "--agent", "shop:make", *options).stdout)
    assert (alone["gate"]["passed"], alone["by_task"][0]["faults"]["landed"] > 0) == (0, True)
    refused = run("eval", "task.yaml", "--agent", "shop:make", "--faults", "fire")
    assert "faults: expected True, kinds of faults" in str(refused.exception)


def test_what_agents_print_stays_out_of_the_json(project):
    command = [COMMAND, "eval", "task.yaml", "--agent", "shop:noisy", "--json", "--processes", "--at-once", "2"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120, env=env)
    assert json.loads(done.stdout)["gate"]["passed"] == 5, done.stderr
    assert "noise from the agent" in done.stderr


def test_agents_are_compared_on_the_same_task(project):
    run("eval", "task.yaml", "--agent", "shop:make", "--out", "a")
    run("eval", "task.yaml", "--agent", "shop:lazy", "--out", "b")
    done = run("compare", "a", "b", "--radar", "radar.svg", "--json")
    (other,) = json.loads(done.stdout)["agents"]
    by_figure = {each["figure"]: each for each in other["differences"]}
    assert (by_figure["gate"]["before"], by_figure["gate"]["after"], by_figure["gate"]["verdict"]) == (1.0, 0.0, "worse")
    assert done.exit_code == 1
    ET.parse(project / "radar.svg")
    same = run("compare", "a", "a")
    assert (same.exit_code, "no evidence" in same.stdout) == (0, True)
    assert "two results or more" in str(run("compare", "a").exception)
    assert "a readable file" in str(run("compare", "a", "nowhere").exception)


def test_recorded_conversations_are_runs_of_a_task(project):
    calls = [{"id": "1", "function": {"name": "find", "arguments": '{"order": "A1"}'}}]
    talk = [
        {"role": "user", "content": "Please refund A1."},
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "1", "content": '{"order": "A1", "amount": 39.0}'},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "2", "function": {"name": "refund", "arguments": '{"order": "A1", "amount": 39}'}}],
        },
        {"role": "tool", "tool_call_id": "2", "content": '{"paid": 39.0}'},
        {"role": "assistant", "content": "Paid 39.00. Which address may I write to?"},
    ]
    (project / "talks.json").write_text(json.dumps([{"id": "x", "task": "refund", "messages": talk}]))
    (project / "other.yaml").write_text("name: other\nnodes: [{id: a, tools: [b]}]\n")
    record = json.loads(run("eval", "task.yaml", "other.yaml", "--recorded", "talks.json", "--json").stdout)
    refund, other = record["by_task"]
    assert (refund["runs"], other["runs"]) == (1, 0)
    (only,) = refund["by_run"]
    assert (only["depth"], only["effects"]["matched"], only["broke"][0]["reasons"][0]) == (0.5, 1, "nothing was done for tell")
    assert "under 5 nothing can be concluded" in record["notes"][0]
    assert "expected one of refund, other" in str(
        run("eval", "task.yaml", "other.yaml", "--recorded", "talks.json", "--task-key", "id").exception
    )
    assert "expected either --agent" in str(run("eval", "task.yaml").exception)


def test_a_report_escapes_what_it_shows_and_needs_no_network(project):
    evil = '<script>alert("x")</script>'
    topology = {"name": evil, "messages": [evil], "nodes": [{"id": evil, "tools": ["find"]}], "outputs": [evil]}
    (project / "evil.json").write_text(json.dumps(topology))
    run("eval", "evil.json", "--agent", "shop:lazy", "--out", "out", "--name", evil)
    text = (project / "out" / "report.html").read_text()
    assert "<script" not in text
    assert "http-equiv" in text
    assert not any(sign in text for sign in ("src=", "href=", "@import", "url("))
    assert "<script" not in (project / "out" / "report.md").read_text()
    ET.parse(project / "out" / "junit.xml")


def test_a_report_opens_offline_and_its_runs_can_be_replayed(project):
    from playwright.sync_api import sync_playwright

    run("eval", "task.yaml", "--agent", "shop:lazy", "--out", "out")
    browser = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := which(name))), None)
    if browser is None:
        pytest.skip("no system Chromium")
    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = opened.new_page(viewport={"width": 390, "height": 800})
        faults = []
        page.on("console", lambda message: faults.append(message.text))
        page.on("request", lambda request: faults.append(request.url) if not request.url.startswith("file:") else None)
        page.goto((project / "out" / "report.html").as_uri())
        page.locator("details summary").first.click()
        assert page.locator("details[open] table tr").count() == 3
        assert page.locator("svg").count() == 3
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert faults == []
        opened.close()


def test_a_topology_is_checked_and_drawn(project):
    done = run("topology", "check", "task.yaml")
    assert (done.exit_code, "task.yaml:9: tell: no verify" in done.stdout) == (1, True)
    assert '"look" -> "pay"' in run("topology", "draw", "task.yaml").stdout
    run("topology", "draw", "task.yaml", "--to", "t.svg")
    ET.parse(project / "t.svg")


MARKED = """
import pytest
from shop import lazy, make

GOOD = dict(topology="task.yaml", runs=5)


@pytest.mark.reach(**GOOD, min_gate=0.8)
def test_good(reach):
    return make(reach)


@pytest.mark.reach(**GOOD)
def test_lazy(reach, tmp_path):
    assert tmp_path.exists()
    return lazy(reach)


@pytest.mark.reach(runs=5)
def test_nothing():
    pass
"""


def test_marked_tests_are_evaluations(project):
    (project / "test_marked.py").write_text(MARKED)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        "agent_reach.pytest_plugin",
        "-p",
        "xdist",
        "-n",
        "2",
        ".",
    ]
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120, env=env)
    assert "1 passed" in done.stdout, done.stdout
    assert "2 failed" in done.stdout
    assert "0 of 5 runs pass" in done.stdout
    assert "refund, run 1, finished" in done.stdout
    assert "insufficient runs, 16 runs like these would settle it" in done.stdout
    assert "pytest.mark.reach: expected topology=" in done.stdout
