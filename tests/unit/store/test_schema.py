import json
import re
from importlib.resources import files

import pytest

from agent_reach.errors import ReachError
from agent_reach.store.named import as_text, queries, query
from agent_reach.store.otlp import COLUMNS
from agent_reach.store.schema import migrations, script


def test_migrations_are_numbered_without_a_gap():
    steps = migrations()
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert all(step.statements for step in steps)


def test_one_machine_needs_no_cluster_words():
    text = script()
    assert not re.search(r"Replicated|Distributed|ON CLUSTER|_local|\$\w", text)
    assert "TTL toDateTime(Timestamp) + toIntervalDay(30)" in text


def test_every_table_of_a_cluster_is_replicated_with_a_distributed_one_in_front():
    text = script(cluster="prod_1", ttl_days=7)
    local = set(re.findall(r"CREATE TABLE IF NOT EXISTS (\w+)_local", text))
    assert {"otel_traces", "reach_events", "reach_minutes"} <= local
    for table in local:
        assert re.search(rf"CREATE TABLE IF NOT EXISTS {table} ON CLUSTER 'prod_1' AS {table}_local\nENGINE = Distributed", text)
    assert text.count("Replicated") == len(local) + 1  # and the ledger
    creating = re.findall(r"CREATE (?:TABLE|VIEW|MATERIALIZED VIEW)[^;]*", text)
    assert all("ON CLUSTER 'prod_1'" in statement for statement in creating)
    assert "toIntervalDay(7)" in text
    assert "$" not in text


@pytest.mark.parametrize("name", ["a'; DROP TABLE x; --", "a b", "a'b"])
def test_a_cluster_name_that_is_none_is_refused(name):
    with pytest.raises(ReachError, match="cluster: expected a name"):
        script(cluster=name)


def test_days_must_be_positive():
    with pytest.raises(ReachError, match="ttl_days"):
        migrations(ttl_days=0)


def test_the_columns_of_the_traces_are_those_that_segments_fill():
    [create] = [s for s in migrations()[0].statements if s.startswith("CREATE TABLE IF NOT EXISTS otel_traces ")]
    flat = re.findall(r"^    `(\w+)`", create, re.MULTILINE)
    assert [column for column in COLUMNS if "." not in column] == [name for name in flat if name not in ("Events", "Links")]


def test_every_query_says_what_it_gives():
    for name, statement in queries().items():
        assert statement.startswith("-- "), name


def test_values_never_become_part_of_the_sql():
    statement, values = query("session_span", {"session": "x' OR 1=1 --", "more": 1})
    assert "OR 1=1" not in statement
    assert values == {"session": "x' OR 1=1 --"}


@pytest.mark.parametrize(
    ("value", "text"), [(True, "true"), (1.5, "1.5"), ("a\tb\\", "a\\tb\\\\"), (["a'b", "c"], "['a\\'b', 'c']"), ([], "[]")]
)
def test_parameters_are_escaped(value, text):
    assert as_text(value) == text


def test_the_dashboard_is_json_with_a_query_in_every_panel():
    dashboard = json.loads((files("agent_reach.store") / "grafana.json").read_text("utf-8"))
    assert len(dashboard["panels"]) >= 6
    assert all(panel["targets"][0]["rawSql"].startswith("SELECT") for panel in dashboard["panels"])
