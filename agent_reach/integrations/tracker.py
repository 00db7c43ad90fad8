"""`ReachTracker`: the callback handler that watches. It changes nothing, attaches no context and raises nothing."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec
from uuid import UUID

from langchain_core.messages import AIMessage, ToolMessage
from langgraph.callbacks import GraphCallbackHandler
from langgraph.errors import GraphBubbleUp, ParentCommand
from langgraph.types import Command

from agent_reach.checks import failed
from agent_reach.events import Thought
from agent_reach.integrations.calls import CallRecord
from agent_reach.integrations.decisions import offered_names, record_decision
from agent_reach.integrations.handoffs import handed_over, missing_from_command, publish
from agent_reach.integrations.judge import finding_of_response
from agent_reach.integrations.retriever import COUNTED, record_retrieval
from agent_reach.integrations.runtime import Runtime, default_runtime
from agent_reach.integrations.translate import agent_in, raw_messages, receiver_of, text_of, user_text
from agent_reach.integrations.turns import OpenTurn

P = ParamSpec("P")

_FRAMEWORK_NAMES = frozenset({"LangGraph", "AgentExecutor", "RunnableSequence", "RunnableWithMessageHistory", "RunnableLambda"})
_UNKNOWN = failed("unknown_tool")
_INVALID_TOOL = "invalid_tool"  # what AgentExecutor runs instead of a tool that does not exist


def _guarded(doing: str) -> Callable[[Callable[P, None]], Callable[P, None]]:
    def decorate(method: Callable[P, None]) -> Callable[P, None]:
        @functools.wraps(method)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                method(*args, **kwargs)
            except Exception as fault:  # noqa: BLE001 - our bugs never become the user's
                args[0].runtime.notes.internal(doing, fault)  # type: ignore[attr-defined]

        return guarded

    return decorate


class ReachTracker(GraphCallbackHandler):
    """Watches chains, graphs and AgentExecutors, sync and async, any number at once.

    Args:
        reach: a `Reach` (or its runtime); without one, a default that observes.
    """

    run_inline = True
    raise_error = False

    def __init__(self, reach: Any = None) -> None:
        self.runtime: Runtime = getattr(reach, "runtime", reach) or default_runtime()
        self._models: dict[UUID, tuple[Any, ...]] = {}
        self._retrievals: dict[UUID, tuple[Any, ...]] = {}
        self._nodes: dict[UUID, tuple[str, Any]] = {}

    @property
    def ignore_custom_event(self) -> bool:
        return True

    @property
    def ignore_retry(self) -> bool:
        return True

    # turns ----------------------------------------------------------------------------------------------------------

    @_guarded("seeing a run begin")
    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        turns = self.runtime.turns
        if parent_run_id is not None:
            turn = turns.join(run_id, parent_run_id)
            if turn is not None and turn.human_step is not None:
                self._beside_human(turn, metadata or {})
            if turn is not None and self.runtime.handoffs:
                node = str((metadata or {}).get("langgraph_node", ""))
                turn.handing_over.discard(node)
                self._nodes[run_id] = node, inputs
            return
        metadata = metadata or {}
        id = turns.session_id(metadata, {}, run_id)
        agent = agent_in(metadata) or _agent_name(kwargs.get("name"))
        resumes = inputs is None or isinstance(inputs, Command)
        turns.begin(id, text=user_text(inputs), agent=agent, root=run_id, resumes=resumes)

    @_guarded("seeing a run end")
    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        turn = self.runtime.turns.of_run(run_id)
        if turn is None:
            return
        if turn.root != run_id:
            self._leave_node(turn, run_id, outputs)
            return
        self._unanswered(turn, raw_messages(outputs))
        if turn.paused:
            self.runtime.turns.pause(turn)
            return
        _take_reply(turn, outputs)
        self._end(turn, self.runtime.turns.outcome(turn))

    @_guarded("seeing a run fail")
    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        turn = self.runtime.turns.of_run(run_id)
        if turn is None:
            return
        if turn.root != run_id:
            self._leave_node(turn, run_id, error.args[0] if isinstance(error, ParentCommand) and error.args else None)
            return
        if isinstance(error, GraphBubbleUp) or turn.paused:
            self.runtime.turns.pause(turn)
            return
        self._end(turn, "abandoned", failed=isinstance(error, Exception))

    def _end(self, turn: OpenTurn, outcome: Any, *, failed: bool = False) -> None:
        for run in [run for run, record in self.runtime.open_runs.items() if record.turn is turn]:
            record = self.runtime.open_runs.pop(run)
            record.attempts.clear()
            record.settle()
        for run in turn.runs:
            self._nodes.pop(run, None)
        own_session = turn.session.id == str(turn.root)
        self.runtime.turns.end(turn, outcome, failed=failed)
        if own_session:
            self.runtime.evaluator.end(turn.session)

    def on_interrupt(self, event: Any) -> None:
        turn = self.runtime.turns.of_run(event.run_id)
        if turn is not None:
            turn.paused = True

    def _beside_human(self, turn: OpenTurn, metadata: dict[str, Any]) -> None:
        """A static edge leaves the tools node: LangGraph follows it as well as the command to the human node."""
        policy, node = self.runtime.policy, metadata.get("langgraph_node")
        if policy is None or metadata.get("langgraph_step") != turn.human_step or node in (None, policy.human_node):
            return
        text = f"{node!r} runs beside the human node {policy.human_node!r}: take the static edge from the tools node away"
        self.runtime.notes.add("human_node", text)

    def _leave_node(self, turn: OpenTurn, run_id: UUID, output: Any) -> None:
        self.runtime.turns.leave(run_id)
        node, state = self._nodes.pop(run_id, ("", None))
        if isinstance(output, Command):
            self._node_hands_over(turn, output, node, state)

    def _node_hands_over(self, turn: OpenTurn, command: Command[Any], node: str, state: Any) -> None:
        """A node sent to an agent by itself; only declared receivers are agents, other targets are mere routing."""
        receiver = receiver_of(command)
        if receiver not in self.runtime.handoffs or receiver in turn.handing_over:
            return
        missing = missing_from_command(self.runtime, receiver, command, state)
        publish(self.runtime, turn, None, receiver, missing, sender=node)

    # models ---------------------------------------------------------------------------------------------------------

    @_guarded("seeing a model begin")
    def on_chat_model_start(
        self, serialized: Any, messages: list[list[Any]], *, run_id: UUID, parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        turn = self.runtime.turns.join(run_id, parent_run_id)
        if turn is None:
            return
        sent = messages[0] if messages else []
        self._unanswered(turn, sent)
        turn.flush()
        metadata = metadata or {}
        parameters = kwargs.get("invocation_params") or {}
        model = str(metadata.get("ls_model_name") or parameters.get("model") or parameters.get("model_name") or "")
        offered = offered_names({**(kwargs.get("options") or {}), **parameters})
        self._models[run_id] = (turn, sent, offered, self.runtime.clock(), agent_in(metadata), model)

    def on_llm_start(
        self, serialized: Any, prompts: list[str], *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        self.runtime.turns.join(run_id, parent_run_id)

    @_guarded("seeing a model end")
    def on_llm_end(self, response: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self.runtime.turns.leave(run_id)
        begun = self._models.pop(run_id, None)
        if begun is None:
            return
        turn, sent, offered, started, agent, model = begun
        message = getattr(response.generations[0][0], "message", None) if response.generations and response.generations[0] else None
        if not isinstance(message, AIMessage):
            return
        turn.reply, turn.calls = text_of(message), bool(message.tool_calls)
        for call in message.tool_calls:
            if call["id"]:
                turn.asked[call["id"]] = (call["name"], agent)
        record_decision(self.runtime, turn, message, sent=sent, offered=offered, agent=agent, started=started, model=model)

    @_guarded("seeing a model fail")
    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self.runtime.turns.leave(run_id)
        self._models.pop(run_id, None)

    def _unanswered(self, turn: OpenTurn, messages: Sequence[Any]) -> None:
        """Calls that the model asked for and that were answered by an error without any tool being run: unknown tools."""
        if not turn.asked:
            return
        for message in reversed(messages):
            if not isinstance(message, ToolMessage):
                if isinstance(message, AIMessage):
                    break
                continue
            name, agent = turn.asked.pop(message.tool_call_id, ("", ""))
            if name and message.status == "error":
                record = CallRecord(self.runtime, turn, tool=name, call_id=message.tool_call_id, arguments={}, agent=agent)
                record.conclude_with(None, finding_of_response(message, self.runtime.routes.contract(name)))
                record.settle()
        turn.asked.clear()

    # tools ----------------------------------------------------------------------------------------------------------

    @_guarded("seeing a tool begin")
    def on_tool_start(
        self, serialized: dict[str, Any], input_str: str, *, run_id: UUID, parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None, inputs: dict[str, Any] | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        runtime = self.runtime
        turn = runtime.turns.join(run_id, parent_run_id)
        name = (serialized or {}).get("name") or kwargs.get("name") or "tool"
        outer = runtime.current.get()
        if outer is not None and outer.claims(name):
            return
        metadata = metadata or {}
        agent = agent_in(metadata)
        if turn is None:
            id = runtime.turns.session_id(metadata, {}, run_id)
            turn = runtime.turns.unseen(id, text="", agent=agent, users=0)
        arguments: dict[str, Any] = inputs if isinstance(inputs, dict) else {"input": input_str}
        if name == _INVALID_TOOL:
            name = str(arguments.get("requested_tool_name", name))
        call_id = kwargs.get("tool_call_id") or ""
        key = (str(metadata.get("langgraph_checkpoint_ns", "")), call_id) if call_id else None
        turn.asked.pop(call_id, None)
        record = turn.deferred.pop(key, None) if key is not None else None
        if record is None:
            record = CallRecord(runtime, turn, tool=name, call_id=call_id, arguments=arguments, agent=agent, key=key)
        record.attempt(name).begin()
        runtime.open_runs[run_id] = record

    @_guarded("seeing a tool end")
    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        record = self._leave_tool(run_id)
        if record is None or record.running is None:
            return
        attempt = record.running
        attempt.response = output
        attempt.end()
        if kwargs.get("name") == _INVALID_TOOL:
            record.conclude_with(attempt, _UNKNOWN)
        record.settle()
        handed_over(record, output, None)
        self._end_lone(record, run_id)

    @_guarded("seeing a tool fail")
    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        record = self._leave_tool(run_id)
        if record is None or record.running is None:
            return
        record.running.end(error)
        record.settle(defer=isinstance(error, Exception) and not isinstance(error, GraphBubbleUp))
        self._end_lone(record, run_id)

    def _leave_tool(self, run_id: UUID) -> CallRecord | None:
        self.runtime.turns.leave(run_id)
        record = self.runtime.open_runs.pop(run_id, None)
        return None if record is None or record.adopted else record

    def _end_lone(self, record: CallRecord, run_id: UUID) -> None:
        """A tool that was run by itself was the whole session."""
        if record.turn.session.id == str(run_id):
            self.runtime.evaluator.end(record.turn.session)

    # knowledge ------------------------------------------------------------------------------------------------------

    @_guarded("seeing a retriever begin")
    def on_retriever_start(
        self, serialized: Any, query: str, *, run_id: UUID, parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        runtime, metadata = self.runtime, metadata or {}
        turn = runtime.turns.join(run_id, parent_run_id)
        if metadata.get(COUNTED) or runtime.retrieving.get():
            return
        agent = agent_in(metadata)
        if turn is None:
            turn = runtime.turns.unseen(runtime.turns.session_id(metadata, {}, run_id), text=query, agent=agent, users=0)
        name = kwargs.get("name") or (serialized or {}).get("name") or "retriever"
        self._retrievals[run_id] = (turn, str(name), query, agent, runtime.clock())

    @_guarded("seeing a retriever end")
    def on_retriever_end(self, documents: Sequence[Any], *, run_id: UUID, **kwargs: Any) -> None:
        self._retrieved(run_id, documents, None)

    @_guarded("seeing a retriever fail")
    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._retrieved(run_id, [], error)

    def _retrieved(self, run_id: UUID, documents: Sequence[Any], error: BaseException | None) -> None:
        self.runtime.turns.leave(run_id)
        begun = self._retrievals.pop(run_id, None)
        if begun is None:
            return
        turn, source, query, agent, started = begun
        record_retrieval(self.runtime, turn, source, query, documents, agent=agent, started=started, error=error)
        if turn.session.id == str(run_id):
            self.runtime.evaluator.end(turn.session)

    # thoughts -------------------------------------------------------------------------------------------------------

    @_guarded("seeing an agent act")
    def on_agent_action(self, action: Any, *, run_id: UUID, **kwargs: Any) -> None:
        turn = self.runtime.turns.of_run(run_id)
        if turn is None:
            return
        now = self.runtime.clock()
        event = Thought(
            **turn.where(),
            time=now,
            id=f"{turn.handle.id}.{now:x}",
            parent=turn.handle.id,
            agent=turn.agent,
            tool=action.tool,
            text=self.runtime.payload(action.log),
        )
        self.runtime.annotate(event, turn.handle)


def _agent_name(run_name: Any) -> str:
    """The name that a user gave the run, if it is one."""
    return str(run_name) if run_name and run_name not in _FRAMEWORK_NAMES else ""


def _take_reply(turn: OpenTurn, outputs: Any) -> None:
    messages = raw_messages(outputs)
    last = messages[-1] if messages else None
    if isinstance(last, AIMessage):
        turn.reply, turn.calls = text_of(last), bool(last.tool_calls)
    elif isinstance(last, ToolMessage):
        turn.returned_directly = True
        turn.reply = text_of(last)
    elif isinstance(outputs, dict) and isinstance(outputs.get("output"), str):
        turn.reply, turn.calls = outputs["output"], False
    elif isinstance(outputs, str | AIMessage):
        turn.reply, turn.calls = text_of(outputs), bool(getattr(outputs, "tool_calls", None))
