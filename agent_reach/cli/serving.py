"""`agent-reach demo`, `serve` and `clickhouse`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from agent_reach.cli.console import errors, output
from agent_reach.contracts import Routes
from agent_reach.errors import ReachError


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

    if serve is None:
        serve = otlp is None and output.is_terminal and find_spec("chdb") is not None
    if not serve:
        run_demo(output, model=model, otlp=otlp, store=store)
        return
    with _server_parts():
        from agent_reach.server.run import serve_beside
    serve_beside(lambda endpoint: run_demo(output, model=model, otlp=endpoint, store=store), output)


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
    serve_until_stopped(options, errors)


@contextlib.contextmanager
def _server_parts() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise ReachError(f"this command needs {error.name}: pip install 'agent-reach-sdk[serve]'") from error


clickhouse = typer.Typer(no_args_is_help=True, help="For those who run ClickHouse themselves.")


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
