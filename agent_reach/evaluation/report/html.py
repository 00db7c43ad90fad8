"""A report as one self-contained HTML file: no script, no network, everything escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from agent_reach.evaluation.report.drawings import graph, heat_map, stage_curves
from agent_reach.evaluation.report.markup import Markup, join, tag
from agent_reach.evaluation.report.words import between, figures_of, gate, share, spread
from agent_reach.evaluation.results import Results
from agent_reach.scores.several import Run
from agent_reach.scores.trace import Action

REPLAYED: Final = 100
"""Runs whose steps the file holds, the worst first; `runs.jsonl` holds all."""
_STEPS: Final = 120
_TEXT: Final = 500_000
"""Characters of arguments and answers that all replays share."""
_TOOL_COLUMNS: Final = ("tool", "calls", "attempts", "ok", "failed", "empty", "faults")
_STYLE: Final = """
:root { color-scheme: light dark }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 72rem; margin: 1.5rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: .6rem 0 } th, td { text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top }
th { border-bottom: 1px solid #888; font-weight: 600 } td { border-bottom: 1px solid #8884 }
.scroll { overflow-x: auto } svg { background: #fff; color: #000; max-width: none }
.flag { font-weight: 700; border: 1px solid; padding: 0 .4rem } .quiet { opacity: .7 }
code { font-size: .85em; word-break: break-word }
details { border-top: 1px solid #8884; padding: .3rem 0 } summary { cursor: pointer }
"""
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


def html(results: Results, record: Mapping[str, Any]) -> str:
    """The whole report.

    Args:
        results: of the evaluation.
        record: what `summary` gives for them.
    """
    replayed = _replayed(results)
    steps = sum(len(trace.actions[:_STEPS]) for trace, _ in results.all_runs if (trace.task, trace.run) in replayed)
    cut = min(300, max(20, _TEXT // (2 * max(1, steps))))
    body = [tag("h1", f"Evaluation of {record['agent']}"), _head(record)]
    for topology, task in zip(results.topologies, record["by_task"], strict=False):
        body.append(_task(topology, results.runs[topology.name], task, replayed, cut))
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"Evaluation of {record['agent']}"),
        tag("style", Markup(_STYLE)),
    )
    return f"<!doctype html>\n{tag('html', head, tag('body', body), lang='en')}\n"


def _replayed(results: Results) -> set[tuple[str, int]]:
    worst = sorted(results.all_runs, key=lambda run: (run[1].gate, run[1].gate_score, run[1].composite))
    return {(trace.task, trace.run) for trace, _ in worst[:REPLAYED]}


def _head(record: Mapping[str, Any]) -> Markup:
    notes = [tag("li", tag("span", "note", class_="flag"), " ", note) for note in (*record["notes"], *record["broken"])]
    if not record["runs"]:
        return join([tag("p", "No run was made."), tag("ul", notes)])
    whole = record["composite"]
    lines = [
        tag("li", gate(record["gate"], record["runs"])),
        tag("li", f"composite {spread(whole)}, 95 % interval {between(whole['interval'])}"),
        tag("li", f"{record['tasks']} tasks, {record['runs']} runs, weights: {record['preset']}"),
    ]
    return tag("ul", lines, notes)


def table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Markup:
    """A table."""
    head = tag("tr", (tag("th", name, scope="col") for name in names))
    return tag("div", tag("table", head, (tag("tr", (tag("td", cell) for cell in row)) for row in rows)), class_="scroll")


def _task(topology: Any, runs: list[Run], task: Mapping[str, Any], replayed: set[tuple[str, int]], cut: int) -> Markup:
    title = tag("h2", task["task"], " ", tag("span", f"version {task['version']}", class_="quiet"))
    if not runs:
        return join([title, tag("p", "No run was made.")])
    shares = {node["node"]: node["done"] / node["runs"] for node in task["nodes"]}
    risk = tag("span", "high risk: under half of the last level is done", class_="flag") if task["high_risk"] else None
    parts: list[Any] = [
        title,
        tag("p", gate(task["gate"], task["runs"]), " ", risk),
        table(("figure", "value"), figures_of(task)),
        tag("h3", "Graph: share of the runs that reached each node"),
        tag("div", graph(topology, shares), class_="scroll"),
        tag("h3", "Nodes by run"),
        tag("div", heat_map(topology, runs), class_="scroll"),
        _nodes(task),
        tag("h3", "Share done by level"),
        stage_curves({task["task"]: task["stages"]}),
        _causes(task),
        tag("h3", "Calls and attempts"),
        table(_TOOL_COLUMNS, [tuple(use.values()) for use in task["tools"]]),
        _sensitivity(task),
        tag("h3", "Runs"),
        [
            _replay(trace, figures, one, cut)
            for (trace, figures), one in _worst_first(runs, task)
            if (trace.task, trace.run) in replayed
        ],
    ]
    left = sum((trace.task, trace.run) not in replayed for trace, _ in runs)
    if left:
        parts.append(tag("p", f"{left} better runs are not shown; runs.jsonl holds every one.", class_="quiet"))
    return tag("section", parts)


def _worst_first(runs: list[Run], task: Mapping[str, Any]) -> list[tuple[Run, Mapping[str, Any]]]:
    return sorted(zip(runs, task["by_run"], strict=True), key=lambda pair: (pair[0][1].gate, pair[0][1].gate_score, pair[0][0].run))


def _nodes(task: Mapping[str, Any]) -> Markup:
    rows = [
        (
            node["node"],
            node["type"].replace("_", " "),
            node["level"] or "–",
            f"{node['done']} of {node['runs']}",
            between(node["interval"]),
        )
        for node in task["nodes"]
    ]
    return table(("node", "type", "level", "reached", "95 %"), rows)


def _causes(task: Mapping[str, Any]) -> Markup | None:
    if not task["causes"]:
        return None
    return join([tag("h3", "First link that broke"), table(("cause", "runs"), task["causes"].items())])


def _sensitivity(task: Mapping[str, Any]) -> Markup | None:
    if not task["faults"]["landed"]:
        return None
    rows = [
        (each["stage"], each["hit"], each["others"], "–" if each["difference"] is None else f"{each['difference']:+.3f}")
        for each in task["sensitivity"]
    ]
    return join([
        tag("h3", "Faults by stage: composite of the runs that were hit, against the others"),
        table(("stage", "runs hit", "other runs", "difference"), rows),
    ])  # fmt: skip


def _replay(trace: Any, figures: Any, one: Mapping[str, Any], cut: int) -> Markup:
    verdict = "passes" if figures.gate else "fails"
    broke = [
        tag("li", f"{'step ' + str(each['step']) if each['step'] else 'no step'}: {'; '.join(each['reasons'])}")
        for each in one["broke"]
    ]
    said = f"run {trace.run}: {verdict}, {trace.ended}, SC {share(figures.composite)}, {len(trace.actions)} actions"
    steps = [_step(number, action, trace.begun, cut) for number, action in enumerate(trace.actions[:_STEPS], 1)]
    more = len(trace.actions) - _STEPS
    return tag(
        "details",
        tag("summary", said),
        tag("p", trace.reason) if trace.reason else None,
        tag("p", "faults planned: ", ", ".join(trace.faults)) if trace.faults else None,
        join([tag("p", "Where it broke, likeliest first:"), tag("ol", broke)]) if broke else None,
        table(("", "s", "agent", "action", "status", "reached", "arguments", "answer"), steps),
        tag("p", f"{more} more actions") if more > 0 else None,
        tag("p", "done at the end: ", ", ".join(trace.late)) if trace.late else None,
    )


def _step(number: int, action: Action, begun: int, cut: int) -> Sequence[Any]:
    name = f"{'→ ' if action.kind == 'handoff' else ''}{action.name or 'asks the user'}"
    tries = (
        ", ".join(f"{each.tool} {each.status}{' slow' if each.slow else ''}" for each in action.tries)
        if len(action.tries) > 1
        else ""
    )
    faults = ", ".join(each.fault for each in action.tries if each.fault)
    status = [action.status, f" ({tries})" if tries else None, join([" ", tag("strong", f"fault {faults}")]) if faults else None]
    missing = f" without {', '.join(action.missing)}" if action.missing else ""
    seconds = f"{max(0, action.time - begun) / 1e9:.2f}"
    return (
        number, seconds, action.agent, name + missing, status, ", ".join(action.done), tag("code", _cut(action.arguments, cut)),
        tag("code", _cut(action.answer, cut)),
    )  # fmt: skip


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
