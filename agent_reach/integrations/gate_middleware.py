"""A gate as middleware of `create_agent`, and as a node of a graph made by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
from langchain_core.messages import AIMessage
from langgraph.graph import END
from langgraph.types import Command

from agent_reach.integrations.acting import observe
from agent_reach.integrations.calls import CallRecord
from agent_reach.integrations.gate import Gate, GateState
from agent_reach.integrations.intake import CHANNEL
from agent_reach.integrations.tool_node import open_call
from agent_reach.integrations.translate import agent_in, human_turns, messages_in, user_text
from agent_reach.planning.progress import merged


class GateAgentState(AgentState[Any]):
    """The agent's state, and where its task stands."""

    reach_facts: NotRequired[Annotated[dict[str, Any], merged]]


class ReachGate(AgentMiddleware[Any, Any, Any]):
    """Offers the model what can be called, refuses what cannot, and lets an answer pass when the goal is reached.

    Stands after `reach.middleware()` in the list of middleware, or alone.

    Args:
        gate: that judges.
    """

    state_schema = GateAgentState

    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self.gate = gate

    @property
    def name(self) -> str:
        return "ReachGate"

    # what the model may choose from ---------------------------------------------------------------------------------

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(self._narrowed(request))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(self._narrowed(request))

    def _narrowed(self, request: Any) -> Any:
        return request.override(tools=self.gate.offered(request.state, request.tools))

    # calls ----------------------------------------------------------------------------------------------------------

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        call = request.tool_call
        progress, obstacles = self.gate.check(call, request.state)
        outer = self._outer(call)
        if not obstacles:
            return self.gate.digested(call, handler(request), outer and outer.raw)
        record = outer or self._record(request)
        refusal = self.gate.refused(record.turn, call, obstacles, progress, record.agent)
        return refusal if outer is not None else observe(record, lambda _tool, _arguments: refusal)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        call = request.tool_call
        progress, obstacles = await self.gate.acheck(call, request.state)
        outer = self._outer(call)
        if not obstacles:
            return self.gate.digested(call, await handler(request), outer and outer.raw)
        record = outer or self._record(request)
        refusal = self.gate.refused(record.turn, call, obstacles, progress, record.agent)
        return refusal if outer is not None else observe(record, lambda _tool, _arguments: refusal)

    def _outer(self, call: Any) -> CallRecord | None:
        """The record of this call, when a middleware further out counts it."""
        record = self.gate.runtime.current.get()
        counted = record is not None and record.running is not None and record.call_id == call["id"]
        return record if counted else None

    def _record(self, request: Any) -> CallRecord:
        made = open_call(self.gate.runtime, request.tool_call, request.runtime.config, request.state, request.runtime)
        assert made is not None  # else there would be an outer one
        return made

    # steps ----------------------------------------------------------------------------------------------------------

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        progress = self.gate.progress(state)
        self._snapshot(state, progress, "loop" if progress.loops else "step")
        return {CHANNEL: progress.to_json()}

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return self._answered(state)

    @hook_config(can_jump_to=["model"])
    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return self._answered(state)

    def _answered(self, state: Any) -> dict[str, Any] | None:
        found = self._verdict(state)
        if found is None:
            return None
        update, again = found
        return {**update, "jump_to": "model"} if again else update

    def _verdict(self, state: Any) -> tuple[dict[str, Any], bool] | None:
        """What an answer that ends the task comes to, and whether it is sent back; None when the model still calls tools."""
        messages = messages_in(state)
        last = messages[-1] if messages else None
        if not isinstance(last, AIMessage) or last.tool_calls:
            return None
        progress = self.gate.progress(state)
        left = self.gate.left(progress)
        if self.gate.sends_back(last, progress, left):
            self._snapshot(state, progress, "sent_back", reason="; ".join(left))
            sent = replace(progress, sent_back=progress.sent_back + 1)
            return {"messages": [self.gate.reminder(progress, left)], CHANNEL: sent.to_json()}, True
        self._snapshot(state, progress, "done" if not left else "step", reason="; ".join(left))
        return {"messages": [self.gate.marked(last, left)], CHANNEL: progress.to_json()}, False

    def _snapshot(self, state: Any, progress: Any, kind: str, reason: str = "") -> None:
        runtime = self.gate.runtime
        with runtime.notes.guard("recording a state of the task"):
            turn = turn_here(runtime, state)
            self.gate.snapshot(turn, progress, kind, action=", ".join(progress.path[-1][1]), reason=reason)

    # in a graph made by hand ----------------------------------------------------------------------------------------

    def offered(self, state: Any, tools: Sequence[Any]) -> list[Any]:
        """Those of the tools that a model may be offered in a state: `model.bind_tools(gate.offered(state, tools))`."""
        return self.gate.offered(state, tools)

    def node(self, *, model: str = "agent", tools: str = "tools", end: str = END) -> Callable[[GateState], Command[Any]]:
        """A node that stands after the model's: calls go on to the tools, answers to the end or back.

        Give the same gate to `reach.tool_node(tools, gate=…)`, which refuses what cannot be called.

        Args:
            model, tools: names of the nodes before and behind it.
            end: where a task that is done, or given up, goes.
        """

        def reach_gate(state: GateState) -> Command[Any]:
            found = self._verdict(state)
            if found is not None:
                update, again = found
                return Command(goto=model if again else end, update=update)
            progress = self.gate.progress(state)
            self._snapshot(state, progress, "loop" if progress.loops else "step")
            return Command(goto=tools, update={CHANNEL: progress.to_json()})

        return reach_gate

    def done(self, state: Mapping[str, Any]) -> bool:
        """The goal is reached in a state of the graph."""
        return not self.left(state)

    def left(self, state: Mapping[str, Any]) -> list[str]:
        """What is left to do in a state of the graph, a reason each; empty when the goal is reached."""
        return self.gate.left(self.gate.progress(state))


def turn_here(runtime: Any, state: Any) -> Any:
    """The turn of the node that runs now."""
    from langchain_core.runnables.config import var_child_runnable_config

    config: dict[str, Any] = dict(var_child_runnable_config.get() or {})
    messages = messages_in(state)
    agent = agent_in(config.get("metadata") or {})
    return runtime.turn_of(config, text=lambda: (user_text(messages), human_turns(messages)), agent=agent)
