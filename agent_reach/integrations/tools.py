"""`wrap_tools`: compensation for AgentExecutor and anything else that takes tools."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as make_tool

from agent_reach.integrations.acting import aact, act
from agent_reach.integrations.calls import CallRecord
from agent_reach.integrations.runtime import Runtime
from agent_reach.integrations.shadow import WRAPPED
from agent_reach.integrations.translate import agent_in

_INJECTED = ("config", "run_manager")


def wrap_tools(runtime: Runtime, tools: Sequence[BaseTool | Any]) -> list[BaseTool]:
    """Copies of the tools that judge and compensate in their own body; name, schema and type stay the same.

    A person cannot be asked from here: an AgentExecutor has nowhere to wait.
    """
    made = [tool if isinstance(tool, BaseTool) else make_tool(tool) for tool in tools]
    runtime.register({tool.name: tool for tool in made})
    if runtime.policy is not None and runtime.policy.human:
        runtime.notes.add("human", "wrapped tools cannot ask a person: they stop after the rungs before")
    return [_wrapped(runtime, tool) for tool in made]


def _wrapped(runtime: Runtime, tool: BaseTool) -> BaseTool:
    inner = runtime.shadows.inner(tool)
    run_body, arun_body = inner._run, inner._arun

    @functools.wraps(run_body)
    def run(*args: Any, **kwargs: Any) -> Any:
        record = _record(runtime, tool, args, kwargs)
        if record is None:
            return run_body(*args, **kwargs)

        def execute(name: str, arguments: dict[str, Any] | None) -> Any:
            if arguments is None:
                return _watched(record, lambda: run_body(*args, **kwargs))
            other = runtime.shadows.inner(runtime.tools[name])
            return _watched(record, lambda: other._run(**_with_injected(other, arguments, kwargs)))

        return act(record, execute, can_ask_human=False)

    @functools.wraps(arun_body)
    async def arun(*args: Any, **kwargs: Any) -> Any:
        record = _record(runtime, tool, args, kwargs)
        if record is None:
            return await arun_body(*args, **kwargs)

        async def execute(name: str, arguments: dict[str, Any] | None) -> Any:
            if arguments is None:
                return await _awatched(record, arun_body(*args, **kwargs))
            other = runtime.shadows.inner(runtime.tools[name])
            return await _awatched(record, other._arun(**_with_injected(other, arguments, kwargs)))

        return await aact(record, execute, can_ask_human=False)

    wrapped = copy.copy(tool)
    object.__setattr__(wrapped, "_run", run)
    object.__setattr__(wrapped, "_arun", arun)
    object.__setattr__(wrapped, WRAPPED, (runtime.shadows, tool))
    return wrapped


def _watched(record: CallRecord, call: Any) -> Any:
    body = record.body()
    try:
        value = call()
    except BaseException as error:
        record.raised(body, error)
        raise
    record.returned(body, value)
    return value


async def _awatched(record: CallRecord, call: Any) -> Any:
    body = record.body()
    try:
        value = await record.within_limit(call)
    except BaseException as error:
        record.raised(body, error)
        raise
    record.returned(body, value)
    return value


def _with_injected(tool: BaseTool, arguments: dict[str, Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of an alternate, with the configuration and run manager where its body takes them."""
    import inspect

    taken = inspect.signature(tool._run).parameters
    return {**arguments, **{k: kwargs[k] for k in _INJECTED if k in kwargs and (k in taken)}}


def _record(runtime: Runtime, tool: BaseTool, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> CallRecord | None:
    """The record of this call: the tracker's, if it saw the call begin; None when a node or middleware has it already."""
    try:
        outer = runtime.current.get()
        if outer is not None and outer.claims(tool.name):
            return None
        config = var_child_runnable_config.get() or {}
        run = getattr(config.get("callbacks"), "parent_run_id", None)
        opened = runtime.open_runs.get(run)
        if opened is not None and opened.tool == tool.name and not opened.adopted:
            opened.adopted = True
            opened.attempts.clear()
            return opened
        arguments = {k: v for k, v in kwargs.items() if k not in _INJECTED}
        if args:
            arguments = {**arguments, **dict(zip(list(tool.args) or ["input"], args, strict=False))}
        agent = agent_in(config.get("metadata") or {})
        turn = runtime.turn_of(config, text=lambda: ("", 0), agent=agent)
        return CallRecord(runtime, turn, tool=tool.name, call_id="", arguments=arguments, agent=agent)
    except Exception as fault:  # noqa: BLE001 - our bugs never become the user's
        runtime.notes.internal("opening a tool call", fault)
        return None
