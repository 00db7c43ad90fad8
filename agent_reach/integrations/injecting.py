"""Faults of an evaluation, inside the bodies of LangChain tools: what compensates stands around them."""

from __future__ import annotations

import asyncio
import copy
import functools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tools import BaseTool

from agent_reach.evaluation.faults import UNCHANGED, Fault, Faults, InjectedError, spoiled
from agent_reach.evaluation.sandbox import Sandbox
from agent_reach.integrations.runtime import Runtime


class Injector:
    """Makes copies of tools that meet the faults of a sandbox.

    Args:
        sandbox: says which execution is hit.
        faults: how long, and how often.
        runtime: whose calls they are.
    """

    def __init__(self, sandbox: Sandbox, faults: Faults, runtime: Runtime) -> None:
        self._sandbox, self._faults, self._runtime = sandbox, faults, runtime
        self._made: dict[int, tuple[BaseTool, BaseTool]] = {}

    def of(self, tool: BaseTool) -> BaseTool:
        """The copy of a tool, made once."""
        made = self._made.get(id(tool))
        if made is None or made[0] is not tool:
            made = self._made[id(tool)] = (tool, self._copy(tool))
        return made[1]

    def _copy(self, tool: BaseTool) -> BaseTool:
        run, arun = tool._run, tool._arun

        @functools.wraps(run)
        def faulty_run(*args: Any, **kwargs: Any) -> Any:
            fault = self._sandbox.fault_for(tool.name)
            if fault is None:
                return run(*args, **kwargs)
            if fault.kind == "latency":
                self._land(fault)
                time.sleep(self._faults.latency_s)
            self._raise(fault)
            with self._unless_it_raises(fault):
                value = run(*args, **kwargs)
            return self._spoil(tool, fault, value)

        @functools.wraps(arun)
        async def faulty_arun(*args: Any, **kwargs: Any) -> Any:
            fault = self._sandbox.fault_for(tool.name)
            if fault is None:
                return await arun(*args, **kwargs)
            if fault.kind == "latency":
                self._land(fault)
                await asyncio.sleep(self._faults.latency_s)
            self._raise(fault)
            with self._unless_it_raises(fault):
                value = await arun(*args, **kwargs)
            return self._spoil(tool, fault, value)

        made = copy.copy(tool)
        object.__setattr__(made, "_run", faulty_run)
        object.__setattr__(made, "_arun", faulty_arun)
        return made

    def _raise(self, fault: Fault) -> None:
        if fault.kind == "error":
            self._land(fault)
            raise InjectedError(503)
        if fault.kind == "rate_limit":
            self._land(fault)
            raise InjectedError(429, self._faults.retry_after_s)

    @contextmanager
    def _unless_it_raises(self, fault: Fault) -> Iterator[None]:
        """A result is spoiled only where there is one."""
        try:
            yield
        except BaseException:
            if fault.kind != "latency":
                self._sandbox.missed(fault)
            raise

    def _spoil(self, tool: BaseTool, fault: Fault, value: Any) -> Any:
        if fault.kind == "latency":
            return value
        parts = isinstance(value, tuple) and len(value) == 2 and tool.response_format == "content_and_artifact"
        changed = spoiled(fault.kind, value[0] if parts else value, self._sandbox.dice)
        if changed is UNCHANGED:
            self._sandbox.missed(fault)
            return value
        self._land(fault)
        return (changed, None) if parts else changed

    def _land(self, fault: Fault) -> None:
        """The fault did something: it stands at the execution that it hit."""
        record = self._runtime.current.get()
        if record is not None and record.running is not None and record.running.bodies:
            record.running.bodies[-1].fault = fault.label


class Stop(BaseCallbackHandler):
    """Ends a run whose sandbox says so, at its next step."""

    raise_error = True
    run_inline = True

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self._sandbox.check()

    def on_llm_start(self, *args: Any, **kwargs: Any) -> None:
        self._sandbox.check()

    def on_tool_start(self, *args: Any, **kwargs: Any) -> None:
        self._sandbox.check()
