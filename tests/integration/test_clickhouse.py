"""A ClickHouse server instead of the folder: written by us and by a collector's own exporter, read by the panel and by Grafana."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from langchain_core.tools import tool

from agent_reach import Reach
from agent_reach.store import open_store
from tests.integration.agents import ask, graph, user
from tests.integration.backend import free_ports, listens, rotel, running
from tests.integration.serving import clickhouse_front, serving, until

COMMAND = str(Path(sys.executable).parent / "agent-reach")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with clickhouse_front(tmp_path_factory.mktemp("server") / "front") as port:
        yield f"clickhouse://default@127.0.0.1:{port}/"


@pytest.fixture
def store(address, tmp_path):
    opened = open_store(address, tmp_path / "mine")
    yield opened
    opened.close()


def agent_run(endpoint, session):
    reach = Reach(otlp=endpoint)

    @tool
    def lookup(order_id: str) -> list[str]:
        """Look an order up."""
        return []

    app = graph(reach.tool_node([lookup]), [ask(("lookup", {"order_id": "A-1"})), "It has shipped."], [lookup])
    app.invoke(user("Where is my order?"), {"callbacks": [reach.tracker], "configurable": {"thread_id": session}})
    assert reach.shutdown()


def test_the_server_stores_there_and_its_panel_reads_there(address, tmp_path):
    with serving(tmp_path / "data", "--store", address) as served:
        agent_run(served.http, "remote-1")
        served.settle()
        assert "empty: no_items" in until(lambda: httpx.get(f"{served.panel}/session/remote-1").text)
        assert until(lambda: "remote-1" in httpx.get(f"{served.panel}/sessions").text)


def test_what_a_collectors_own_exporter_wrote_is_scored_the_same(address, store, tmp_path):
    grpc, http = free_ports(2)
    call = [
        str(rotel.agent_path),
        "start",
        "--otlp-grpc-endpoint",
        f"127.0.0.1:{grpc}",
        "--otlp-http-endpoint",
        f"127.0.0.1:{http}",
    ]
    call += ["--exporters", "store:clickhouse,nowhere:blackhole", "--exporters-traces", "store", "--exporters-metrics", "nowhere"]
    settings = {
        "ENDPOINT": address.replace("clickhouse://default@", "http://"),
        "DATABASE": "agent_reach",
        "COMPRESSION": "none",
    }
    environment = {f"ROTEL_EXPORTER_STORE_{name}": value for name, value in settings.items()}
    with running(call, environment, tmp_path / "rotel.log", lambda: listens(grpc) and listens(http)):
        agent_run(f"http://127.0.0.1:{http}", "collected-1")
        found = until(lambda: store.select("sessions", sessions=["collected-1"]), 20)
    assert found, (tmp_path / "rotel.log").read_text()[-2000:]
    assert (found[0]["calls"], found[0]["empty"], found[0]["tool"], found[0]["band"]) == (1, 1, 0.0, "broken")


def test_every_query_of_the_grafana_dashboard_runs(store):
    printed = subprocess.run([COMMAND, "clickhouse", "dashboard"], capture_output=True, text=True, check=True).stdout
    dashboard = json.loads(printed)
    statements = [panel["targets"][0]["rawSql"] for panel in dashboard["panels"]]
    statements += [dashboard["templating"]["list"][1]["query"], dashboard["annotations"]["list"][0]["target"]["rawSql"]]
    for statement in statements:
        sql = re.sub(r"\$__timeFilter\((\w+)\)", rf"\1 > toDateTime({int(time.time()) - 3_600})", statement)
        sql = re.sub(r"\$__timeInterval\((\w+)\)", r"toStartOfInterval(\1, INTERVAL 1 MINUTE)", sql).replace(
            "${agent:singlequote}", "'agent'"
        )
        assert "$" not in sql
        store._rows(sql, {})


def test_the_printed_schema_is_the_one_that_serve_makes(tmp_path):
    from chdb.session import Session

    printed = subprocess.run([COMMAND, "clickhouse", "ddl", "--ttl-days", "9"], capture_output=True, text=True, check=True).stdout
    session = Session(str(tmp_path / "by-hand"))
    for statement in printed.split(";\n"):
        if statement.strip():
            session.query(statement)
    tables = session.query("SELECT name FROM system.tables WHERE database = 'agent_reach' ORDER BY name", "TSV")
    names = str(tables).split()
    session.close()
    opened = open_store("", tmp_path / "opened")
    with opened._readers.one() as reader:
        made = str(reader.query("SELECT name FROM system.tables WHERE database = 'agent_reach' ORDER BY name", "TSV")).split()
    opened.close()
    assert names == made
