"""Signals of recorded conversations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

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
    parts = [Part(message.role, message.text, tuple(call.name for call in message.calls)) for message in messages]
    return signals(parts, writes, people)


def labelled_signals(path: Path, routes: Routes, good: Condition) -> Iterator[tuple[list[float], bool]]:
    """Signals of each conversation of a file, and whether it ended well.

    Raises:
        FormatError: the file cannot be read.
        ReachError: a record lacks what the condition asks for.
    """
    for talk in read_conversations(path):
        yield signals_of(talk.messages, routes), good.holds(talk.facts, f"{talk.file}, record {talk.record}")
