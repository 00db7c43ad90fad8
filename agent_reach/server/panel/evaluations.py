"""What the page of evaluations shows: agents side by side on each task."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agent_reach.scores.several import FEWEST
from agent_reach.scores.stats import wilson
from agent_reach.store.port import Row


def tasks(runs: Iterable[Row], nodes: Iterable[Row]) -> list[dict[str, Any]]:
    """Each task with its agents, the newest first, and its nodes with the share of runs of each agent that reached them.

    Args:
        runs: of the query `task_runs`.
        nodes: of the query `task_nodes`.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in runs:
        key = row["task"], row["task_version"]
        task = found.setdefault(key, {"name": row["task"], "version": row["task_version"], "agents": [], "nodes": {}})
        task["agents"].append(_agent(row))
    for row in nodes:
        shared = found.get((row["task"], row["task_version"]))
        if shared is not None:
            n = row["reached"] + row["missed"]
            shared["nodes"].setdefault(row["node"], {})[row["agent_version"]] = {
                "share": row["reached"] / n,
                "n": n,
                "reached": row["reached"],
            }
    return list(found.values())


def _agent(row: Row) -> dict[str, Any]:
    runs = row["runs"]
    low, high = wilson(row["passed"], runs)
    return {
        "name": row["agent_version"],
        "runs": runs,
        "few": runs < FEWEST,
        "passed": row["passed"],
        "share": row["passed"] / runs,
        "low": low,
        "high": high,
        "composite": row["composite_sum"] / runs,
        "depth": row["depth_sum"] / runs,
        "purity": row["purity_sum"] / row["purities"] if row["purities"] else None,
        "digestion": row["digestion_sum"] / row["digestions"] if row["digestions"] else None,
        "tokens": row["tokens"] / runs,
        "cut_off": row["cut_off"],
        "last": row["last"],
    }
