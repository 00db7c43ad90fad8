"""Writes the reports of an evaluation into a folder."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from agent_reach.errors import ReachError
from agent_reach.evaluation.report.drawings import graph
from agent_reach.evaluation.report.html import html
from agent_reach.evaluation.report.junit import junit
from agent_reach.evaluation.report.markdown import markdown
from agent_reach.evaluation.results import Results
from agent_reach.evaluation.summary import summary


def write_report(results: Results, folder: str | Path, *, min_gate: float | None = None) -> dict[str, Any]:
    """Write `report.html`, `report.md`, `report.json`, `junit.xml`, and a `graph-….dot` and `.svg` a task.

    Args:
        results: of the evaluation.
        folder: is made where it is missing.
        min_gate: share of runs that has to pass.

    Returns:
        what stands in `report.json`.

    Raises:
        ReachError: a file cannot be written.
    """
    record = summary(results, min_gate=min_gate)
    files = {
        "report.html": html(results, record),
        "report.md": markdown(record),
        "report.json": json.dumps(record, indent=1, ensure_ascii=False) + "\n",
        "junit.xml": junit(record),
    }
    for number, (topology, task) in enumerate(zip(results.topologies, record["by_task"], strict=False), 1):
        shares = {node["node"]: node["done"] / node["runs"] for node in task.get("nodes", ())}
        name = f"graph-{number}-{re.sub(r'[^A-Za-z0-9-]+', '-', topology.name)[:40]}"
        files[f"{name}.dot"] = topology.to_dot([id for id, share in shares.items() if share >= 0.5]) + "\n"
        files[f"{name}.svg"] = str(graph(topology, shares)) + "\n"
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (Path(folder) / name).write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise ReachError(f"{folder}: the report cannot be written: {error.strerror}") from None
    return record
