"""Figures as tables."""

from __future__ import annotations

from typing import Any

from rich.markup import escape
from rich.table import Table

from agent_reach.cli.console import output
from agent_reach.importers.scoring import Row, Scoring
from agent_reach.scores.coverage import Coverage
from agent_reach.scores.misses import Cause
from agent_reach.scores.rate import Rate, RateTally
from agent_reach.scores.utilisation import FIFTHS, Utilisation, advice


def print_figures(scoring: Scoring) -> None:
    """What is counted beside the scores."""
    if scoring.rates.trials:
        print_rates(scoring.rates)
        print_causes(scoring.causes())
    if scoring.coverage is not None:
        print_coverage(scoring.coverage)
    if scoring.utilisation.turns:
        print_utilisation(scoring.utilisation)


def print_utilisation(counts: Utilisation) -> None:
    """Context utilisation by position, label and source, and what to change."""
    title = "context: fragments that replies cite, of those that stood there"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("fragments")
    table.add_column("cited", justify="right")
    for fifth, rate in counts.by("fifth").items():
        table.add_row(FIFTHS[fifth - 1], share(rate))
    for key in ("label", "source"):
        for name, rate in counts.by(key).items():
            if name:
                table.add_row(f"{key} {escape(name)}", share(rate))
    table.add_section()
    table.add_row("all", share(counts.overall), style="bold")
    output.print(table)
    for line in advice(counts):
        output.print(f"→ {escape(line)}")


_COLUMNS = ("calls", "ok", "failed", "empty", "uncounted", "score", "tool", "knowledge", "task", "band")
_HEADERS = {"failed": "fail", "uncounted": "other", "knowledge": "know."}
_COLOURS = {"healthy": "green", "degraded": "yellow", "broken": "red"}


def print_scores(total: Row, lowest: list[Row], count: int) -> None:
    noun = "session" if count == 1 else "sessions"
    table = Table(title=f"{count} {noun}", title_justify="left", box=None, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("session", overflow="ellipsis", no_wrap=True, max_width=18)
    for column in _COLUMNS:
        table.add_column(_HEADERS.get(column, column), justify="left" if column == "band" else "right", no_wrap=True)
    judged = any("outlook" in session for session in lowest)
    if judged:
        table.add_column("outlook", justify="right", no_wrap=True)
    for session in lowest:
        table.add_row(escape(session["session"]), *_cells(session), *([f"{session['outlook']:.2f}"] if judged else []))
    if count > len(lowest):
        table.add_row(f"… and {count - len(lowest)} more", *[""] * len(_COLUMNS))
    table.add_section()
    table.add_row("all", *_cells(total), style="bold")
    output.print(table)


def _cells(figures: dict[str, Any]) -> list[str]:
    cells = []
    for column in _COLUMNS:
        value = figures[column]
        text = "–" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)
        cells.append(f"[{_COLOURS[text]}]{text}[/]" if text in _COLOURS else text)
    return cells


_CAUSES_SHOWN = 10
_RATES = {
    "candidate": "candidate",
    "precise": "precise",
    "first": "first-turn",
    "decision": "decision",
    "execution": "execution",
    "reach": "with alternatives",
}


def print_causes(causes: list[Cause]) -> None:
    """Why tools were missed, and what to change."""
    for cause in causes[:_CAUSES_SHOWN]:
        output.print(f"{cause.n:>4} × {escape(cause.intent)} missed [bold]{escape(cause.tool)}[/]: {escape(cause.suggestion)}")


def print_rates(rates: RateTally) -> None:
    table = Table(
        title="reach rates by intent and needed tool", title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="bold"
    )
    for name in ("intent", "needed tool"):
        table.add_column(name)
    for title in _RATES.values():
        table.add_column(title, justify="right", no_wrap=True)
    figures = {figure: rates.rates(figure, ["intent", "tool"]) for figure in _RATES}
    for group in sorted({group for rows in figures.values() for group in rows}):
        table.add_row(*map(escape, group), *(share(figures[figure].get(group)) for figure in _RATES))
    table.add_section()
    table.add_row("all", "", *(share(rates.overall(figure)) for figure in _RATES), style="bold")
    output.print(table)
    if rates.without_route:
        output.print(f"{rates.without_route} units have no route and are in no rate")


def print_coverage(coverage: Coverage) -> None:
    title = "instructions: obeyed of those whose condition was met"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("atom")
    table.add_column("obeyed", justify="right")
    table.add_column("over-obeyed", justify="right")
    table.add_column("first not obeyed in")
    for atom in coverage.instructions.atoms:
        places = ", ".join(f"{conversation} turn {turn}" for conversation, turn in coverage.broken.get(atom.id, [])[:2])
        note = escape(coverage.failed.get(atom.id, places))
        table.add_row(escape(atom.id), share(coverage.rate(atom.id)), str(coverage.over_obeyed[atom.id]), note)
    table.add_section()
    table.add_row("all", share(coverage.rate()), str(coverage.over_obeyed.total()), "", style="bold")
    output.print(table)


def share(rate: Rate | None) -> str:
    """Such as `75% of 4`."""
    return "–" if rate is None or rate.value is None else f"{rate.value:.0%} of {rate.n}"
