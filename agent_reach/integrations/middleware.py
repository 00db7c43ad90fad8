"""`ReachMiddleware`: the same for `create_agent` of LangChain 1.x."""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, ToolMessage

from agent_reach.integrations.acting import HUMAN_KEY, aact, act
from agent_reach.integrations.calls import CallRecord
from agent_reach.integrations.decisions import offered_names, record_decision
from agent_reach.integrations.handoffs import handed_over
from agent_reach.integrations.once import Once
from agent_reach.integrations.runtime import Runtime, default_runtime
from agent_reach.integrations.tool_node import answered, open_call, with_tool
from agent_reach.integrations.translate import agent_in, human_turns, messages_in, text_of, user_text


class ReachMiddleware(AgentMiddleware[Any, Any, Any]):
    """Judges and, where a policy allows it, compensates each tool call of an agent.

    Adds no node to the agent's graph, except `before_model` and `after_agent` when a person may be asked.

    Args:
        reach: a `Reach` (or its runtime); without one, a default that observes.
    """

    def __new__(cls, reach: Any = None) -> ReachMiddleware:
        runtime: Runtime = getattr(reach, "runtime", reach) or default_runtime()
        asks = runtime.policy is not None and runtime.policy.human == "interrupt"
        made = super().__new__(AskingReachMiddleware if asks else cls)
        made.runtime = runtime
        return made

    def __init__(self, reach: Any = None) -> None:
        super().__init__()

    @property
    def name(self) -> str:
        return "ReachMiddleware"

    runtime: Runtime

    # tools ----------------------------------------------------------------------------------------------------------

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        record = self._open(request)
        if record is None:
            return handler(request)

        def run(tool: str, arguments: dict[str, Any] | None) -> Any:
            return handler(self._request(request, tool, arguments))

        once = self._once(record, request)
        if once is not None and (found := once.before()) is not None:
            return found
        response = handed_over(record, act(record, run, can_ask_human=self._can_ask), request.state)
        if once is not None:
            once.after(response)
        return response

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        record = self._open(request)
        if record is None:
            return await handler(request)

        async def run(tool: str, arguments: dict[str, Any] | None) -> Any:
            return await handler(self._request(request, tool, arguments))

        once = self._once(record, request)
        if once is not None and (found := await once.abefore()) is not None:
            return found
        response = handed_over(record, await aact(record, run, can_ask_human=self._can_ask), request.state)
        if once is not None:
            await once.aafter(response)
        return response

    def _open(self, request: Any) -> CallRecord | None:
        try:
            if request.tool is not None:
                self.runtime.tools.setdefault(request.tool.name, request.tool)
                for tool in getattr(request.runtime, "tools", None) or ():
                    self.runtime.tools.setdefault(tool.name, tool)
            return open_call(self.runtime, request.tool_call, request.runtime.config, request.state, request.runtime)
        except Exception as fault:  # noqa: BLE001 - our bugs never become the user's
            self.runtime.notes.internal("opening a tool call", fault)
            return None

    def _request(self, request: Any, tool: str, arguments: dict[str, Any] | None) -> Any:
        if arguments is not None or tool != request.tool_call["name"]:
            call = {**request.tool_call, "name": tool, "args": arguments}
            request = request.override(tool_call=call, tool=self.runtime.tools.get(tool))
        return request if request.tool is None else with_tool(request, self.runtime.shadows.of(request.tool))

    def _once(self, record: CallRecord, request: Any) -> Once | None:
        policy = self.runtime.policy
        if policy is None or policy.dry_run:
            return None
        return Once.of(record, request.tool_call, request.runtime, [], asks=False)

    @property
    def _can_ask(self) -> bool:
        return bool(self.runtime.policy and self.runtime.policy.human)

    # model ----------------------------------------------------------------------------------------------------------

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        response = handler(request)
        self._decided(request, response)
        return response

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        response = await handler(request)
        self._decided(request, response)
        return response

    def _decided(self, request: Any, response: Any) -> None:
        """Count a decision, unless a tracker hears the model itself."""
        with self.runtime.notes.guard("counting a decision"):
            config = _config_of(request)
            messages = messages_in(request.state)
            agent = agent_in(config.get("metadata") or {})
            turn = self.runtime.turn_of(config, text=lambda: (user_text(messages), human_turns(messages)), agent=agent)
            if turn.root is not None:
                return
            result = getattr(response, "result", [response])
            message = next((m for m in reversed(result) if isinstance(m, AIMessage)), None)
            if message is not None:
                tools = offered_names({"tools": request.tools})
                record_decision(self.runtime, turn, message, sent=request.messages, offered=tools, agent=agent)
                turn.reply, turn.calls = text_of(message), bool(message.tool_calls)
                if not message.tool_calls:
                    self.runtime.turns.end(turn, self.runtime.turns.outcome(turn))


class AskingReachMiddleware(ReachMiddleware):
    """Asks a person about the calls that nothing else settled, between two steps of the graph, so that no tool runs again."""

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return self._ask(state)

    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return self._ask(state)

    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return self._ask(state)

    async def aafter_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return self._ask(state)

    def _ask(self, state: Any) -> dict[str, Any] | None:
        waiting = [m for m in messages_in(state) if isinstance(m, ToolMessage) and HUMAN_KEY in m.additional_kwargs]
        return {"messages": [answered(message) for message in waiting]} if waiting else None


def _config_of(request: Any) -> dict[str, Any]:
    """The configuration of the node that calls the model."""
    from langchain_core.runnables.config import var_child_runnable_config

    return dict(var_child_runnable_config.get() or {})
