"""`agent-reach baseline` and `replay`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from agent_reach.cli.agents import fresh, load_factory
from agent_reach.cli.console import check_writable, errors, output
from agent_reach.contracts import Routes
from agent_reach.errors import ReachError
from agent_reach.evaluation.baseline import Baseline, Finding, against_first_values, compare, to_record
from agent_reach.evaluation.replay import Script, replay
from agent_reach.importers.files import read_conversations
from agent_reach.importers.scoring import Scoring

_FAILING = ("drift", "below")

baseline = typer.Typer(no_args_is_help=True, help="Keep reach rates, and see whether a later run drifted from them.")


@baseline.command()
def save(
    files: Annotated[list[Path], typer.Argument(help="Recorded conversations, or our own events.")],
    routes: Annotated[Path, typer.Option(help="The route table.")],
    to: Annotated[Path, typer.Option("--to", help="The file to write.")] = Path("baseline.json"),
) -> None:
    """Keep the reach rates of recorded conversations."""
    check_writable(to)
    run = Baseline()
    # Sessions that are named after the only file are the same ones when the file has another name.
    stem = f"{files[0].stem}:" if len(files) == 1 else ""
    for _row in Scoring(
        Routes.load(routes), keep=lambda e: run.observe(replace(e, session=e.session.removeprefix(stem)))
    ).score_all(files, 1):
        pass
    if not run.pairs:
        raise ReachError(
            "nothing to keep: no task unit has a route; do the intents of the table have steps, and do messages match?"
        )
    run.save(to)
    errors.print(f"{len(run.pairs)} steps of {len(run.intents)} intents kept in {escape(str(to))}")


@baseline.command("compare")
def compare_(
    run: Annotated[Path, typer.Argument(help="What `save` or `replay --save` wrote of the new run.")],
    against: Annotated[Path | None, typer.Option(help="The baseline; without one the first values, 0.9 and 0.7.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare a run with a baseline on the same conversations; exit status 1 when it drifted."""
    _tell(Baseline.load(run), Baseline.load(against) if against else None, as_json)


def replay_(
    set_: Annotated[Path, typer.Argument(metavar="SET", help="Recorded conversations; their user messages are asked again.")],
    agent: Annotated[
        str, typer.Option(help="module:factory; gives a fresh graph, executor, runnable or function; may take `reach`.")
    ],
    routes: Annotated[Path, typer.Option(help="The route table.")],
    save_to: Annotated[Path | None, typer.Option("--save", help="Keep the run as a baseline in this file.")] = None,
    against: Annotated[Path | None, typer.Option(help="A baseline to compare with; exit status 1 on drift.")] = None,
    store: Annotated[Path | None, typer.Option(help="Append the events to this file.")] = None,
    at_once: Annotated[int, typer.Option(min=1, help="Conversations that run at the same time.")] = 4,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Ask an agent the user's messages of recorded conversations again; exit status 1 on drift, or when the agent raised."""
    from agent_reach.integrations.asking import conversation
    from agent_reach.reach import Reach

    check_writable(save_to)
    factory = load_factory(agent)
    before = Baseline.load(against) if against else None
    run = Baseline()
    reach = Reach(Routes.load(routes), store=store)
    reach.add_sink(run.observe)
    scripts = [
        Script(talk.id, tuple(message.text for message in talk.messages if message.role == "user" and message.text))
        for talk in read_conversations(set_)
    ]
    if not any(script.messages for script in scripts):
        raise ReachError(f"{set_}: expected conversations with messages of a user, found none")
    results = list(replay(scripts, lambda session: conversation(reach, fresh(factory, reach), session), at_once=at_once))
    reach.shutdown()
    failed = [result for result in results if result.error]
    errors.print(f"{len(results)} conversations replayed, {len(failed)} ended by an error")
    for result in failed[:5]:
        errors.print(f"  {escape(result.session)}, message {result.asked + 1}: {escape(result.error)}")
    if save_to:
        run.save(save_to)
    _tell(run, before, as_json)
    if failed:
        raise typer.Exit(1)


def _tell(run: Baseline, before: Baseline | None, as_json: bool) -> None:
    found = compare(before, run) if before is not None else against_first_values(run)
    if as_json:
        typer.echo(json.dumps({"findings": to_record(found), "models": sorted(run.models), "prompts": sorted(run.prompts)}))
    else:
        _print(found, run, before)
    if any(finding.verdict in _FAILING for finding in found):
        raise typer.Exit(1)


def _print(found: list[Finding], run: Baseline, before: Baseline | None) -> None:
    title = "reach on the same conversations" if before else "candidate reach against the first values"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("intent", "figure", "before" if before else "wanted", "after", "n", "difference", "p", "verdict"):
        table.add_column(name, justify="left" if name in ("intent", "figure", "verdict") else "right")
    for one in found:
        known = one.after is not None
        table.add_row(
            escape(one.intent),
            one.figure,
            f"{one.before:.2f}" if known else "–",
            f"{one.after:.2f}" if known else "–",
            str(one.n),
            f"{one.difference.low:+.2f} … {one.difference.high:+.2f}" if one.difference else "–",
            f"{one.p:.3f}" if one.p is not None else "–",
            f"[red]{one.verdict}[/]" if one.verdict in _FAILING else one.verdict,
        )
    output.print(table)
    if before is not None:
        for name, old, new in (("model", before.models, run.models), ("prompt", before.prompts, run.prompts)):
            if old and new and old != new:
                output.print(f"{name} changed: {escape(', '.join(sorted(old)))} → {escape(', '.join(sorted(new)))}")
