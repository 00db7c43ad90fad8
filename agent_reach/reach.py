"""The composition root: `Reach` puts the parts together."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from agent_reach.checks import (
    Citation,
    Embeddings,
    Relevance,
    citations,
    embedding_citations,
    embedding_relevance,
    lexical_relevance,
)
from agent_reach.contracts import Compensation, HandoffContract, Routes
from agent_reach.contracts.instructions import Instructions
from agent_reach.contracts.load import contract_error
from agent_reach.contracts.registry import Registry
from agent_reach.errors import ContractError
from agent_reach.events import Event
from agent_reach.live import BandChange, Evaluator, Notes
from agent_reach.planning.facts import Facts, given
from agent_reach.scores import ReachScore
from agent_reach.scores.coverage import Coverage
from agent_reach.scores.rate import RateTally

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool

    from agent_reach.integrations.gate_middleware import ReachGate
    from agent_reach.integrations.middleware import ReachMiddleware
    from agent_reach.integrations.runtime import Runtime
    from agent_reach.integrations.session import ReachSession
    from agent_reach.integrations.tool_node import ReachToolNode
    from agent_reach.integrations.tracker import ReachTracker
    from agent_reach.live.preflight import Preflight
    from agent_reach.telemetry.metrics import Metrics

_live: weakref.WeakSet[Reach] = weakref.WeakSet()


class Reach:
    """Watches agents, scores them, and, with a compensation policy, mends broken links.

    Args:
        routes: a route table, or the path of a YAML file; without one every call is a need of its own.
        compensation: what may be done about a broken link; by default what the route table says, else nothing: observe.
        tracer_provider, meter_provider: OpenTelemetry providers; by default those that `otlp` or the `OTEL_*` variables make,
            else the global ones, which are never replaced.
        otlp: endpoint of a collector, such as `http://localhost:4318`.
        store: path of a file to which all events are appended as JSON lines.
        sessions: a LangGraph `BaseStore` that keeps sessions between processes and, without a checkpointer, what ran.
        capture_payloads: keep arguments, results and texts, redacted and cut, in events and spans.
        redact: further regular expressions or functions (text to text) that take things out of payloads.
        relevance: judges retrieved fragments: a function, or any LangChain `Embeddings`; a fast lexical one by default.
        calibrated: its numbers are probabilities, so that fragments below the cut may be dropped.
        citation: says which fragments of the context a reply cites: a function, or any LangChain `Embeddings`; by default what
            both say alone: names, numbers, rare phrases.
        instructions: the prompt's instructions as atoms, or the path of their YAML file, checked as turns end.
        max_sessions, idle_seconds: bounds of what is kept in memory.

    Attributes:
        rates: reach rates over all sessions of this process, from the task units that have closed; empty without a route table.
        coverage: how the instructions were obeyed in this process; None without instructions.
        notes: faults of the observer itself.

    Raises:
        ContractError: a route, an option or an endpoint is wrong.
    """

    def __init__(
        self,
        routes: Routes | Mapping[str, Any] | str | Path | None = None,
        *,
        compensation: Compensation | Mapping[str, Any] | bool | None = None,
        tracer_provider: Any = None,
        meter_provider: Any = None,
        otlp: str | None = None,
        store: str | Path | None = None,
        sessions: Any = None,
        capture_payloads: bool = False,
        redact: Iterable[str | Callable[[str], str]] = (),
        relevance: Relevance | Embeddings | None = None,
        calibrated: bool = False,
        citation: Citation | Embeddings | None = None,
        instructions: Instructions | Mapping[str, Any] | str | Path | None = None,
        max_sessions: int = 10_000,
        idle_seconds: float = 3_600.0,
    ) -> None:
        from agent_reach.integrations.capture import Capture
        from agent_reach.integrations.runtime import Runtime
        from agent_reach.integrations.storage import BaseStoreLedger, StoredSessions
        from agent_reach.store.lines import EventLines
        from agent_reach.telemetry.metrics import Metrics
        from agent_reach.telemetry.otlp import Telemetry
        from agent_reach.telemetry.spans import OtelTracing

        self.routes, checked = _routes(routes), _instructions(instructions)
        self.notes = Notes()
        self._stored = StoredSessions(sessions) if sessions is not None else None
        self._evaluator = Evaluator(
            self.routes, time.time_ns, self.notes,
            max_sessions=max_sessions, idle_seconds=idle_seconds, store=self._stored,
        )  # fmt: skip
        self._telemetry = Telemetry(tracer_provider=tracer_provider, meter_provider=meter_provider, otlp=otlp, notes=self.notes)
        metrics = Metrics(self._telemetry.meter, self.notes)
        self.rates = RateTally()
        self.coverage = Coverage(checked) if checked else None
        self._lines = EventLines(store) if store is not None else None
        self._count_with(metrics)
        tracing = OtelTracing(self._telemetry.tracer)
        self.runtime: Runtime = Runtime(
            routes=self.routes,
            policy=_policy(compensation, self.routes),
            evaluator=self._evaluator,
            tracing=tracing,
            notes=self.notes,
            capture=Capture(capture_payloads, redact),
            clock=time.time_ns,
            relevance=_judge("relevance", relevance, lexical_relevance, embedding_relevance, "(query, fragments) to numbers"),
            calibrated=calibrated,
            citation=_judge("citation", citation, citations, embedding_citations, "(fragments, reply, said) to booleans"),
            instructions=checked,
            store_ledger=None if sessions is None else lambda task: BaseStoreLedger(sessions, task),
        )
        breakers = self.runtime.breakers
        metrics.watch_breakers(lambda: breakers.states(time.monotonic()))
        self._tracker: ReachTracker | None = None
        _live.add(self)

    def _count_with(self, metrics: Metrics) -> None:
        """Hand every event to what counts or keeps it."""
        self._evaluator.add_sink(metrics)
        if self.routes.intents:
            self._evaluator.add_sink(self.rates.observe)
        if self.coverage is not None:
            self._evaluator.add_sink(self.coverage.observe_event)
        if self._lines is not None:
            self._evaluator.add_sink(self._lines)

    # watch ----------------------------------------------------------------------------------------------------------

    @property
    def tracker(self) -> ReachTracker:
        """The callback handler: `config={"callbacks": [reach.tracker]}`."""
        if self._tracker is None:
            from agent_reach.integrations.tracker import ReachTracker

            self._tracker = ReachTracker(self)
        return self._tracker

    def session(self, id: str, *, intent: str = "", agent: str = "") -> ReachSession:
        """A conversation: `with reach.session("s-1") as session:`. Runs inside belong to it; `session.score` is live.

        Args:
            id: of the conversation; the same id goes on with the same session.
            intent: of the runs inside, instead of what the route table says.
            agent: name of the agent, where the framework tells none.
        """
        from agent_reach.integrations.session import ReachSession

        return ReachSession(self.runtime, self._stored, id, intent, agent)

    # act ------------------------------------------------------------------------------------------------------------

    def tool_node(self, tools: Sequence[BaseTool | Callable[..., Any]], **options: Any) -> ReachToolNode:
        """A drop-in `ToolNode`; takes the same options."""
        from agent_reach.integrations.tool_node import ReachToolNode

        return ReachToolNode(tools, reach=self, **options)

    def middleware(self) -> ReachMiddleware:
        """For `create_agent(model, tools, middleware=[reach.middleware()])`."""
        from agent_reach.integrations.middleware import ReachMiddleware

        return ReachMiddleware(self)

    def gate(
        self,
        registry: Registry | Mapping[str, Any] | str | Path,
        *,
        goal: Any,
        facts: Mapping[str, Any] | None = None,
        preflight: Preflight | None = None,
        send_back: int = 2,
        archive: str | Path | None = None,
        extract: Callable[[str, str], Mapping[str, Any]] | None = None,
    ) -> ReachGate:
        """For `create_agent(model, tools, middleware=[reach.middleware(), reach.gate("tools.yaml", goal=…)])`.

        The model is offered only tools whose preconditions hold, a call that cannot succeed is answered with the reason, and an
        answer that comes before the goal is reached is sent back. In a graph made by hand: `gate.node()`, `gate.offered(…)` and
        `reach.tool_node(tools, gate=gate)`.

        Args:
            registry: what the tools need and give, or the path of its YAML file; tools that it does not name pass.
            goal: name of a goal of the registry, or conditions.
            facts: that every run begins with, by name; those of one run are given as `reach_facts` in its input.
            preflight: tools that it found out of reach are not offered.
            send_back: how often an answer may be sent back; after that it passes, marked as not done.
            archive: a folder, or a URL that fsspec knows, for results too long for the model.
            extract: finds facts in results, beyond what the registry declares: (tool, text) to facts by name.

        Raises:
            ContractError: the registry is wrong, or the goal can never be true.
        """
        from agent_reach.integrations.gate import Gate
        from agent_reach.integrations.gate_middleware import ReachGate
        from agent_reach.store.archive import Archive

        known = _registry(registry)
        made = Gate(
            self.runtime, known, known.goal(goal), facts=facts, down=preflight.down if preflight is not None else None,
            send_back=send_back, archive=None if archive is None else Archive(archive), extract=extract,
        )  # fmt: skip
        return ReachGate(made)

    def preflight(
        self, registry: Registry | Mapping[str, Any] | str | Path, *, goal: Any, agent: Any = None,
        facts: Mapping[str, Any] | None = None, deadline: float = 2.0,
    ) -> Preflight:  # fmt: skip
        """Which of the tools, knowledge sources, other agents and parameters that a task needs can be reached now, and why not.

        Args:
            registry, goal: of the task, as for `gate`.
            agent: a compiled graph or a list of tools: what it lacks cannot be reached. None leaves that open.
            facts: that the task begins with; without them, all that is `given` is taken to be.
            deadline: seconds for the probes, which run at once.
        """
        from agent_reach.live.probes import from_sync

        return from_sync(lambda: self.apreflight(registry, goal=goal, agent=agent, facts=facts, deadline=deadline))

    async def apreflight(
        self, registry: Registry | Mapping[str, Any] | str | Path, *, goal: Any, agent: Any = None,
        facts: Mapping[str, Any] | None = None, deadline: float = 2.0,
    ) -> Preflight:  # fmt: skip
        """The same, from async code."""
        from agent_reach.integrations.surroundings import surroundings
        from agent_reach.live.preflight import preflight

        known = _registry(registry)
        begun = None if facts is None else Facts().add(given(facts, time=time.time_ns()))
        return await preflight(known, known.goal(goal), surroundings(self.runtime, agent), begun, deadline=deadline)

    def wrap_tools(self, tools: Sequence[BaseTool | Callable[..., Any]]) -> list[BaseTool]:
        """Tools that judge and compensate by themselves, for AgentExecutor and anything else that takes tools.

        A person cannot be asked from there. Without the tracker nobody sees the user's message: name the intent in `session(…)`.
        """
        from agent_reach.integrations.tools import wrap_tools

        return wrap_tools(self.runtime, tools)

    def wrap_retriever(self, retriever: BaseRetriever, *, source: str = "") -> BaseRetriever:
        """A retriever that is counted under the name `source`, and filtered when the relevance is calibrated.

        KnowledgeReach counts what was returned before filtering, so that dropping fragments does not raise it.
        """
        from agent_reach.integrations.retriever import wrap_retriever

        return wrap_retriever(self.runtime, retriever, source=source)

    def handoff_tool(self, contract: HandoffContract | str, **options: Any) -> BaseTool:
        """A handoff tool that asks the model for what the receiver requires.

        Args:
            contract: or the name of a receiver in the route table.
            **options: `name` and `description` of the tool.
        """
        from agent_reach.integrations.handoffs import handoff_tool

        if isinstance(contract, str):
            if contract not in self.routes.handoffs:
                raise ContractError(f"handoffs.{contract}", f"one of {sorted(self.routes.handoffs)}", contract)
            contract = self.routes.handoffs[contract]
        self.runtime.handoffs.setdefault(contract.receiver, contract)
        return handoff_tool(contract, **options)

    # know -----------------------------------------------------------------------------------------------------------

    def score(self, session: str) -> ReachScore | None:
        """The score of a session at this moment, None for one that is not in memory."""
        self.runtime.turns.flush(session)
        found = self._evaluator.find(session)
        return None if found is None else found.score

    def on_band(self, hook: Callable[[BandChange], object]) -> None:
        """Call `hook` whenever a link of a session, or its total, enters another band."""
        self._evaluator.on_band(hook)

    def add_sink(self, sink: Callable[[Event], None]) -> None:
        """Call `sink` with every event; what it raises is counted as a dropped event."""
        self._evaluator.add_sink(sink)

    # end ------------------------------------------------------------------------------------------------------------

    def flush(self, seconds: float = 5.0) -> bool:
        """Send waiting spans and metrics; True when all left in time."""
        return self._telemetry.flush(seconds)

    def shutdown(self, seconds: float = 5.0) -> bool:
        """End all sessions and send what is waiting, within `seconds` even when the collector is down.

        Returns:
            whether every span was taken; `notes.counts["dropped_span"]` says how many were not.
        """
        self._evaluator.end_all()
        done = self._telemetry.shutdown(seconds)
        if not done:
            self.notes.add("flush", f"not all spans were sent within {seconds} s")
        if self._lines is not None:
            self._lines.close()
        return done and not self.notes.counts["dropped_span"]


def _routes(value: Any) -> Routes:
    if value is None:
        return Routes()
    if isinstance(value, Routes):
        return value
    if isinstance(value, str | Path):
        return Routes.load(value)
    try:
        return Routes.model_validate(value)
    except ValidationError as error:
        raise contract_error(error, {}, None) from None


def _registry(value: Any) -> Registry:
    if isinstance(value, Registry):
        return value
    if isinstance(value, str | Path):
        return Registry.load(value)
    try:
        return Registry.model_validate(value)
    except ValidationError as error:
        raise contract_error(error, {}, None) from None


def _instructions(value: Any) -> Instructions | None:
    if value is None or isinstance(value, Instructions):
        return value
    if isinstance(value, str | Path):
        return Instructions.load(value)
    try:
        return Instructions.model_validate(value)
    except ValidationError as error:
        raise contract_error(error, {}, None) from None


def _policy(value: Any, routes: Routes) -> Compensation | None:
    if value is None:
        return routes.compensation
    if isinstance(value, bool):
        return (routes.compensation or Compensation()) if value else None
    try:
        return value if isinstance(value, Compensation) else Compensation.model_validate(value)
    except ValidationError as error:
        raise contract_error(error, {}, "compensation") from None


def _judge(name: str, value: Any, default: Any, of_embeddings: Callable[[Any], Any], shape: str) -> Any:
    """A function that judges texts: the given one, one made of embeddings, or the default."""
    if value is None:
        return default
    if hasattr(value, "embed_query") and hasattr(value, "embed_documents"):
        return of_embeddings(value)
    if callable(value):
        return value
    raise ContractError(name, f"a function from {shape}, or LangChain Embeddings", value)


def provide_default_runtime() -> None:
    """Let adapters that are used without a `Reach` make one with defaults."""
    from agent_reach.integrations.runtime import Runtime

    Runtime.make_default = staticmethod(lambda: Reach().runtime)


def _after_fork() -> None:
    for reach in list(_live):
        reach.runtime.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
