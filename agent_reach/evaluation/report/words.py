"""How figures are written in every report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def share(value: float | None) -> str:
    """A share with three digits, a dash for one that is not defined."""
    return "–" if value is None else f"{value:.3f}"


def between(interval: Sequence[float] | None) -> str:
    """An interval."""
    return "" if interval is None else f"[{interval[0]:.3f}, {interval[1]:.3f}]"


def spread(record: Mapping[str, Any]) -> str:
    """A mean with its standard deviation."""
    deviation = record.get("deviation")
    return share(record.get("mean")) + (f" ± {deviation:.3f}" if deviation is not None else "")


def gate(record: Mapping[str, Any], runs: int) -> str:
    """How many runs passed, and what that says."""
    text = f"{record['passed']} of {runs} runs pass, {between(record['interval'])}"
    if "verdict" in record:
        text += f"; limit {record['limit']:g}: {record['verdict']}"
        if record["settled_by"]:
            text += f", {record['settled_by']} runs like these would settle it"
    return text


def figures_of(task: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The figures of a task, name and value."""
    met = task["obstacles"]
    effects, handoffs, tokens = task["effects"], task["handoffs"], task["tokens"]
    rows = [
        ("composite SC", spread(task["composite"])),
        ("reach depth RD", spread(task["depth"])),
        ("path purity PP", spread(task["purity"])),
        ("obstacle digestion OD", spread(task["digestion"])),
        ("plain completion", spread(task["completion"])),
        ("gate score", spread(task["gate_score"])),
        ("pass^k", ", ".join(f"k={k}: {value:.3f}" for k, value in task["pass_power"].items() if k in (1, 2, 3, 5, 8, 10, 20))),
        ("effects: precision, recall, F1", ", ".join(share(effects[name]) for name in ("precision", "recall", "f1"))),
        ("obstacles", f"{met['obstacles']}: {met['digested']} digested, {met['detours']} gone round, {met['stuck']} stuck retries"),
        ("optional, fallback nodes", f"{spread(task['optional'])}, {spread(task['fallback'])}"),
        ("ended", ", ".join(f"{name} {n}" for name, n in task["ended"].items())),
    ]
    if task["faults"]["planned"]:
        rows.append(("faults", f"{task['faults']['landed']} of {task['faults']['planned']} landed"))
    if handoffs["handoffs"]:
        delay = "" if handoffs["delay"] is None else f", {handoffs['delay']:.2f} s until the receiver acted"
        rows.append(
            ("handoffs", f"{handoffs['complete']} of {handoffs['handoffs']} complete, {handoffs['taken_up']} taken up{delay}")
        )
    if tokens["total"]:
        rows.append(
            (
                "tokens",
                f"{tokens['total']}; SC per 1,000: {spread(task['per_thousand'])}; per must-node {share(tokens['per_node'])}",
            )
        )
    if task["price"]["total"]:
        rows.append(("price", f"{task['price']['total']:.4f}; per must-node {task['price']['per_node'] or 0:.5f}"))
    if task["open_nodes"]["added"]:
        rows.append(("open nodes", f"{task['open_nodes']['done']} of {task['open_nodes']['added']} done"))
    return rows
