"""`agent-reach score`."""

from __future__ import annotations

import heapq
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from agent_reach.cli import tables
from agent_reach.cli.console import errors
from agent_reach.contracts import Routes
from agent_reach.contracts.instructions import Instructions
from agent_reach.events import Event
from agent_reach.importers.scoring import Row, Scoring, cores, figures
from agent_reach.importers.tools import read_tools

_SENT_AT_ONCE = 20_000


def score(
    files: Annotated[list[Path], typer.Argument(help="Recorded conversations: JSON, JSON lines, or our own events.")],
    routes: Annotated[Path | None, typer.Option(help="A route table: what each intent needs.")] = None,
    instructions: Annotated[Path | None, typer.Option(help="Instructions of the prompt as atoms: which were obeyed.")] = None,
    tools: Annotated[Path | None, typer.Option(help="Names and descriptions of the tools: to say why one was missed.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object with `total` and `sessions`.")] = False,
    otlp: Annotated[str | None, typer.Option(help="Send the spans on to this endpoint.")] = None,
    rows: Annotated[int, typer.Option(min=0, help="Sessions in the table, the lowest scores first; 0 for all.")] = 20,
    processes: Annotated[int, typer.Option(min=0, help="For large files of events; 0 for one a core.")] = 0,
) -> None:
    """Score recorded conversations."""
    sender = _Sender(otlp) if otlp else None
    described = read_tools(tools) if tools else None
    scoring = Scoring(
        Routes.load(routes) if routes else None,
        Instructions.load(instructions) if instructions else None,
        descriptions=described,
        keep=sender,
    )
    scored = scoring.score_all(files, processes or cores())
    if as_json:
        _write_scores(scored, scoring)
    else:
        with errors.status("Scoring"):
            lowest, count = _lowest(scored, rows)
        tables.print_scores(figures(scoring.total, scoring.used), lowest, count)
        tables.print_figures(scoring)
    if sender is not None:
        sender.flush()
        errors.print(f"{sender.sent} spans sent to {escape(sender.otlp)}")


class _Sender:
    """Sends events on, some at a time."""

    def __init__(self, otlp: str) -> None:
        self.otlp, self.sent = otlp, 0
        self._waiting: list[Event] = []

    def __call__(self, event: Event) -> None:
        self._waiting.append(event)
        if len(self._waiting) >= _SENT_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        from agent_reach.telemetry.resend import send_events

        self.sent += send_events(self._waiting, self.otlp)
        self._waiting.clear()


def _write_scores(scored: Iterator[Row], scoring: Scoring) -> None:
    """One JSON object, written as it grows."""
    typer.echo('{"sessions": [', nl=False)
    for number, row in enumerate(scored):
        typer.echo((", " if number else "") + json.dumps(row), nl=False)
    total = {"total": figures(scoring.total, scoring.used), **scoring.to_record()}
    typer.echo(f"], {json.dumps(total)[1:]}")


def _lowest(scored: Iterator[Row], rows: int) -> tuple[list[Row], int]:
    """The sessions with the lowest scores, at most so many (0 for all), and how many there are."""
    count = itertools.count(1)
    last = 0

    def counted() -> Iterator[Row]:
        nonlocal last
        for row in scored:
            last = next(count)
            yield row

    def rank(row: Row) -> tuple[bool, float]:
        return row["score"] is None, row["score"] or 0.0

    kept = heapq.nsmallest(rows, counted(), key=rank) if rows else sorted(counted(), key=rank)
    return kept, last
