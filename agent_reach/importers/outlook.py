"""Signals of recorded conversations."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from agent_reach.checks.signals import Part, signals
from agent_reach.contracts import Routes
from agent_reach.importers.files import read_conversations
from agent_reach.importers.labels import Condition
from agent_reach.importers.messages import Message

_PERSON: Final = re.compile(r"human|\u4eba\u5de5", re.IGNORECASE)


def signals_of(messages: Sequence[Message], routes: Routes) -> list[float]:
    """The signals of one conversation.

    Args:
        messages: oldest first.
        routes: tells the tools with side effects; tools that hand over to a person are known by `human` in their name.
    """
    tools = {call.name for message in messages for call in message.calls}
    writes = {tool for tool in tools if routes.contract(tool).side_effect}
    people = {tool for tool in tools if _PERSON.search(tool)}
    return signals([part_of(message) for message in messages], writes, people)


def part_of(message: Message) -> Part:
    """What the signals look at of a message."""
    values = tuple(_scalars(call.arguments) for call in message.calls)
    return Part(message.role, message.text, tuple(call.name for call in message.calls), values)


def _scalars(value: Any) -> int:
    """Scalar values in an argument, also in a list that is written as a text."""
    if isinstance(value, str) and value[:1] == "[":
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            value = ast.literal_eval(value)
    if isinstance(value, Mapping):
        return sum(map(_scalars, value.values()))
    return sum(map(_scalars, value)) if isinstance(value, list | tuple) else 1


def labelled_signals(path: Path, routes: Routes, good: Condition) -> Iterator[tuple[list[float], bool]]:
    """Signals of each conversation of a file, and whether it ended well.

    Raises:
        FormatError: the file cannot be read.
        ReachError: a record lacks what the condition asks for.
    """
    for talk in read_conversations(path):
        yield signals_of(talk.messages, routes), good.holds(talk.facts, f"{talk.file}, record {talk.record}")
