"""`agent-reach review` and `routes`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.prompt import Prompt

from agent_reach.cli.console import errors, output
from agent_reach.contracts import Routes
from agent_reach.contracts.lint import findings
from agent_reach.contracts.load import read_yaml
from agent_reach.errors import ReachError
from agent_reach.evaluation import review as queue
from agent_reach.evaluation.derive import MIN_UNITS, Draft, derive, to_table
from agent_reach.importers.history import units_of
from agent_reach.importers.labels import Condition
from agent_reach.importers.tools import read_tools


def review(
    file: Annotated[Path, typer.Argument(help="A queue that `score --review` wrote.")],
    table: Annotated[Path, typer.Option("--routes", help="The route table that the queue is about.")],
    to: Annotated[Path | None, typer.Option("--to", help="Write the corrected table, as a new version, to this file.")] = None,
) -> None:
    """Decide what a person should look at, here or in the file; write corrections back as a new version of the table."""
    Routes.load(table)
    items = queue.load(file)
    if output.is_terminal and any(not item.decision for item in items):
        items = _ask(items)
        queue.save(items, file)
    open_ = sum(not item.decision for item in items)
    errors.print(f"{len(items) - open_} of {len(items)} decided in {escape(str(file))}")
    if to is None:
        return
    document, changed = queue.corrected(_document(table), items)
    if not changed:
        errors.print("no correction changes the table; nothing was written")
        return
    write_table(document, to)
    errors.print(f"{changed} corrections; version {document['version']} written to {escape(str(to))}")


routes = typer.Typer(no_args_is_help=True, help="Route tables.")


@routes.callback()
def _routes() -> None:
    """Route tables."""


@routes.command("check")
def check(
    table: Annotated[Path, typer.Argument(help="The route table.")],
    tools: Annotated[Path | None, typer.Option(help="Names and descriptions of the tools that exist.")] = None,
    before: Annotated[Path | None, typer.Option(help="An earlier version: tools that were renamed are named.")] = None,
) -> None:
    """Name what is likely wrong in a route table; exit status 1 when anything is."""
    found = findings(Routes.load(table), read_tools(tools) if tools else (), Routes.load(before) if before else None)
    for line in found:
        output.print(line, markup=False, soft_wrap=True)
    if found:
        raise typer.Exit(1)
    output.print("nothing found")


@routes.command("derive")
def derive_(
    files: Annotated[list[Path], typer.Argument(help="Recorded conversations.")],
    to: Annotated[Path, typer.Option("--to", help="The draft to write.")],
    labels: Annotated[
        Path | None, typer.Option(help="A table with intents and keywords; steps that it has stay. Else `intent` of each record.")
    ] = None,
    classifier: Annotated[
        str | None, typer.Option(help="Any `init_chat_model` name: tells the intents, limited to the table's.")
    ] = None,
    good: Annotated[
        str, typer.Option(help="Which conversations ended well, such as reward>=1; else those answered, all tools ok.")
    ] = "",
) -> None:
    """Draft a route table from the calls of good conversations; to be reviewed before use."""
    table = Routes.load(labels) if labels else Routes()
    if classifier:
        from agent_reach.integrations.answers import IntentClassifier, chat_model

        table = table.model_copy(update={"classifier": IntentClassifier(chat_model(classifier), table)})
    condition = Condition(good) if good else None
    units = [unit for file in files for unit in units_of(file, table, condition)]
    drafts = derive(units)
    if not drafts:
        raise ReachError(f"{len(units)} units and none with an intent; give --labels with keywords, or records with an `intent`")
    write_table(to_table(drafts, _document(labels) if labels else {}), to)
    output.print("share of the good units that called any tool of a step, then each tool of it")
    for draft in drafts:
        _tell_draft(draft)
    if table.intents and any(intent.steps for intent in table.intents.values()):
        errors.print("steps that the table of --labels has stay as they are")
    unlabelled = sum(not unit.intent for unit in units)
    errors.print(f"{unlabelled} units have no intent; draft written to {escape(str(to))}: review it before use")


def _tell_draft(draft: Draft) -> None:
    output.print(f"[bold]{escape(draft.intent)}[/]: {draft.n} good units of {draft.units}")
    if not draft.steps:
        output.print(f"  no step: {'too few good units' if draft.n < MIN_UNITS else 'no tool is called by half of them'}")
    for step in draft.steps:
        shares = ", ".join(f"{escape(tool)} {share:.0%}" for tool, share in zip(step.tools, step.shares, strict=True))
        output.print(f"  {step.covered:.0%} call {shares}")


def write_table(document: dict[str, Any], to: Path) -> None:
    """Write a route table as YAML, and read it back.

    Raises:
        ReachError: it cannot be written.
        ContractError: what was made is no route table.
    """
    import yaml

    try:
        to.write_text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120), encoding="utf-8")
    except OSError as error:
        raise ReachError(f"{to}: cannot be written: {error.strerror}") from None
    Routes.load(to)


def _document(table: Path) -> dict[str, Any]:
    Routes.load(table)
    document: dict[str, Any] = read_yaml(table)[0]
    return document


def _ask(items: list[queue.Item]) -> list[queue.Item]:
    decided = list(items)
    for number, item in enumerate(items):
        if item.decision:
            continue
        _show(item, number, len(items))
        answer = Prompt.ask("accept, correct, drop, skip or quit", choices=["a", "c", "d", "s", "q"], default="s", console=output)
        if answer == "q":
            break
        if answer == "c":
            tool = Prompt.ask("which tool", default=item.judged or None, console=output) or ""
            steps = [str(n) for n in range(len(item.expected) + 1)]
            step = int(Prompt.ask("in which step (the last number is a new one)", choices=steps, default="0", console=output))
            decided[number] = queue.decide(item, "correct", tool=tool, step=step)
        elif answer in ("a", "d"):
            decided[number] = queue.decide(item, "accept" if answer == "a" else "drop")
    return decided


def _show(item: queue.Item, number: int, count: int) -> None:
    output.print(f"\n[bold]{number + 1} of {count}[/]  {item.why}  {escape(item.intent)}  session {escape(item.session)}")
    output.print(escape(item.said) or "(no text)")
    for place, step in enumerate(item.expected):
        output.print(f"  expected in step {place}: {escape(', '.join(step))}")
    output.print(f"  called: {escape(', '.join(item.called)) or 'nothing'}")
    if item.judged:
        output.print(f"  judge:  {escape(item.judged)}")
