"""The `agent-reach` command."""

from __future__ import annotations

import typer
from rich.markup import escape

from agent_reach.cli.baselines import baseline, replay_
from agent_reach.cli.blaming import blame_
from agent_reach.cli.calibrating import calibrate
from agent_reach.cli.console import errors
from agent_reach.cli.evaluating import compare_, eval_
from agent_reach.cli.reviewing import review, routes
from agent_reach.cli.scoring import score
from agent_reach.cli.serving import clickhouse, demo, serve
from agent_reach.cli.topologies import topology
from agent_reach.errors import ReachError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def _commands() -> None:
    """See, score and repair whether agents reach the tools, knowledge and agents that their task needs."""


for command in (score, calibrate, review, demo, serve):
    app.command()(command)
app.command("eval")(eval_)
app.command("compare")(compare_)
app.command("blame")(blame_)
app.command("replay")(replay_)
app.add_typer(baseline, name="baseline")
app.add_typer(routes, name="routes")
app.add_typer(topology, name="topology")
app.add_typer(clickhouse, name="clickhouse")


def main() -> None:
    """Entry point: errors of ours are one clear line, and the exit status is 2."""
    try:
        app()
    except ReachError as error:
        errors.print(f"[red]error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
