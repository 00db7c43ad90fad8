"""`agent-reach calibrate`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from agent_reach.cli.console import check_writable, errors, output
from agent_reach.cli.tables import share
from agent_reach.contracts import Routes
from agent_reach.errors import ReachError
from agent_reach.evaluation.calibration import Bands, Bin, Relevances, calibrate_bands, calibrate_relevance, to_record
from agent_reach.evaluation.outlook import Outlook, effects_of, fit_outlook
from agent_reach.importers.fragments import labelled_fragments
from agent_reach.importers.labels import Condition
from agent_reach.importers.outlook import labelled_signals
from agent_reach.importers.scoring import Scoring


def calibrate(
    files: Annotated[list[Path], typer.Argument(help="Recorded conversations; with --relevance labelled fragments or events.")],
    good: Annotated[str, typer.Option(help="Which conversations ended well, such as reward>=1.")] = "",
    routes: Annotated[Path | None, typer.Option(help="The route table by which they are scored.")] = None,
    relevance: Annotated[bool, typer.Option("--relevance", help="Fit the relevance of fragments instead of the bands.")] = False,
    outlook: Annotated[
        Path | None, typer.Option(help="Fit how likely a conversation ends well by its own signals, and write that to this file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Fit the bands, or the relevance of fragments, to labelled history."""
    if relevance:
        fitted = calibrate_relevance([query for file in files for query in labelled_fragments(file)])
        typer.echo(json.dumps(to_record(fitted))) if as_json else _print_relevance(fitted)
        return
    if not good:
        raise ReachError("calibrate: needs --good, such as reward>=1: which conversations ended well")
    table = Routes.load(routes) if routes else Routes()
    if outlook is not None:
        check_writable(outlook)
        rows = [example for file in files for example in labelled_signals(file, table, Condition(good))]
        judge = fit_outlook([row for row, _ in rows], [well for _, well in rows], effects_of(table))
        judge.save(outlook)
        typer.echo(json.dumps(asdict(judge))) if as_json else _print_outlook(judge)
        return
    scoring = Scoring(table)
    examples = [example for file in files for example in scoring.labelled(file, Condition(good))]
    bands = calibrate_bands(examples)
    typer.echo(json.dumps(to_record(bands))) if as_json else _print_bands(bands)


def _print_bands(bands: Bands) -> None:
    table = _table("below this score", "failures caught", "good sessions disturbed")
    for cut in bands.cuts:
        table.add_row(f"{cut.at:.2f}", share(cut.caught), share(cut.disturbed))
    output.print(table)
    _print_bins(bands.bins, "went well")
    low, high = bands.interval
    output.print(f"AUC {bands.auc:.2f} ({low:.2f} to {high:.2f})")
    if not bands.tells:
        errors.print("the score does not tell good sessions from failed ones here: no cut is suggested")
        return
    lines = [
        f"{name}: {value:g}" for name, value in (("healthy", bands.healthy), ("degraded", bands.degraded)) if value is not None
    ]
    output.print(f"for the route table:\nthresholds: {{{', '.join(lines)}}}" if lines else "no cut fits", markup=False)


def _print_outlook(judge: Outlook) -> None:
    table = _table("signal", "goes with a good end")
    for name, weight in sorted(zip(judge.names, judge.weights, strict=True), key=lambda item: -abs(item[1])):
        table.add_row(name, f"{weight:+.2f}")
    output.print(table)
    output.print(f"fitted to {judge.n} conversations of this domain, held out AUC {judge.auc:.2f}; it says nothing of another one")
    if not judge.effects:
        errors.print("no tool is known to have side effects: signals about writes are zero; name them in a table with --routes")


def _print_relevance(fitted: Relevances) -> None:
    _print_bins(fitted.bins, "needed")
    output.print(f"calibration error {fitted.error:.3f}, Brier score {fitted.brier:.3f} (always the base rate: {fitted.base:.3f})")
    if fitted.brier >= fitted.base:
        errors.print("this relevance says no more than the base rate here: do not drop fragments by it")
    output.print(f"Reach(relevance=calibrated_relevance({fitted.slope:.4g}, {fitted.offset:.4g}), calibrated=True)", markup=False)


def _print_bins(bins: tuple[Bin, ...], well: str) -> None:
    table = _table("score from", "mean", well)
    for one in bins:
        table.add_row(f"{one.low:.1f}", f"{one.mean:.2f}", share(one.well))
    output.print(table)


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, justify="right")
    return table
