"""The review queue: units whose expectation a person should look at, and what they decided, back into the route table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

from agent_reach.contracts import Routes
from agent_reach.contracts.load import contract_error_at, read_yaml
from agent_reach.errors import ReachError

Why = Literal["ambiguous", "miss", "guessed"]
Decision = Literal["", "accept", "correct", "drop"]

_KEYS: Final = ("session", "unit", "intent", "said", "expected", "called", "judged", "why", "decision", "tool", "step")


@dataclass(frozen=True, slots=True)
class Item:
    """One unit to look at.

    Attributes:
        session, unit, intent: which.
        said: by the user.
        expected: the steps of the route, each best first.
        called: by the agent.
        judged: what the judge named, `""` for no tool or no judge.
        why: it is in the queue: judge and table differ, or it is in the sample of misses or of guessed-looking successes.
        decision: `accept` keeps the expectation, `correct` adds `tool` to `step` (the next number is a new one), `drop` passes.
    """

    session: str
    unit: int
    intent: str
    said: str
    expected: tuple[tuple[str, ...], ...]
    called: tuple[str, ...]
    judged: str
    why: Why
    decision: Decision = ""
    tool: str = ""
    step: int = 0


def save(items: Iterable[Item], path: str | Path) -> None:
    """Write a queue as YAML, to be decided by hand or by `agent-reach review`.

    Raises:
        ReachError: the file cannot be written.
    """
    import yaml

    rows = [{**asdict(item), "expected": [list(step) for step in item.expected], "called": list(item.called)} for item in items]
    try:
        Path(path).write_text(yaml.safe_dump(rows, sort_keys=False, allow_unicode=True, width=120), encoding="utf-8")
    except OSError as error:
        raise ReachError(f"{path}: cannot be written: {error.strerror}") from None


def renewed(items: Iterable[Item], before: Iterable[Item]) -> list[Item]:
    """A new queue that keeps what was decided in an earlier one."""
    kept = {(item.session, item.unit): item for item in before if item.decision}
    fresh = [item for item in items if (item.session, item.unit) not in kept]
    return [*kept.values(), *fresh]


def load(path: str | Path) -> list[Item]:
    """The inverse of `save`.

    Raises:
        ContractError: with file, line, key and what was expected.
    """
    rows, lines = read_yaml(path)
    if rows is not None and not isinstance(rows, list):
        raise contract_error_at((), "a list of items", rows, lines, str(path))
    items = []
    for number, row in enumerate(rows or ()):
        if not isinstance(row, dict) or not {"session", "unit", "intent"} <= row.keys() <= set(_KEYS):
            raise contract_error_at((number,), f"an item with the keys {', '.join(_KEYS)}", row, lines, str(path))
        decision = row.get("decision") or ""
        if decision not in get_args(Decision):
            raise contract_error_at((number, "decision"), "accept, correct, drop or nothing", decision, lines, str(path))
        if decision == "correct" and not row.get("tool"):
            raise contract_error_at((number, "decision"), "`tool` beside `correct`", row, lines, str(path))
        expected = tuple(tuple(step) for step in row.get("expected") or ())
        items.append(
            Item(**{**_BLANK, **row, "expected": expected, "called": tuple(row.get("called") or ()), "decision": decision})
        )
    return items


_BLANK: Final[dict[str, Any]] = {"said": "", "judged": "", "why": "miss", "tool": "", "step": 0}


def corrected(table: dict[str, Any], items: Sequence[Item]) -> tuple[dict[str, Any], int]:
    """The document of a route table with the corrections in it and a new version, and how many changed it.

    Args:
        table: as read from YAML.
        items: decided ones count.

    Raises:
        ReachError: an item names an intent that the table does not have, or a step that it cannot get.
    """
    intents: dict[str, Any] = {name: dict(intent or {}) for name, intent in (table.get("intents") or {}).items()}
    changed = 0
    for item in items:
        if item.decision != "correct":
            continue
        if item.intent not in intents:
            raise ReachError(f"review: intent {item.intent!r} of session {item.session} is not in the route table")
        steps = [_as_step(step) for step in intents[item.intent].get("steps") or ()]
        if not 0 <= item.step <= len(steps):
            raise ReachError(f"review: session {item.session}: step {item.step}: {item.intent!r} has {len(steps)} steps")
        if item.step == len(steps):
            steps.append({"tools": []})
        if item.tool not in steps[item.step]["tools"]:
            steps[item.step]["tools"] = [*steps[item.step]["tools"], item.tool]
            changed += 1
        intents[item.intent]["steps"] = [step["tools"] if step.keys() == {"tools"} else step for step in steps]
    if not changed:
        return table, 0
    return {**table, "version": next_version(str(table.get("version", "0"))), "intents": intents}, changed


def _as_step(step: Any) -> dict[str, Any]:
    if isinstance(step, dict):
        return {**step, "tools": list(step["tools"])}
    return {"tools": [step] if isinstance(step, str) else list(step)}


def next_version(version: str) -> str:
    """The number at the end one higher; a date or a name gets `.1`."""
    head, _, last = version.rpartition(".")
    if last.isascii() and last.isdigit() and (head or version == last):
        return f"{head}.{int(last) + 1}" if head else str(int(last) + 1)
    return f"{version}.1"


def decide(item: Item, decision: Decision, *, tool: str = "", step: int = 0) -> Item:
    """The item with a decision."""
    return replace(item, decision=decision, tool=tool, step=step)


def is_doubtful(routes: Routes, intent: str, judged: str | None) -> bool:
    """The judge named a tool, or none, where the table expects another one; without a judgement there is no doubt."""
    if judged is None:
        return False
    return judged not in {tool for step in routes.steps(intent) for tool in step.tools}
