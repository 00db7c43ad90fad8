"""`agent-reach score`."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from agent_reach.cli import tables
from agent_reach.cli.console import check_writable, errors
from agent_reach.contracts import Routes
from agent_reach.contracts.instructions import Instructions
from agent_reach.errors import ReachError
from agent_reach.evaluation.outlook import Outlook
from agent_reach.evaluation.review import load, renewed, save
from agent_reach.events import Event
from agent_reach.importers.review import AskJudge, Reviewer
from agent_reach.importers.scoring import Row, Scoring, cores, figures
from agent_reach.importers.tools import read_tools

_SENT_AT_ONCE = 20_000


def score(
    files: Annotated[list[Path], typer.Argument(help="Recorded conversations: JSON, JSON lines, or our own events.")],
    routes: Annotated[Path | None, typer.Option(help="A route table: what each intent needs.")] = None,
    instructions: Annotated[Path | None, typer.Option(help="Instructions of the prompt as atoms: which were obeyed.")] = None,
    tools: Annotated[Path | None, typer.Option(help="Names and descriptions of the tools: to say why one was missed.")] = None,
    classifier: Annotated[
        str | None, typer.Option(help="Any `init_chat_model` name: tells the intents, limited to the table's.")
    ] = None,
    judge: Annotated[
        str | None, typer.Option(help="Another model: where it names a tool that the table does not, the unit is in doubt.")
    ] = None,
    agent_model: Annotated[str, typer.Option(help="The model that was recorded: a warning when it judges itself.")] = "",
    answers: Annotated[Path | None, typer.Option(help="Keep what classifier and judge say in this file.")] = None,
    review: Annotated[Path | None, typer.Option(help="Write the units that a person should look at to this file.")] = None,
    sample: Annotated[float, typer.Option(min=0, max=1, help="Share of plain misses and guessed successes among them.")] = 0.1,
    outlook: Annotated[
        Path | None, typer.Option(help="What `calibrate --outlook` fitted: how likely each conversation ended well.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object with `total` and `sessions`.")] = False,
    otlp: Annotated[str | None, typer.Option(help="Send the spans on to this endpoint.")] = None,
    rows: Annotated[int, typer.Option(min=0, help="Sessions in the table, the lowest scores first; 0 for all.")] = 20,
    processes: Annotated[int, typer.Option(min=0, help="For large files of events; 0 for one a core.")] = 0,
) -> None:
    """Score recorded conversations."""
    for option, given in (("--tools", tools), ("--judge", judge), ("--review", review)):
        if given and routes is None:
            raise ReachError(f"{option}: needs --routes, the expectations that it is about")
    for path in (review, answers):
        check_writable(path)
    sender = _Sender(otlp) if otlp else None
    described = read_tools(tools) if tools else None
    table = _table(routes, classifier, answers)
    reviewer = None
    if table is not None and (judge or review):
        reviewer = Reviewer(table, _judge(judge, described, agent_model, answers), sample=sample)
    fitted = Outlook.load(outlook) if outlook else None
    if fitted is not None:
        fitted.check_effects(table or Routes(), str(outlook))
    scoring = Scoring(
        table,
        Instructions.load(instructions) if instructions else None,
        descriptions=described,
        reviewer=reviewer,
        outlook=fitted,
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
    for said in scoring.notes:
        errors.print(f"note: {escape(said)}", soft_wrap=True)
    if table is not None and (failed := getattr(getattr(table.classifier, "answers", None), "failed", 0)):
        errors.print(f"{failed} messages got no intent from the classifier: it was down, slow or unsure; keywords were used")
    if reviewer is not None:
        _tell_review(reviewer, review)
    if sender is not None:
        sender.flush()
        errors.print(f"{sender.sent} spans sent to {escape(sender.otlp)}")


def _table(routes: Path | None, classifier: str | None, answers: Path | None) -> Routes | None:
    if routes is None:
        if classifier:
            raise ReachError("classifier: needs --routes, whose intents it is limited to")
        return None
    table = Routes.load(routes)
    if not classifier:
        return table
    from agent_reach.integrations.answers import IntentClassifier, chat_model

    return table.model_copy(update={"classifier": IntentClassifier(chat_model(classifier), table, cache=answers)})


def _judge(model: str | None, described: Mapping[str, str] | None, agent_model: str, answers: Path | None) -> AskJudge | None:
    if not model:
        return None
    if not described:
        raise ReachError("judge: needs --tools, the registered tools with their descriptions")
    from agent_reach.integrations.answers import Judge, chat_model

    return Judge(chat_model(model), described, agent_model=agent_model, cache=answers)


def _tell_review(reviewer: Reviewer, review: Path | None) -> None:
    errors.print(f"{len(reviewer.doubtful)} units in doubt are in no rate; {len(reviewer.items)} to look at")
    if reviewer.unjudged:
        errors.print(f"{reviewer.unjudged} units have no judgement: the model was down, slow, or named no registered tool")
    if review is not None:
        items = renewed(reviewer.items, load(review)) if review.exists() else reviewer.items
        save(items, review)
        if decided := sum(bool(item.decision) for item in items):
            errors.print(f"{decided} decisions in {escape(str(review))} were kept")


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
    count = 0

    def counted() -> Iterator[Row]:
        nonlocal count
        for row in scored:
            count += 1
            yield row

    def rank(row: Row) -> tuple[bool, float]:
        return row["score"] is None, row["score"] or 0.0

    kept = heapq.nsmallest(rows, counted(), key=rank) if rows else sorted(counted(), key=rank)
    return kept, count
