"""The schema as numbered migrations, for one machine or for a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import Final

from agent_reach.errors import ReachError

DATABASE: Final = "agent_reach"
TTL_DAYS: Final = 30

_REPLICA = "'/clickhouse/tables/{shard}/{database}/{table}', '{replica}'"


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered step.

    Attributes:
        number, name: such as 1 and `traces`.
        statements: SQL, to be run in this order.
    """

    number: int
    name: str
    statements: tuple[str, ...]


def migrations(*, cluster: str = "", ttl_days: int = TTL_DAYS) -> list[Migration]:
    """All steps, in order.

    Args:
        cluster: name of a ClickHouse cluster; tables become Replicated, with a Distributed one in front.
        ttl_days: after which rows are dropped.

    Raises:
        ReachError: the cluster's name is no identifier, or the days are not positive.
    """
    if cluster and not cluster.replace("_", "a").replace("-", "a").isalnum():
        raise ReachError(f"cluster: expected a name of letters, digits, '_' and '-', found {cluster!r}")
    if ttl_days < 1:
        raise ReachError(f"ttl_days: expected at least 1, found {ttl_days}")
    values = _on_cluster(cluster) if cluster else _ALONE
    folder = files("agent_reach.store") / "sql"
    counts = "\n".join(_code((folder / "counts.sql").read_text("utf-8")))
    found = []
    for file in sorted(f.name for f in folder.iterdir() if f.name[:4].isdigit()):
        text = Template((folder / file).read_text("utf-8")).substitute(values, ttl_days=ttl_days, counts=counts)
        statements = tuple(_expanded(text, cluster))
        found.append(Migration(int(file[:4]), file[5:-4], statements))
    return found


_LEDGER: Final = """CREATE TABLE IF NOT EXISTS {database}.reach_migrations {on_cluster} (
    `number` UInt32, `name` String, `applied` DateTime DEFAULT now()
) ENGINE = {engine} ORDER BY number"""


def ledger(cluster: str = "") -> str:
    """The table that says which steps were done."""
    values = _on_cluster(cluster) if cluster else _ALONE
    return _LEDGER.format(database=DATABASE, on_cluster=values["on_cluster"], engine=values["merge_tree"])


def applied(step: Migration) -> str:
    """The statement that notes a step as done."""
    return f"INSERT INTO {DATABASE}.reach_migrations (number, name) VALUES ({step.number}, '{step.name}')"


def script(*, cluster: str = "", ttl_days: int = TTL_DAYS) -> str:
    """The whole schema as one SQL script."""
    on = f" ON CLUSTER '{cluster}'" if cluster else ""
    lines = [f"CREATE DATABASE IF NOT EXISTS {DATABASE}{on};", f"USE {DATABASE};", f"{ledger(cluster)};"]
    for step in migrations(cluster=cluster, ttl_days=ttl_days):
        lines += ["", f"-- {step.number:04d} {step.name}", *(f"{statement};" for statement in step.statements), f"{applied(step)};"]
    return "\n".join(lines)


_ALONE: Final = {
    "on_cluster": "",
    "local": "",
    "merge_tree": "MergeTree",
    "replacing": "ReplacingMergeTree",
    "replacing_minutes": "ReplacingMergeTree(taken_at)",
    "dedup": ", non_replicated_deduplication_window = 1000",
    "distributed": "--distributed",
}


def _on_cluster(cluster: str) -> dict[str, str]:
    return {
        "on_cluster": f"ON CLUSTER '{cluster}'",
        "local": "_local",
        "merge_tree": f"ReplicatedMergeTree({_REPLICA})",
        "replacing": f"ReplicatedReplacingMergeTree({_REPLICA})",
        "replacing_minutes": f"ReplicatedReplacingMergeTree({_REPLICA}, taken_at)",
        "dedup": "",
        "distributed": "--distributed",
    }


def _code(text: str) -> list[str]:
    """The lines that are no comment of their own."""
    return [line for line in text.splitlines() if not line.startswith("--") or line.startswith("--distributed")]


def statements_of(text: str) -> Iterator[str]:
    """The statements of a SQL file, without the comments between them."""
    for statement in "\n".join(_code(text)).split(";\n"):
        if statement.strip():
            yield statement.strip().rstrip(";")


def _expanded(text: str, cluster: str) -> Iterator[str]:
    for statement in statements_of(text):
        if not statement.startswith("--distributed"):
            yield statement
        elif cluster:
            _, table, _, key = statement.split(maxsplit=3)
            yield (
                f"CREATE TABLE IF NOT EXISTS {table} ON CLUSTER '{cluster}' AS {table}_local\n"
                f"ENGINE = Distributed('{cluster}', currentDatabase(), {table}_local, {key})"
            )
