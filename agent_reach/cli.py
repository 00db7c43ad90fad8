"""The `agent-reach` command."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from agent_reach.contracts import Routes
from agent_reach.contracts.instructions import Instructions
from agent_reach.errors import ReachError
from agent_reach.events import Event
from agent_reach.importers.files import is_event_lines
from agent_reach.importers.scoring import Scored, row, score_conversations, score_events
from agent_reach.scores.coverage import Coverage
from agent_reach.scores.rate import Rate, RateTally, to_record
from agent_reach.store.lines import read_events

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
_err = Console(stderr=True)


@app.callback()
def _commands() -> None:
    """See, score and repair whether agents reach the tools, knowledge and agents that their task needs."""


@app.command()
def score(
    files: Annotated[list[Path], typer.Argument(help="Recorded conversations: JSON, JSON lines, or our own events.")],
    routes: Annotated[Path | None, typer.Option(help="A route table: what each intent needs.")] = None,
    instructions: Annotated[Path | None, typer.Option(help="Instructions of the prompt as atoms: which were obeyed.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object with `total` and `sessions`.")] = False,
    otlp: Annotated[str | None, typer.Option(help="Send the spans on to this endpoint.")] = None,
    rows: Annotated[int, typer.Option(help="Sessions in the table, the lowest scores first; 0 for all.")] = 20,
) -> None:
    """Score recorded conversations."""
    table = Routes.load(routes) if routes else None
    coverage = Coverage(Instructions.load(instructions)) if instructions else None
    kept: list[Event] = []
    rates = RateTally(table) if table else None
    keepers = [keeper for keeper in (kept.append if otlp else None, rates.observe if rates else None) if keeper]

    def keep(event: Event) -> None:
        for keeper in keepers:
            keeper(event)

    scored: list[Scored] = []
    for file in track(files, "Scoring", console=_err, transient=True, disable=not _err.is_terminal):
        scored += _score_file(file, table, keep if keepers else None, coverage)
    used = table or Routes()
    sessions = [{"session": s.session, "file": s.file, **row([s], used)} for s in scored]
    total = row(scored, used)
    if otlp:
        from agent_reach.telemetry.resend import send_events

        sent = send_events(kept, otlp)
        _err.print(f"{sent} spans sent to {escape(otlp)}")
    more = {"rates": to_record(rates)} if rates else {}
    more |= {"instructions": coverage.to_record()} if coverage else {}
    if as_json:
        typer.echo(json.dumps({"total": total, "sessions": sessions, **more}, ensure_ascii=True))
        return
    _print_scores(total, sessions, rows)
    if rates:
        _print_rates(rates)
    if coverage:
        _print_coverage(coverage)


def _score_file(file: Path, routes: Routes | None, keep: Any, coverage: Coverage | None) -> list[Scored]:
    if is_event_lines(file):
        if coverage:
            raise ReachError(f"{file}: holds events without texts; instructions are checked on recorded conversations")
        return score_events(lambda: read_events(file), str(file), routes, keep=keep)
    return list(score_conversations(file, routes or Routes(), keep=keep, coverage=coverage, begun=time.time_ns()))


@app.command()
def demo(
    model: Annotated[str | None, typer.Option(help="Any `init_chat_model` name instead of the scripted model.")] = None,
    otlp: Annotated[str | None, typer.Option(help="Send the spans to this OTLP endpoint.")] = None,
    store: Annotated[Path | None, typer.Option(help="Append the events to this file.")] = None,
    serve: Annotated[
        bool | None, typer.Option(help="Open the panel on it at the end; by default when a terminal is there.")
    ] = None,
) -> None:
    """Run an after-sales desk with faults twice: observing, then compensating; then show it on the panel."""
    from agent_reach.demo import run_demo

    console = Console()
    if serve is None:
        serve = otlp is None and console.is_terminal and find_spec("chdb") is not None
    if not serve:
        run_demo(console, model=model, otlp=otlp, store=store)
        return
    with _server_parts():
        from agent_reach.server.run import serve_beside
    serve_beside(lambda endpoint: run_demo(console, model=model, otlp=endpoint, store=store), console)


@app.command()
def serve(
    data: Annotated[Path, typer.Option(help="Folder of the database; made if need be.")] = Path("agent-reach-data"),
    store: Annotated[str, typer.Option(help="clickhouse://user@host:8123/ instead of the database in the folder.")] = "",
    host: Annotated[str, typer.Option(help="Address to listen on; others than loopback need AGENT_REACH_TOKEN.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port of the panel.")] = 4319,
    http_port: Annotated[int, typer.Option(min=0, max=65_535, help="Port of OTLP over HTTP.")] = 4318,
    grpc_port: Annotated[int, typer.Option(min=0, max=65_535, help="Port of OTLP over gRPC.")] = 4317,
    ttl_days: Annotated[int, typer.Option(min=1, help="Days after which spans are dropped.")] = 30,
    routes: Annotated[Path | None, typer.Option(help="A route table: gives the weights and thresholds of the scores.")] = None,
    alerts: Annotated[Path | None, typer.Option(help="Alert rules: what to watch, and where to tell.")] = None,
    otlp: Annotated[str | None, typer.Option(help="Send alerts and the server's own counters to this endpoint as metrics.")] = None,
) -> None:
    """Take spans in over OTLP, keep them, and show them on a live panel."""
    with _server_parts():
        from agent_reach.server.alerts import Rules
        from agent_reach.server.run import serve_until_stopped
        from agent_reach.server.service import Options
    options = Options(
        data=data,
        store=store,
        host=host,
        port=port,
        http_port=http_port,
        grpc_port=grpc_port,
        token=os.environ.get("AGENT_REACH_TOKEN", ""),
        ttl_days=ttl_days,
        routes=Routes.load(routes) if routes else Routes(),
        rules=Rules.load(alerts) if alerts else Rules(),
        otlp=otlp,
    )
    serve_until_stopped(options, _err)


@contextlib.contextmanager
def _server_parts() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise ReachError(f"this command needs {error.name}: pip install 'agent-reach-sdk[serve]'") from error


clickhouse = typer.Typer(no_args_is_help=True, help="For those who run ClickHouse themselves.")
app.add_typer(clickhouse, name="clickhouse")


@clickhouse.callback()
def _clickhouse() -> None:
    """For those who run ClickHouse themselves."""


@clickhouse.command()
def ddl(
    cluster: Annotated[str, typer.Option(help="Name of a cluster: tables are Replicated, with Distributed ones in front.")] = "",
    ttl_days: Annotated[int, typer.Option(min=1, help="Days after which rows are dropped.")] = 30,
) -> None:
    """Print the schema as SQL."""
    from agent_reach.store.schema import script

    typer.echo(script(cluster=cluster, ttl_days=ttl_days))


@clickhouse.command()
def dashboard() -> None:
    """Print a Grafana dashboard for the ClickHouse data source."""
    typer.echo((files("agent_reach.store") / "grafana.json").read_text("utf-8"))


_RATES = {
    "candidate": "candidate",
    "precise": "precise",
    "first": "first-turn",
    "decision": "decision",
    "execution": "execution",
}


def _print_rates(rates: RateTally) -> None:
    table = Table(
        title="reach rates by intent and needed tool", title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="bold"
    )
    for name in ("intent", "needed tool"):
        table.add_column(name)
    for title in _RATES.values():
        table.add_column(title, justify="right", no_wrap=True)
    figures = {figure: rates.rates(figure, ["intent", "tool"]) for figure in _RATES}
    for group in sorted({group for rows in figures.values() for group in rows}):
        table.add_row(*map(escape, group), *(_share(figures[figure].get(group)) for figure in _RATES))
    table.add_section()
    table.add_row("all", "", *(_share(rates.overall(figure)) for figure in _RATES), style="bold")
    console = Console()
    console.print(table)
    if rates.without_route:
        console.print(f"{rates.without_route} units have no route and are in no rate")


def _print_coverage(coverage: Coverage) -> None:
    title = "instructions: obeyed of those whose condition was met"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("atom")
    table.add_column("obeyed", justify="right")
    table.add_column("over-obeyed", justify="right")
    table.add_column("first not obeyed in")
    for atom in coverage.instructions.atoms:
        places = ", ".join(f"{conversation} turn {turn}" for conversation, turn in coverage.broken.get(atom.id, [])[:2])
        note = escape(coverage.failed.get(atom.id, places))
        table.add_row(escape(atom.id), _share(coverage.rate(atom.id)), str(coverage.over_obeyed[atom.id]), note)
    table.add_section()
    table.add_row("all", _share(coverage.rate()), str(coverage.over_obeyed.total()), "", style="bold")
    Console().print(table)


def _share(rate: Rate | None) -> str:
    return "–" if rate is None or rate.value is None else f"{rate.value:.0%} of {rate.n}"


_COLUMNS = ("calls", "ok", "failed", "empty", "uncounted", "score", "tool", "knowledge", "task", "band")
_HEADERS = {"failed": "fail", "uncounted": "other", "knowledge": "know."}
_COLOURS = {"healthy": "green", "degraded": "yellow", "broken": "red"}


def _print_scores(total: dict[str, Any], sessions: list[dict[str, Any]], rows: int) -> None:
    noun = "session" if len(sessions) == 1 else "sessions"
    table = Table(title=f"{len(sessions)} {noun}", title_justify="left", box=None, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("session", overflow="ellipsis", no_wrap=True, max_width=18)
    for column in _COLUMNS:
        table.add_column(_HEADERS.get(column, column), justify="left" if column == "band" else "right", no_wrap=True)
    ranked = sorted(sessions, key=lambda s: (s["score"] is None, s["score"]))
    for session in ranked[: rows or None]:
        table.add_row(escape(session["session"]), *_cells(session))
    if rows and len(ranked) > rows:
        table.add_row(f"… and {len(ranked) - rows} more", *[""] * len(_COLUMNS))
    table.add_section()
    table.add_row("all", *_cells(total), style="bold")
    Console().print(table)


def _cells(figures: dict[str, Any]) -> list[str]:
    cells = []
    for column in _COLUMNS:
        value = figures[column]
        text = "–" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)
        cells.append(f"[{_COLOURS[text]}]{text}[/]" if text in _COLOURS else text)
    return cells


def main() -> None:
    """Entry point: errors of ours are one clear line, and the exit status is 2."""
    try:
        app()
    except ReachError as error:
        _err.print(f"[red]error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
