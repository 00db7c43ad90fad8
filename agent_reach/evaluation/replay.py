"""Recorded conversations, asked again: the user's messages go to an agent one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import NamedTuple

Ask = Callable[[str], object]
"""A message in; whatever the agent does about it happens inside."""


class Script(NamedTuple):
    """The user's part of a conversation."""

    session: str
    messages: tuple[str, ...]


class Replayed(NamedTuple):
    """What became of one conversation.

    Attributes:
        session: of the conversation.
        asked: messages that the agent took.
        error: what it raised, `""` when nothing.
    """

    session: str
    asked: int
    error: str


def replay(
    scripts: Iterable[Script], begin: Callable[[str], AbstractContextManager[Ask]], *, at_once: int = 4
) -> Iterator[Replayed]:
    """Ask an agent every conversation anew.

    Args:
        scripts: the conversations; those without a message are passed over.
        begin: a conversation with a fresh agent, for a session.
        at_once: conversations that run at the same time.

    Returns:
        one result a conversation, in their order; an agent that raises ends its conversation, not the replay.
    """

    def run(script: Script) -> Replayed:
        asked = 0
        try:
            with begin(script.session) as ask:
                for message in script.messages:
                    ask(message)
                    asked += 1
        except Exception as error:  # noqa: BLE001 - a user's agent may raise anything
            return Replayed(script.session, asked, f"{type(error).__name__}: {error}")
        return Replayed(script.session, asked, "")

    with ThreadPoolExecutor(at_once, "agent-reach-replay") as pool:
        yield from pool.map(run, (script for script in scripts if script.messages))
