"""`agent-reach blame`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from agent_reach.checks.blame import Blame, blame
from agent_reach.cli.console import output
from agent_reach.importers.transcripts import Transcript, read_transcripts

_TEXT = 90


def blame_(
    files: Annotated[list[Path], typer.Argument(help="Transcripts of failed runs: JSON with messages that name their speakers.")],
    top: Annotated[int, typer.Option(min=1, help="Steps shown of each run.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say where failed runs of several agents broke: steps and agents, the likeliest first, with reasons."""
    ranked = [(run, blame(run.steps, run.task)) for file in files for run in read_transcripts(file)]
    if as_json:
        runs = [{"run": run.id, "steps": [each._asdict() for each in found[:top]]} for run, found in ranked]
        typer.echo(json.dumps({"runs": runs}))
        return
    for run, found in ranked:
        _show(run, found[:top])


def _show(run: Transcript, found: list[Blame]) -> None:
    output.print(f"[bold]{escape(run.id)}[/]  {escape(run.task[:_TEXT])}", highlight=False, soft_wrap=True)
    if not found:
        output.print("  no step")
    for each in found:
        text = " ".join(run.steps[each.step].text.split())[:_TEXT]
        why = "; ".join(each.reasons) or "nothing speaks for it but its place"
        output.print(f"  step {each.step}, {escape(each.agent)} ({each.share:.0%}): {why}", highlight=False, soft_wrap=True)
        output.print(f"    {escape(text)}", style="dim", highlight=False, soft_wrap=True)
