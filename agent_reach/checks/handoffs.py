"""Completeness of a handoff: goal, required parameters and conclusions (definitions, section 2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from agent_reach.checks.look import parse
from agent_reach.contracts import HandoffContract

GOAL: Final = "goal"
CONCLUSIONS: Final = "conclusions"
_GOAL_KEYS: Final = (
    "goal",
    "task",
    "task_description",
    "description",
    "objective",
    "query",
    "instruction",
    "instructions",
    "request",
)
_CONCLUSION_KEYS: Final = ("conclusions", "conclusion", "findings", "summary", "context", "results")
_DEPTH: Final = 4
_MISSING: Final = object()


class Said(NamedTuple):
    """One message of the history that is passed, as plain values: role `user`, `assistant` or `tool`, text and call arguments."""

    role: str
    text: str
    values: Mapping[str, Any] = {}


def missing_from_handoff(contract: HandoffContract, given: Sequence[Mapping[str, Any]], history: Sequence[Said]) -> tuple[str, ...]:
    """What the receiver requires and was not told.

    Args:
        contract: of the receiver.
        given: the handoff's arguments and the state update, in this order.
        history: messages passed on, oldest first.
    """
    missing = [GOAL] if contract.goal and not _has_goal(given, history) else []
    missing += [n for n, s in contract.parameters.items() if find_parameter(n, s, given, history) is None]
    if contract.conclusions and not _has_conclusions(given, history):
        missing.append(CONCLUSIONS)
    return tuple(missing)


def _has_goal(given: Sequence[Mapping[str, Any]], history: Sequence[Said]) -> bool:
    told = any(_present(source.get(key)) for source in given for key in _GOAL_KEYS)
    return told or any(said.role == "user" and said.text.strip() for said in history)


def _has_conclusions(given: Sequence[Mapping[str, Any]], history: Sequence[Said]) -> bool:
    told = any(_present(source.get(key)) for source in given for key in _CONCLUSION_KEYS)
    return told or any(said.role in ("assistant", "tool") and said.text.strip() for said in history)


def find_parameter(name: str, schema: Mapping[str, Any], given: Iterable[Mapping[str, Any]], history: Sequence[Said]) -> Any | None:
    """A present, non-empty value of the right type: from what is given, then from the history, newest first; else None."""
    for source in given:
        value = _search(source, name, schema, _DEPTH)
        if value is not _MISSING:
            return value
    for said in reversed(history):
        for source in (said.values, parse(said.text)):
            value = _search(source, name, schema, _DEPTH)
            if value is not _MISSING:
                return value
        value = _in_text(said.text, name, schema)
        if value is not _MISSING:
            return value
    return None


def _search(source: Any, name: str, schema: Mapping[str, Any], depth: int) -> Any:
    if isinstance(source, Mapping):
        if name in source and _fits(source[name], schema):
            return source[name]
        children: Iterable[Any] = list(source.values())[:200]
    elif isinstance(source, list | tuple):
        children = source[:50]
    else:
        return _MISSING
    if depth:
        for child in children:
            if (value := _search(child, name, schema, depth - 1)) is not _MISSING:
                return value
    return _MISSING


def _in_text(text: str, name: str, schema: Mapping[str, Any]) -> Any:
    words = re.escape(name).replace("_", r"[\s_-]?")
    match = re.search(rf"(?<![\w]){words}\s*(?:is|=|:|：|为|是|#)\s*[\"'“]?([^\s\"'”,，。;；]+)", text[:20_000], re.IGNORECASE)
    if match is None:
        return _MISSING
    word = match.group(1).rstrip(".")
    for value in (word, parse_number(word)):
        if value is not None and _fits(value, schema):
            return value
    return _MISSING


def parse_number(word: str) -> int | float | None:
    """The number that a word spells, None when it spells none."""
    try:
        return int(word) if word.lstrip("-").isdigit() else float(word)
    except ValueError:
        return None


def _present(value: Any) -> bool:
    return value is not None and not (isinstance(value, str) and not value.strip()) and value not in ([], {}, ())


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    if not _present(value):
        return False
    if not schema:
        return True
    from jsonschema import Draft202012Validator

    return bool(Draft202012Validator(schema).is_valid(value))
