"""Recorded conversations as runs of a task."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from agent_reach.contracts import Routes
from agent_reach.contracts.topology import Topology
from agent_reach.errors import ReachError
from agent_reach.evaluation.results import Results, head_of
from agent_reach.evaluation.sandbox import Sandbox
from agent_reach.events import ToolCall
from agent_reach.importers.chat import events_of
from agent_reach.importers.files import Conversation, read_conversations
from agent_reach.importers.messages import Message
from agent_reach.live import Session
from agent_reach.scores.trace import Trace, Workers


def trace_of(
    topology: Topology, messages: Sequence[Message], routes: Routes, *, run: int = 1, workers: Workers | None = None
) -> Trace:
    """One run, from what was recorded of it.

    `verify` sees no state; results as they stand in the recording, JSON read; and the messages to the user as `replies`.

    Args:
        topology: of the task.
        messages: the conversation, oldest first.
        routes: contracts of the tools.
        run: its number.
        workers: of topology and routes, where they are at hand.
    """
    sandbox = Sandbox(
        topology,
        workers or Workers(topology, routes),
        routes,
        run=run,
        dice=Random(0),
        clock=lambda: 0,
        most_actions=len(messages) + 1,
    )
    for event in events_of(Session(f"{topology.name}#{run}", routes), messages, recorder=_Reader(sandbox)):
        sandbox.observe(event)
    return sandbox.trace()


class _Reader:
    """Hands a sandbox what a recording says."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def called(self, event: ToolCall, arguments: dict[str, Any], result: Any) -> None:
        self._sandbox.called(event, arguments, _read(result))

    def replied(self, text: str) -> None:
        self._sandbox.replied(text)


def _read(content: Any) -> Any:
    if isinstance(content, str) and content[:1] in ("{", "["):
        try:
            return json.loads(content)
        except ValueError:
            return content
    return content


def recorded_results(
    topologies: Sequence[Topology],
    files: Iterable[Path],
    routes: Routes,
    *,
    task_key: str = "task",
    agent: str = "recorded",
    **options: Any,
) -> Results:
    """Results of recorded conversations.

    Args:
        topologies: of the tasks; with several, each record says under `task_key` which one it is about.
        files: recorded conversations.
        routes: contracts of the tools.
        task_key: key of a record whose value is the name of its task.
        agent: what to call the agent.
        **options: `preset` and `optional_bonus` of `Results`.

    Raises:
        FormatError: a file cannot be read.
        ReachError: a record names no task, or one without a topology.
    """
    workers = {each.name: Workers(each, routes) for each in topologies}
    head = head_of(topologies, workers)
    results = Results([Topology.model_validate(each) for each in head["topologies"]], agent=agent, **options)
    count = dict.fromkeys(workers, 0)
    by_name = {each.name: each for each in topologies}
    for file in files:
        for talk in read_conversations(file):
            name = _task_of(talk, by_name, task_key)
            count[name] += 1
            results.traces.append(trace_of(by_name[name], talk.messages, routes, run=count[name], workers=workers[name]))
    return results


def _task_of(talk: Conversation, topologies: Mapping[str, Topology], key: str) -> str:
    if len(topologies) == 1:
        return next(iter(topologies))
    name = str(talk.facts.get(key, ""))
    if name not in topologies:
        raise ReachError(
            f"{talk.file}, record {talk.record}: {key}: expected one of {', '.join(topologies)}, found {name or 'none'!r}"
        )
    return name
