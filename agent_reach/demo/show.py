"""Run the tasks twice and show what compensation changes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.table import Table

from agent_reach.contracts import Compensation
from agent_reach.demo.desk import ROUTES, build
from agent_reach.demo.model import ScriptedModel
from agent_reach.demo.relevance import fit_relevance
from agent_reach.demo.tasks import TASKS, run_task
from agent_reach.demo.world import World
from agent_reach.events import CompensationStep, Event
from agent_reach.reach import Reach
from agent_reach.scores import ReachScore, Tally, reach_score

_COLOURS = {"healthy": "green", "degraded": "yellow", "broken": "red"}


@dataclass
class Run:
    """What one run over all tasks came to."""

    name: str
    done: int = 0
    tally: Tally = field(default_factory=Tally)
    rungs: Counter[str] = field(default_factory=Counter)
    spans: int = 0

    def __call__(self, event: Event) -> None:
        self.tally.add(event)
        if isinstance(event, CompensationStep):
            self.rungs[event.rung] += 1

    @property
    def score(self) -> ReachScore:
        return reach_score(self.tally, ROUTES.weights, ROUTES.thresholds)


def run_demo(console: Console, *, model: str | None, otlp: str | None, store: Path | None) -> None:
    """The whole demonstration."""
    chat = _model(model)
    relevance = fit_relevance()
    console.print(
        "[bold]After-sales desk[/]: triage hands over to orders, policy and refunds; 12 customers, most with a fault in the way.\n"
    )
    cells: dict[str, list[str]] = {task.name: ["", "", ""] for task in TASKS}
    runs, sent = [], True
    with Live(_table(cells), console=console, refresh_per_second=8) as live:
        for column, (name, policy) in enumerate(
            (("observing", None), ("compensating", Compensation(human="interrupt", backoff=0.05, backoff_max=0.2)))
        ):
            run = Run(name)
            reach = Reach(ROUTES, compensation=policy, otlp=otlp, store=store, relevance=relevance, calibrated=policy is not None)
            reach.add_sink(run)
            for number, task in enumerate(TASKS, 1):
                world = World()
                before = Counter(run.rungs)
                desk = build(reach, chat, world)
                done, _, _ = run_task(desk, reach, world, task, f"{name}-{number}")
                run.done += done
                cells[task.name][column] = "[green]done[/]" if done else "[red]not done[/]"
                if policy is not None:
                    used = run.rungs - before
                    cells[task.name][2] = ", ".join(f"{rung} ×{n}" if n > 1 else rung for rung, n in used.items())
                live.update(_table(cells))
            sent = reach.shutdown() and sent
            runs.append(run)
    console.print(_summary(runs))
    _say_where(console, otlp, store, sent=sent)


def _model(name: str | None) -> Any:
    if name is None:
        return ScriptedModel()
    from agent_reach.integrations.answers import chat_model

    return chat_model(name)


def _table(cells: dict[str, list[str]]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("customer", "observing", "compensating"):
        table.add_column(title, no_wrap=True)
    table.add_column("rungs used")
    for name, row in cells.items():
        table.add_row(name, *row)
    return table


def _summary(runs: list[Run]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    for run in runs:
        table.add_column(run.name, justify="right")
    table.add_row("completed", *(f"{run.done} of {len(TASKS)}" for run in runs))
    table.add_row("guessed answers", *(str(run.tally.guessed) for run in runs))
    table.add_row("calls that did not reach", *(str(run.tally.calls["fail"] + run.tally.calls["empty_alias"]) for run in runs))
    table.add_row("ToolReach", *(_figure(run.score.tool, run.score.bands.get("tool", "")) for run in runs))
    table.add_row("  on first attempts alone", *(_figure(run.score.first_tool, "") for run in runs))
    table.add_row("KnowledgeReach", *(_figure(run.score.knowledge, run.score.bands.get("knowledge", "")) for run in runs))
    table.add_row("TaskReach", *(_figure(run.score.task, run.score.bands.get("task", "")) for run in runs))
    table.add_row("ReachScore", *(_figure(run.score.total, run.score.band) for run in runs), style="bold")
    table.add_row("rungs used", *(_rungs(run.rungs) for run in runs))
    return table


def _rungs(rungs: Counter[str]) -> str:
    return ", ".join(f"{name} {n}" for name, n in rungs.items()) or "–"


def _figure(value: float | None, band: str) -> str:
    if value is None:
        return "–"
    return f"[{_COLOURS[band]}]{band} {value:.2f}[/]" if band else f"{value:.2f}"


def _say_where(console: Console, otlp: str | None, store: Path | None, *, sent: bool) -> None:
    if otlp is None:
        console.print("Spans went nowhere: name a collector, such as `--otlp http://localhost:4318`.")
    elif sent:
        console.print(f"Spans went to {otlp}.")
    else:
        console.print(f"[red]Not all spans were taken by {otlp}[/]: does something listen there, and does it ask for a token?")
    if store:
        console.print(f"Events are in {store}; `agent-reach score {store}` reads them.")
