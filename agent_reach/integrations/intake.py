"""What tools gave, taken into the progress of a task."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from agent_reach.checks import finding_of_result
from agent_reach.checks.fingerprint import fingerprint as hash_of
from agent_reach.contracts import Routes
from agent_reach.contracts.registry import Capability, Registry
from agent_reach.integrations.judge import REFUSED
from agent_reach.integrations.translate import OWN_NAME, messages_in, text_of
from agent_reach.planning.facts import Fact, Facts, given
from agent_reach.planning.outcomes import Outcome, fingerprint, outcome, taken_in
from agent_reach.planning.problem import Closure
from agent_reach.planning.progress import Progress

CHANNEL: Final = "reach_facts"
"""Key of a graph's state under which the progress of a task is kept; plain values by name may be given to it."""
_OUTCOME: Final = "agent_reach_outcome"
LIMIT: Final = 3_000
"""Characters of a result beyond which it is archived, where there is an archive."""


class Keeper(Protocol):
    """Keeps long results and gives a pointer to each."""

    def put(self, text: str) -> str: ...


Extract = Callable[[str, str], Mapping[str, Any]]
"""Facts by name, from the name of a tool and the text of its result."""


class Intake:
    """Reads the messages of a graph's state.

    Args:
        registry: of the tools; of others nothing is taken in.
        closure: what the goal depends on.
        routes: contracts of the tools.
        facts: that every run begins with, by name.
        archive: where results over `limit` characters go.
        extract: finds facts beyond what the registry declares.
    """

    def __init__(
        self, registry: Registry, closure: Closure, routes: Routes, facts: Mapping[str, Any], archive: Keeper | None = None,
        limit: int = LIMIT, extract: Extract | None = None,
    ) -> None:  # fmt: skip
        self.registry, self.closure, self._routes = registry, closure, routes
        self._begin_with, self._archive, self._limit, self._extract = dict(facts), archive, limit, extract

    def progress(self, state: Any, now: int) -> Progress:
        """Where the task of a graph's state stands, results that came since it was last kept included."""
        kept = state.get(CHANNEL) if isinstance(state, Mapping) else getattr(state, CHANNEL, None)
        progress = Progress.from_json(kept, now)
        if not progress.path:
            begun = progress.facts.add(given({k: v for k, v in self._begin_with.items() if k not in progress.facts}))
            begun = Facts.from_json({**begun.to_json(), "known": {f.name: [*_timed(f, now)] for f in begun}})
            progress = replace(progress, facts=begun, path=((fingerprint(begun, self.closure), ()),))
        return self._take_in(progress, messages_in(state), now)

    def is_once(self, tool: str) -> bool:
        """A call with the same arguments must not be made again: it changes something, and repeating it is not safe."""
        contract, capability = self._routes.contract(tool), self.registry.tools[tool]
        return (capability.side_effect or contract.side_effect) and not contract.idempotent

    def _take_in(self, progress: Progress, messages: Sequence[BaseMessage], now: int) -> Progress:
        seen = set(progress.seen)
        new = [m for m in messages if isinstance(m, ToolMessage) and _key(m) not in seen]
        if messages and isinstance(messages[-1], HumanMessage) and messages[-1].name != OWN_NAME:
            progress = replace(progress, path=progress.path[-1:])
        if not new:
            return progress
        asked = {call["id"]: call["args"] for m in messages if isinstance(m, AIMessage) for call in m.tool_calls}
        tools = []
        for message in new:
            tool, arguments = str(message.name), asked.get(message.tool_call_id, {})
            capability = self.registry.tools.get(tool)
            if capability is not None and REFUSED not in message.additional_kwargs:
                before = progress
                progress = self._took(progress, tool, capability, arguments, message, now)
                tools += [tool] if progress is not before else []
        progress = replace(progress, seen=(*progress.seen, *map(_key, new)))
        return progress.at(fingerprint(progress.facts, self.closure), tools) if tools else progress

    def _took(
        self, progress: Progress, tool: str, capability: Capability, arguments: Mapping[str, Any], message: ToolMessage, now: int
    ) -> Progress:
        """The progress after a call; unchanged by one that failed."""
        made = {**progress.made, call_key(tool, arguments): progress.path[-1][0]}
        failed = replace(progress, made=made) if self.is_once(tool) else progress
        if message.status == "error":
            return failed
        came_to = _outcome_in(message)
        if came_to is None:
            came_to = self._outcome(tool, capability, arguments, _value(message), now)
        if came_to.problem:
            return failed
        facts = taken_in(progress.facts, capability, came_to)
        gave = not came_to.lacking or came_to.facts
        return replace(
            progress,
            facts=facts,
            called=progress.called | {tool} if gave else progress.called,
            doubted=progress.doubted | {(tool, fact) for fact in came_to.lacking},
            made={**made, call_key(tool, arguments): fingerprint(facts, self.closure)},
        )

    def _outcome(self, tool: str, capability: Capability, arguments: Mapping[str, Any], value: Any, now: int) -> Outcome:
        finding = finding_of_result(value, self._routes.contract(tool))
        if finding.status != "ok":
            return Outcome(lacking=tuple(capability.effects)) if finding.status == "empty_alias" else Outcome(problem="it failed")
        return outcome(tool, capability, arguments, value, now)

    def digested(self, call: Mapping[str, Any], message: Any, raw: Any, now: int) -> Any:
        """The message with what the call came to; a result that is not as declared becomes an error, a long one is archived.

        Args:
            call: that was made.
            message: what the tool node gives; anything but a good tool message is left as it is.
            raw: what the tool's body returned, preferred to the text made of it.
        """
        capability = self.registry.tools.get(call["name"])
        if capability is None or not isinstance(message, ToolMessage) or message.status == "error":
            return message
        came_to = self._outcome(call["name"], capability, call["args"], _value(message) if raw is None else raw, now)
        if came_to.problem == "it failed":
            return message
        text = text_of(message)
        if self._extract is not None and not came_to.problem:
            found = [Fact(name, value, 0.9, (call["name"],), now) for name, value in self._extract(call["name"], text).items()]
            came_to = came_to._replace(facts=(*came_to.facts, *found))
        update: dict[str, Any] = {"additional_kwargs": {**message.additional_kwargs, _OUTCOME: _plain(came_to)}}
        if self._archive is not None and len(text) > self._limit:
            pointer = self._archive.put(text)
            text = f"{text[: self._limit]}…\n\n[{len(text):,} characters; the whole is kept at {pointer}]"
            update["content"] = text
        if came_to.problem:
            update |= {"content": f"{text}\n\n{came_to.problem}", "status": "error"}
            update["additional_kwargs"][REFUSED] = "unparseable"
        return message.model_copy(update=update)


def _timed(fact: Fact, now: int) -> tuple[Any, ...]:
    return (fact.value, fact.confidence, list(fact.sources), fact.time or now, fact.query)


def call_key(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call without its id."""
    return f"{tool}:{hash_of(arguments)}"


def _key(message: ToolMessage) -> str:
    return message.id or message.tool_call_id


def _value(message: ToolMessage) -> Any:
    return message.content if message.artifact is None else message.artifact


def _plain(came_to: Outcome) -> str:
    return json.dumps([[list(f) for f in came_to.facts], came_to.removed, came_to.lacking, came_to.problem], default=str)


def _outcome_in(message: ToolMessage) -> Outcome | None:
    kept = message.additional_kwargs.get(_OUTCOME)
    if kept is None:
        return None
    facts, removed, lacking, problem = json.loads(kept)
    made = tuple(Fact(name, value, sure, tuple(sources), time, query) for name, value, sure, sources, time, query in facts)
    return Outcome(made, tuple(removed), tuple(lacking), problem)
