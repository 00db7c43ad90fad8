"""A report as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agent_reach.evaluation.report.words import between, figures_of, gate, share, spread

_WORST = 20


def markdown(record: Mapping[str, Any]) -> str:
    """The whole report.

    Args:
        record: what `summary` gives.
    """
    return "\n".join(_lines(record)) + "\n"


def _lines(record: Mapping[str, Any]) -> Iterable[str]:
    yield f"# Evaluation of {_safe(record['agent'])}"
    yield ""
    if not record["runs"]:
        yield "No run was made."
    else:
        yield f"- {gate(record['gate'], record['runs'])}"
        yield f"- composite {spread(record['composite'])}, 95 % interval {between(record['composite']['interval'])}"
        yield f"- {record['tasks']} tasks, {record['runs']} runs, weights: {record['preset']}"
    for note in (*record["notes"], *record["broken"]):
        yield f"- note: {_safe(note)}"
    for task in record["by_task"]:
        yield ""
        yield from _task(task)


def _task(task: Mapping[str, Any]) -> Iterable[str]:
    yield f"## {_safe(task['task'])}"
    yield ""
    if not task["runs"]:
        yield "No run was made."
        return
    yield gate(task["gate"], task["runs"]) + (" **High risk**: under half of the last level is done." if task["high_risk"] else "")
    yield ""
    yield "| figure | value |"
    yield "|---|---|"
    for name, value in figures_of(task):
        yield f"| {name} | {_safe(value)} |"
    yield ""
    yield "| node | type | level | reached | 95 % |"
    yield "|---|---|---|---|---|"
    for node in task["nodes"]:
        yield (
            f"| {_safe(node['node'])} | {node['type']} | {node['level'] or '–'} | {node['done']} of {node['runs']} | "
            f"{between(node['interval'])} |"
        )
    yield ""
    yield "| tool | calls | attempts | ok | failed | empty | faults |"
    yield "|---|---|---|---|---|---|---|"
    for use in task["tools"]:
        yield f"| {' | '.join(_safe(value) for value in use.values())} |"
    if task["causes"]:
        yield ""
        yield "| first link that broke | runs |"
        yield "|---|---|"
        for cause, times in task["causes"].items():
            yield f"| {_safe(cause)} | {times} |"
    worst = sorted((run for run in task["by_run"] if not run["gate"]), key=lambda run: run["gate_score"])[:_WORST]
    if worst:
        yield ""
        yield "| failed run | ended | SC | where it broke |"
        yield "|---|---|---|---|"
        for run in worst:
            broke = run["broke"][0] if run["broke"] else None
            text = f"step {broke['step']}: {'; '.join(broke['reasons'])}" if broke else "no signal"
            yield f"| {run['run']} | {run['ended']} | {share(run['composite'])} | {_safe(text)} |"


def _safe(text: Any) -> str:
    """Text that breaks no table and makes no markup."""
    plain = " ".join(str(text).split())
    for sign in ("\\", "|", "<", ">", "`", "*", "_", "[", "]"):
        plain = plain.replace(sign, f"\\{sign}" if sign not in "<>" else {"<": "&lt;", ">": "&gt;"}[sign])
    return plain
