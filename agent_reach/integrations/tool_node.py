"""`ReachToolNode`: a `ToolNode` that judges what its tools return, and compensates where a policy allows it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt

from agent_reach.compensate.human import answer_text
from agent_reach.integrations.acting import HUMAN_KEY, aact, act
from agent_reach.integrations.calls import CallRecord
from agent_reach.integrations.gate import Gate
from agent_reach.integrations.handoffs import handed_over
from agent_reach.integrations.once import Once
from agent_reach.integrations.runtime import Runtime, default_runtime
from agent_reach.integrations.translate import HANDOFF_KEY, agent_in, human_turns, messages_in, raw_messages, user_text

_OVERRIDDEN = ("_run_one", "_arun_one", "_execute_tool_sync", "_execute_tool_async", "_combine_tool_outputs")


class ReachToolNode(ToolNode):
    """A drop-in `ToolNode`.

    Takes every argument of `ToolNode`, the user's own `wrap_tool_call` included, and keeps its behaviour; the four inner
    methods are overridden because any wrapper given to the constructor would change what `handle_tool_errors` means.

    Args:
        tools: as for `ToolNode`.
        reach: a `Reach` (or its runtime); without one, a default that observes.
        gate: made by `reach.gate(…)`: calls whose preconditions do not hold are refused.
        **options: as for `ToolNode`.
    """

    def __init__(self, tools: Sequence[BaseTool | Any], *, reach: Any = None, gate: Any = None, **options: Any) -> None:
        super().__init__(tools, **options)
        self._gate: Gate | None = getattr(gate, "gate", gate)
        runtime: Runtime = getattr(reach, "runtime", reach) or default_runtime()
        self.reach_runtime = runtime
        runtime.register(self.tools_by_name)
        absent = [name for name in _OVERRIDDEN if not hasattr(ToolNode, name)]
        if absent:
            runtime.notes.add("tool_node", f"this langgraph has no ToolNode.{', '.join(absent)}: its tools are not compensated")
        _warn_of_unrouted(runtime, self.tools_by_name)

    # one call -------------------------------------------------------------------------------------------------------

    def _run_one(self, call: Any, input_type: Any, tool_runtime: Any) -> Any:
        record = self._open(call, tool_runtime)
        if record is None:
            return super()._run_one(call, input_type, tool_runtime)

        def run(tool: str, arguments: dict[str, Any] | None) -> Any:
            asked: Any = call if arguments is None else {**call, "name": tool, "args": arguments}
            if self._gate is None:
                return super(ReachToolNode, self)._run_one(asked, input_type, tool_runtime)
            progress, obstacles = self._gate.check(asked, tool_runtime.state)
            if obstacles:
                return self._gate.refused(record.turn, asked, obstacles, progress, record.agent)
            response = super(ReachToolNode, self)._run_one(asked, input_type, tool_runtime)
            return self._gate.digested(asked, response, record.raw)

        once = self._once(record, call, tool_runtime)
        if once is None:
            return handed_over(record, act(record, run, can_ask_human=self._can_ask(None)), tool_runtime.state)
        found = once.before()
        if found is not None:
            return found
        response = act(record, run, can_ask_human=self._can_ask(once))
        response = handed_over(record, response, tool_runtime.state)
        once.after(response)
        return response

    async def _arun_one(self, call: Any, input_type: Any, tool_runtime: Any) -> Any:
        record = self._open(call, tool_runtime)
        if record is None:
            return await super()._arun_one(call, input_type, tool_runtime)

        async def run(tool: str, arguments: dict[str, Any] | None) -> Any:
            asked: Any = call if arguments is None else {**call, "name": tool, "args": arguments}
            if self._gate is None:
                return await super(ReachToolNode, self)._arun_one(asked, input_type, tool_runtime)
            progress, obstacles = await self._gate.acheck(asked, tool_runtime.state)
            if obstacles:
                return self._gate.refused(record.turn, asked, obstacles, progress, record.agent)
            response = await super(ReachToolNode, self)._arun_one(asked, input_type, tool_runtime)
            return self._gate.digested(asked, response, record.raw)

        once = self._once(record, call, tool_runtime)
        if once is None:
            response = await aact(record, run, can_ask_human=self._can_ask(None))
            return handed_over(record, response, tool_runtime.state)
        found = await once.abefore()
        if found is not None:
            return found
        response = await aact(record, run, can_ask_human=self._can_ask(once))
        response = handed_over(record, response, tool_runtime.state)
        await once.aafter(response)
        return response

    def _open(self, call: Any, tool_runtime: Any) -> CallRecord | None:
        runtime = self.reach_runtime
        try:
            return open_call(runtime, call, tool_runtime.config, tool_runtime.state, tool_runtime)
        except Exception as fault:  # noqa: BLE001 - our bugs never become the user's
            runtime.notes.internal("opening a tool call", fault)
            return None

    def _once(self, record: CallRecord, call: Any, tool_runtime: Any) -> Once | None:
        policy = self.reach_runtime.policy
        if policy is None or policy.dry_run:
            return None
        siblings = _siblings(tool_runtime.state)
        return Once.of(record, call, tool_runtime, siblings, asks=policy.human == "interrupt")

    def _can_ask(self, once: Once | None) -> bool:
        policy = self.reach_runtime.policy
        if policy is None or not policy.human:
            return False
        if policy.human_node:
            return True
        if once is None:
            self.reach_runtime.notes.add("human", "no checkpointer: a person cannot be asked by an interrupt here")
        return once is not None

    # one attempt ----------------------------------------------------------------------------------------------------

    def _execute_tool_sync(self, request: Any, input_type: Any, config: Any) -> Any:
        record = self.reach_runtime.current.get()
        response = super()._execute_tool_sync(self._shadowed(request, record), input_type, config)
        return _seen(record, response)

    async def _execute_tool_async(self, request: Any, input_type: Any, config: Any) -> Any:
        record = self.reach_runtime.current.get()
        response = await super()._execute_tool_async(self._shadowed(request, record), input_type, config)
        return _seen(record, response)

    def _shadowed(self, request: Any, record: CallRecord | None) -> Any:
        tool = request.tool
        if tool is None and record is not None and request.tool_call["name"] != record.tool:
            tool = self.reach_runtime.tools.get(request.tool_call["name"])
        if tool is None or record is None:
            return request
        return with_tool(request, self.reach_runtime.shadows.of(tool))

    # all calls ------------------------------------------------------------------------------------------------------

    def _combine_tool_outputs(self, outputs: list[Any], input_type: Any) -> Any:
        """Ask about the calls that a person has to settle, one after another, once all calls are recorded."""
        policy = self.reach_runtime.policy
        if policy is not None and policy.human == "interrupt":
            outputs = [self._answered(output) for output in outputs]
        return super()._combine_tool_outputs(outputs, input_type)

    def _answered(self, output: Any) -> Any:
        return answered(output) if isinstance(output, ToolMessage) and HUMAN_KEY in output.additional_kwargs else output


def with_tool(request: Any, tool: BaseTool) -> Any:
    """`request.override(tool=tool)`, at a tenth of its cost."""
    changed = copy.copy(request)
    object.__setattr__(changed, "tool", tool)
    return changed


def answered(message: ToolMessage) -> ToolMessage:
    """The message with a person's answer in place of what the tool gave; pauses the graph until there is one."""
    answer = interrupt(message.additional_kwargs[HUMAN_KEY])
    rest = {key: value for key, value in message.additional_kwargs.items() if key != HUMAN_KEY}
    update = {"content": answer_text(answer), "status": "success", "additional_kwargs": rest}
    return message.model_copy(update=update)


