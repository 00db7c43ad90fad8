"""Agents that other instrumentations watch are scored too, on the real spans of those instrumentations."""

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.integration.serving import serving, until

ROOT = Path(__file__).parents[2]
KEEPS_NO_STATUS = ("genai",)  # of a tool message, so that a handled error looks like any other text
INSTRUMENTATIONS = ("openinference", "traceloop", "genai", "langsmith")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Events by session, once a server has read the spans of all four."""
    with serving(tmp_path_factory.mktemp("foreign") / "data") as served:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "LANG"))} | {"PYTHONPATH": str(ROOT)}
        script = str(Path(__file__).with_name("foreign_agent.py"))
        runs = [
            subprocess.Popen([sys.executable, script, name, served.http], env=clean, stderr=subprocess.PIPE)
            for name in INSTRUMENTATIONS
        ]
        for run in runs:
            _, said = run.communicate(timeout=120)
            assert run.returncode == 0, said.decode()[-2000:]
        pages = {}
        for name in INSTRUMENTATIONS:
            until(lambda name=name: httpx.get(f"{served.panel}/session/thread-{name}").status_code == 200, 60)
            pages[name] = httpx.get(f"{served.panel}/session/thread-{name}").text
        served.settle()
    sql = """SELECT session, kind, tool, source, status, fail_cause, empty_kind, agent, service, needs, reached, taken, retrieved, relevant
             FROM agent_reach.reach_events FINAL ORDER BY session, time"""
    keys = ("session", "kind", "tool", "source", "status", "fail_cause", "empty_kind", "agent", "service", "needs", "reached", "taken",
            "retrieved", "relevant")  # fmt: skip
    rows = [dict(zip(keys, row, strict=True)) for row in served.rows(sql)]
    return {name: [row for row in rows if row["session"] == f"thread-{name}"] for name in INSTRUMENTATIONS}, pages


@pytest.mark.parametrize("name", INSTRUMENTATIONS)
def test_empties_and_handled_errors_are_seen(stored, name):
    rows, pages = stored[0][name], stored[1][name]
    calls = {row["tool"]: (row["status"], row["fail_cause"] or row["empty_kind"]) for row in rows if row["kind"] == "tool_call"}
    assert calls["search_orders"] == ("empty_alias", "no_items")
    assert calls["get_order"] == ("ok", "")
    assert calls["refund"][0] == ("ok" if name in KEEPS_NO_STATUS else "fail")
    assert calls["policy"] == ("ok", "")
    assert {row["agent"] for row in rows} == {"desk"}
    assert {row["service"] for row in rows} == {f"shop-{name}"}
    assert "empty: no_items" in pages


@pytest.mark.parametrize("name", ["openinference", "langsmith"])
def test_a_tool_that_does_not_exist_is_counted_where_the_messages_are_captured(stored, name):
    calls = {row["tool"]: row["fail_cause"] for row in stored[0][name] if row["kind"] == "tool_call"}
    assert calls["nosuch"] == "unknown_tool"


@pytest.mark.parametrize("name", ["openinference", "langsmith"])
def test_retrievals_are_judged_where_query_and_fragments_are_captured(stored, name):
    [retrieval] = [row for row in stored[0][name] if row["kind"] == "retrieval"]
    assert (retrieval["source"], retrieval["retrieved"], retrieval["relevant"]) == ("Faq", 2, 1)


@pytest.mark.parametrize("name", INSTRUMENTATIONS)
def test_each_trace_is_one_turn_and_closes_its_unit_once(stored, name):
    rows = stored[0][name]
    assert [row["kind"] for row in rows].count("turn") == 1
    [unit] = [row for row in rows if row["needs"]]
    calls = sum(row["kind"] == "tool_call" for row in rows)
    assert (unit["needs"], unit["reached"], unit["taken"]) == (calls, 3 if name in KEEPS_NO_STATUS else 2, 1)
