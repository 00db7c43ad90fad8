"""`agent-reach eval` and `compare`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager, nullcontext, redirect_stdout
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from agent_reach.cli.agents import load_factory
from agent_reach.cli.console import errors, output
from agent_reach.contracts import Routes
from agent_reach.contracts.load import read_yaml
from agent_reach.contracts.topology import Topology
from agent_reach.errors import ReachError
from agent_reach.evaluation.compare import COMPARED, Difference, compare, means, to_record
from agent_reach.evaluation.faults import KINDS
from agent_reach.evaluation.report import write_report
from agent_reach.evaluation.report.drawings import radar
from agent_reach.evaluation.report.words import between, figures_of, gate, share, spread
from agent_reach.evaluation.results import Results
from agent_reach.evaluation.summary import falls_short, summary

_SHOWN = 5


def eval_(
    topologies: Annotated[list[Path], typer.Argument(metavar="TOPOLOGY...", help="Files of topologies, YAML or JSON.")],
    agent: Annotated[
        str | None, typer.Option(help="module:factory; gives a fresh agent, or agent and state; may take `reach`.")
    ] = None,
    recorded: Annotated[list[Path] | None, typer.Option(help="Recorded conversations instead of an agent; repeatable.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="Of each task; under 5 nothing is concluded.")] = 5,
    out: Annotated[Path | None, typer.Option(help="Folder of runs and reports; a command that was cut off goes on there.")] = None,
    routes: Annotated[Path | None, typer.Option(help="A route table: contracts of the tools, alternates, compensation.")] = None,
    compensate: Annotated[bool, typer.Option("--compensate", help="Mend what breaks, as the route table allows.")] = False,
    faults: Annotated[str, typer.Option(help=f"`all`, or some of {', '.join(KINDS)}, with commas.")] = "",
    seed: Annotated[int, typer.Option(help="Of the faults.")] = 0,
    min_gate: Annotated[float | None, typer.Option(min=0, max=1, help="Share of runs to pass; else exit status 1.")] = None,
    preset: Annotated[str, typer.Option(help="Weights: default, customer_service, operations or research.")] = "default",
    at_once: Annotated[int, typer.Option(min=1, help="Runs at the same time.")] = 4,
    processes: Annotated[bool, typer.Option("--processes", help="Each of them in a process of its own.")] = False,
    per_minute: Annotated[float | None, typer.Option(min=0.01, help="Runs begun in a minute, at most.")] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds of one run.")] = 120.0,
    budget: Annotated[int | None, typer.Option(min=1, help="Tokens of all runs together.")] = None,
    prices: Annotated[Path | None, typer.Option(help="YAML or JSON: model: [input, output], of a million tokens.")] = None,
    task_key: Annotated[str, typer.Option(help="With --recorded: key of a record that names its task.")] = "task",
    name: Annotated[str, typer.Option(help="What to call the agent in reports.")] = "",
    otlp: Annotated[str | None, typer.Option(help="Endpoint of a collector for the spans of the runs.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run an agent over the topology of a task, with faults if wanted; exit status 1 when too few runs pass."""
    if bool(agent) == bool(recorded):
        raise ReachError("expected either --agent, to run one, or --recorded, to look at what was recorded")
    loaded = [Topology.load(path) for path in topologies]
    for topology in loaded:
        for line in topology.lint():
            errors.print(escape(line), style="dim", highlight=False, soft_wrap=True)
    if recorded:
        from agent_reach.importers.trials import recorded_results

        table = Routes.load(routes) if routes else Routes()
        results = recorded_results(loaded, recorded, table, task_key=task_key, agent=name or "recorded", preset=preset)
    else:
        options: dict[str, Any] = {
            "faults": _faults(faults), "seed": seed, "routes": routes, "compensation": _compensation(compensate, routes),
            "preset": preset, "at_once": at_once, "per_minute": per_minute, "timeout": timeout, "budget": budget,
            "prices": _prices(prices), "agent": name, "out": out, "otlp": otlp,
        }  # fmt: skip
        results = _run(loaded, str(agent), runs, processes, options)
    record = write_report(results, out, min_gate=min_gate) if out else summary(results, min_gate=min_gate)
    if as_json:
        typer.echo(json.dumps(record))
    else:
        _show(record)
    if out:
        errors.print(f"reports in {escape(str(out))}: report.html, report.md, report.json, junit.xml, graphs", soft_wrap=True)
    if falls_short(record, min_gate or 0.0):
        raise typer.Exit(1)


def _run(topologies: list[Topology], agent: str, runs: int, processes: bool, options: Mapping[str, Any]) -> Results:
    from agent_reach.evaluate import Evaluation

    factory = load_factory(agent)
    pool: Any = ProcessPoolExecutor(options["at_once"], get_context("spawn")) if processes else nullcontext(None)
    bar = Progress(TextColumn("runs"), *Progress.get_default_columns()[1:], MofNCompleteColumn(), console=errors, transient=True)
    with bar, pool as executor, _kept_clean():
        task = bar.add_task("runs", total=runs * len(topologies))
        given: dict[str, Any] = {**options, "agent": options["agent"] or agent}
        at_work: Executor | None = executor
        evaluation = Evaluation(topologies, factory, runs, executor=at_work, progress=lambda _trace: bar.advance(task), **given)
        return evaluation.run()