def open_call(runtime: Runtime, call: Any, config: Any, state: Any, tool_runtime: Any) -> CallRecord | None:
    """The record of a call that a node or a middleware is about to run; a retry from outside continues the earlier one.

    None when another wrapper of the same `Reach` has this call already.
    """
    outer = runtime.current.get()
    if outer is not None and outer.running is not None and outer.call_id == call["id"] and not outer.running.in_body:
        return None
    metadata = config.get("metadata") or {}
    agent = agent_in(metadata)
    turn = runtime.turn_of(config, text=lambda: _users(state), agent=agent)
    info = getattr(tool_runtime, "execution_info", None)
    key = (info.task_id, call["id"], _occurrence(state, call), call["name"]) if info is not None else None
    for other in list(turn.deferred):
        if other[0] != (key and key[0]):
            turn.deferred.pop(other).settle()
    record = turn.deferred.pop(key, None) if key is not None else None
    if record is None:
        turn.asked.pop(call["id"], None)
        record = CallRecord(
            runtime, turn, tool=call["name"], call_id=call["id"] or "", arguments=call["args"], agent=agent, key=key
        )
        record.step = metadata.get("langgraph_step")
        record.repeated = key is not None and key in turn.published
    return record


def _users(state: Any) -> tuple[str, int]:
    messages = messages_in(state)
    return user_text(messages), human_turns(messages)


def _siblings(state: Any) -> list[Any]:
    """The calls of the newest model message."""
    messages = state if isinstance(state, list) else raw_messages(state)
    return next((m.tool_calls for m in reversed(messages) if isinstance(m, AIMessage)), [])


def _occurrence(state: Any, call: Any) -> int:
    """How many calls before this one in its message bear the same id: models repeat ids."""
    count = 0
    for other in _siblings(state):
        if other is call:
            return count
        count += other["id"] == call["id"]
    return 0


def _seen(record: CallRecord | None, response: Any) -> Any:
    if record is not None and record.running is not None:
        record.running.inner = response
    return response


def _warn_of_unrouted(runtime: Runtime, tools: Any) -> None:
    if not runtime.routes.intents:
        return
    named = {name for _, name in runtime.routes.named()} | set(runtime.routes.tools)
    handoffs = {name for name, tool in tools.items() if HANDOFF_KEY in (tool.metadata or {})}
    unrouted = sorted(set(tools) - named - handoffs)
    if unrouted:
        runtime.notes.add("unrouted_tool", f"registered tools in no route: {', '.join(unrouted)}")
