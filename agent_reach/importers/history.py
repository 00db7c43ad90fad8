"""Recorded conversations as history: units with the tools that they called, from which a route table can be derived."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from agent_reach.contracts import Intent, Routes, Step
from agent_reach.errors import ReachError
from agent_reach.evaluation.derive import Unit
from agent_reach.events import Status, ToolCall, UnitClosed
from agent_reach.importers.chat import events_of
from agent_reach.importers.files import read_conversations
from agent_reach.importers.labels import Condition
from agent_reach.live import Session

_ANY: Final = (Step(tools=("?",)),)
"""Stands for the steps that are not known yet: with a route, a unit goes on over turns until the intent changes."""


def units_of(path: Path, routes: Routes, good: Condition | None) -> Iterator[Unit]:
    """The units of a file's conversations.

    Args:
        path: of the recording.
        routes: gives the intents; where a record has a plain value `intent`, that holds for the whole conversation.
        good: which conversations ended well; by default the units that ended with an answer and whose tools all ended `ok`.

    Raises:
        FormatError: the file cannot be read.
        ReachError: a record lacks what the condition asks for, or names an intent that the table does not have.
    """
    table = _open_ended(routes)
    for talk in read_conversations(path):
        well = None if good is None else good.holds(talk.facts, f"{talk.file}, record {talk.record}")
        label = talk.facts.get("intent")
        if label is not None and routes.intents and label not in routes.intents:
            known = ", ".join(routes.intents)
            raise ReachError(f"{talk.file}, record {talk.record}: intent: expected one of {known}, found {label!r}")
        session = Session(talk.id, table if label is None else _one_intent(str(label)))
        called: dict[int, dict[str, Status]] = {}
        for event in events_of(session, talk.messages):
            if isinstance(event, ToolCall):
                called.setdefault(event.unit, {})[event.tool] = event.status
            elif isinstance(event, UnitClosed):
                statuses = called.get(event.unit, {})
                answered = event.answered and all(status == "ok" for status in statuses.values())
                tools = tuple(tool for tool, status in statuses.items() if status == "ok")
                yield Unit(event.intent, tools, answered if well is None else well)


def _open_ended(routes: Routes) -> Routes:
    intents = {name: intent.model_copy(update={"steps": _ANY}) for name, intent in routes.intents.items()}
    return routes.model_copy(update={"intents": intents})


def _one_intent(label: str) -> Routes:
    always: Any = lambda _text: label  # noqa: E731
    return Routes(intents={label: Intent(steps=_ANY)}, classifier=always)