@contextmanager
def _kept_clean() -> Iterator[None]:
    """Whatever agents print goes to stderr, so that stdout holds the report alone."""
    try:
        kept = os.dup(sys.stdout.fileno())
    except (OSError, ValueError):
        with redirect_stdout(sys.stderr):
            yield
        return
    sys.stdout.flush()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, sys.stdout.fileno())
        os.close(kept)


def _compensation(wanted: bool, routes: Path | None) -> bool | None:
    """On, off, or what the route table says."""
    return True if wanted else None if routes else False


def _faults(text: str) -> Any:
    if text in ("", "none"):
        return None
    return True if text == "all" else tuple(part.strip() for part in text.split(","))


def _prices(path: Path | None) -> dict[str, tuple[float, float]] | None:
    if path is None:
        return None
    data, _lines = read_yaml(path)
    try:
        return {str(model): (float(given), float(replied)) for model, (given, replied) in data.items()}
    except (AttributeError, TypeError, ValueError):
        raise ReachError(f"{path}: expected `model: [input, output]`, of a million tokens each") from None


def _show(record: Mapping[str, Any]) -> None:
    for task in record["by_task"]:
        output.print(f"\n[bold]{escape(task['task'])}[/]")
        if not task["runs"]:
            output.print("no run was made")
            continue
        output.print(gate(task["gate"], task["runs"]), highlight=False, markup=False, soft_wrap=True)
        if task["high_risk"]:
            output.print("[red]high risk[/]: under half of the last level is done")
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        for name, value in figures_of(task):
            table.add_row(name, escape(value))
        output.print(table)
        _show_failures(task)
    if record["runs"] and len(record["by_task"]) > 1:
        output.print(
            f"\n[bold]all[/]  {gate(record['gate'], record['runs'])}; composite {spread(record['composite'])}", highlight=False
        )
    for note in (*record["notes"], *record["broken"]):
        errors.print(f"note: {escape(note)}", highlight=False, soft_wrap=True)


def _show_failures(task: Mapping[str, Any]) -> None:
    failed = sorted((run for run in task["by_run"] if not run["gate"]), key=lambda run: run["gate_score"])
    for run in failed[:_SHOWN]:
        broke = run["broke"][0] if run["broke"] else None
        why = f"step {broke['step']}: {'; '.join(broke['reasons'])}" if broke else run["reason"] or "no signal"
        output.print(
            f"  run {run['run']} {run['ended']}, SC {share(run['composite'])}: {escape(why)}", highlight=False, soft_wrap=True
        )
    if len(failed) > _SHOWN:
        output.print(f"  … and {len(failed) - _SHOWN} more failed runs", highlight=False)


def compare_(
    results: Annotated[list[Path], typer.Argument(metavar="A B...", help="Folders or runs.jsonl files that `eval` wrote.")],
    radar_to: Annotated[Path | None, typer.Option("--radar", help="Draw the agents on one radar into this SVG file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare agents on the same tasks, each with the first one; exit status 1 when one is worse."""
    if len(results) < 2:
        raise ReachError("expected two results or more")
    first, *others = [Results.load(path) for path in results]
    labels = _labels([first, *others], results)
    compared = [(label, compare(first, other)) for label, other in zip(labels[1:], others, strict=True)]
    if radar_to is not None:
        _draw([first, *others], labels, radar_to)
    if as_json:
        typer.echo(json.dumps({"against": labels[0], "agents": to_record(compared)}))
    else:
        for label, differences in compared:
            _print(labels[0], label, differences)
    if any(each.verdict == "worse" for _, differences in compared for each in differences):
        raise typer.Exit(1)


def _labels(results: list[Results], paths: list[Path]) -> list[str]:
    """Names of the agents; where two bear the same, their folders."""
    names = [each.agent for each in results]
    return names if len(set(names)) == len(names) else [f"{name} ({path})" for name, path in zip(names, paths, strict=True)]


def _draw(results: list[Results], labels: list[str], to: Path) -> None:
    drawn = radar(COMPARED, {label: list(means(each).values()) for label, each in zip(labels, results, strict=True)})
    try:
        to.write_text(str(drawn) + "\n", encoding="utf-8")
    except OSError as error:
        raise ReachError(f"{to}: cannot be written: {error.strerror}") from None


def _print(first: str, other: str, differences: list[Difference]) -> None:
    title = f"{escape(other)} against {escape(first)}"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("figure", "before", "after", "95 % of the difference", "p", "tasks", "verdict"):
        table.add_column(name)
    for each in differences:
        verdict = f"[red]{each.verdict}[/]" if each.verdict == "worse" else each.verdict
        table.add_row(
            each.figure,
            share(each.before),
            share(each.after),
            escape(between(each.interval)),
            share(each.p),
            str(each.tasks),
            verdict,
        )
    output.print(table)
