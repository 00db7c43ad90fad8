"""A copy of a tool that shows what its body returns or raises, before LangChain makes text of it."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, get_type_hints

from langchain_core.tools import BaseTool

_CAPACITY = 512
WRAPPED = "_agent_reach_wrapped"
"""Attribute of a tool that compensates by itself: whose it is, and the tool inside."""


class BodyWatch(Protocol):
    """Is told when a tool's body begins, returns and raises."""

    def body(self) -> Any: ...
    async def within_limit(self, work: Awaitable[Any]) -> Any: ...
    def returned(self, token: Any, value: Any) -> None: ...
    def raised(self, token: Any, error: BaseException) -> None: ...


class Shadows:
    """Shadow copies by tool, made once each.

    Args:
        watch: gives the watch of the call that is running in this context, None outside one.

    Attributes:
        inner: makes the tool whose body is watched of a given one: where an evaluation puts its faults.
    """

    def __init__(self, watch: Callable[[], BodyWatch | None]) -> None:
        self._watch = watch
        self.inner: Callable[[BaseTool], BaseTool] = _itself
        self._made: OrderedDict[int, tuple[BaseTool, BaseTool]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, tool: BaseTool) -> BaseTool:
        """The shadow: the same fields, schema and type; its body is the original's.

        Of a tool that this `Reach` wrapped, the one inside: the node or middleware that asks compensates already.
        """
        owner, inside = getattr(tool, WRAPPED, (None, tool))
        tool = inside if owner is self else tool
        made = self._made.get(id(tool))
        if made is not None and made[0] is tool:
            return made[1]
        shadow = watched_copy(self.inner(tool), self._watch)
        with self._lock:
            self._made[id(tool)] = (tool, shadow)
            if len(self._made) > _CAPACITY:
                self._made.popitem(last=False)
        return shadow


def _itself(tool: BaseTool) -> BaseTool:
    return tool


def watched_copy(tool: BaseTool, watch: Callable[[], BodyWatch | None]) -> BaseTool:
    """A copy whose `_run` and `_arun` call the original's and tell the watch."""
    run, arun = tool._run, tool._arun

    @functools.wraps(run)
    def watched_run(*args: Any, **kwargs: Any) -> Any:
        seen = watch()
        if seen is None:
            return run(*args, **kwargs)
        token = seen.body()
        try:
            value = run(*args, **kwargs)
        except BaseException as error:
            seen.raised(token, error)
            raise
        seen.returned(token, value)
        return value

    @functools.wraps(arun)
    async def watched_arun(*args: Any, **kwargs: Any) -> Any:
        seen = watch()
        if seen is None:
            return await arun(*args, **kwargs)
        token = seen.body()
        try:
            value = await seen.within_limit(arun(*args, **kwargs))
        except BaseException as error:
            seen.raised(token, error)
            raise
        seen.returned(token, value)
        return value

    for watched, original in ((watched_run, run), (watched_arun, arun)):
        _declare(watched, original)
    shadow = copy.copy(tool)
    object.__setattr__(shadow, "_run", watched_run)
    object.__setattr__(shadow, "_arun", watched_arun)
    return shadow


def _declare(watched: Any, original: Any) -> None:
    """Say once what LangChain asks of a body at every call: its signature, and its annotations as types."""
    watched.__signature__ = inspect.signature(original)
    with contextlib.suppress(Exception):  # annotations that cannot be evaluated stay as they are
        watched.__annotations__ = get_type_hints(original)
