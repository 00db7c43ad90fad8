"""A recorded conversation as the turns that instructions are checked on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent_reach.checks.instructions import Act, TurnRecord
from agent_reach.contracts import Routes
from agent_reach.importers.messages import Message


def turns_of(messages: Sequence[Message], routes: Routes, state: Mapping[str, Any] | None = None) -> Iterator[TurnRecord]:
    """One record a user message; what the assistant does before the first one is a turn without a message.

    Args:
        messages: the conversation, oldest first.
        routes: gives the intents.
        state: what else is known of the conversation.
    """
    user, intent, said, acts, before = "", "", "", list[Act](), list[Act]()
    for message in messages:
        if message.role == "user":
            if acts or user:
                yield TurnRecord(user, intent, tuple(acts), said, state or {}, tuple(before))
            before += acts
            said, acts = f"{said}\n{user}".strip(), []
            user = message.text
            intent = routes.classify(user) or intent
        elif message.role == "assistant":
            acts += [Act(text=message.text)] if message.text else []
            acts += [Act(tool=call.name) for call in message.calls]
    if acts or user:
        yield TurnRecord(user, intent, tuple(acts), said, state or {}, tuple(before))
