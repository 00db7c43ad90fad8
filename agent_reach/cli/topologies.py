"""`agent-reach topology`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent_reach.cli.console import check_writable, output
from agent_reach.contracts.topology import Topology
from agent_reach.evaluation.report.drawings import graph

topology = typer.Typer(no_args_is_help=True, help="Topologies of tasks.")


@topology.callback()
def _topology() -> None:
    """Topologies of tasks."""


@topology.command("check")
def check(file: Annotated[Path, typer.Argument(help="YAML or JSON.")]) -> None:
    """Name what is likely wrong in a topology; exit status 1 when anything is."""
    found = Topology.load(file).lint()
    for line in found:
        output.print(line, markup=False, highlight=False, soft_wrap=True)
    if found:
        raise typer.Exit(1)
    output.print("nothing found")


@topology.command("draw")
def draw(
    file: Annotated[Path, typer.Argument(help="YAML or JSON.")],
    to: Annotated[Path | None, typer.Option("--to", help="An .svg or .dot file; without it DOT is printed.")] = None,
) -> None:
    """Draw a topology as SVG or in the DOT language."""
    check_writable(to)
    loaded = Topology.load(file)
    if to is None:
        typer.echo(loaded.to_dot())
    else:
        to.write_text(f"{graph(loaded, {})}\n" if to.suffix == ".svg" else f"{loaded.to_dot()}\n", encoding="utf-8")
