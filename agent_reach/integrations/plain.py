"""`track_reach`: plain functions, sync and async, as tools."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar, overload

from langchain_core.runnables.config import var_child_runnable_config

from agent_reach.integrations.acting import aact, act
from agent_reach.integrations.calls import CallRecord
from agent_reach.integrations.runtime import Runtime, around, default_runtime
from agent_reach.integrations.translate import agent_in

P = ParamSpec("P")
R = TypeVar("R")


@overload
def track_reach(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def track_reach(*, name: str = ..., reach: Any = ...) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def track_reach(function: Any = None, /, *, name: str = "", reach: Any = None) -> Any:
    """Count, and where a policy allows it compensate, every call of a function.

    Args:
        name: under which it stands in routes and spans; the function's own by default.
        reach: a `Reach` (or its runtime); without one, whichever watches the run, else a default that observes.

    Example:
        >>> @track_reach
        ... def search_orders(order_id: str) -> dict: ...
    """
    if function is None:
        return functools.partial(_decorate, name=name, reach=reach)
    return _decorate(function, name=name, reach=reach)


def _decorate(function: Callable[..., Any], *, name: str, reach: Any) -> Callable[..., Any]:
    called = name or function.__name__
    signature = inspect.signature(function)
    default: list[Runtime] = []

    def runtime(config: Mapping[str, Any]) -> Runtime:
        if reach is not None:
            given: Runtime = getattr(reach, "runtime", reach)
            return given
        watching = _watching(config)
        if watching is not None:
            return watching
        if not default:
            default.append(default_runtime())
        return default[0]

    def open_record(args: tuple[Any, ...], kwargs: dict[str, Any]) -> CallRecord | None:
        config: dict[str, Any] = dict(var_child_runnable_config.get() or {})
        return _record(runtime(config), config, called, signature, args, kwargs)

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awrapped(*args: Any, **kwargs: Any) -> Any:
            record = open_record(args, kwargs)
            if record is None:
                return await function(*args, **kwargs)

            async def run(tool: str, arguments: dict[str, Any] | None) -> Any:
                if arguments is None:
                    return await record.within_limit(function(*args, **kwargs))
                return await record.runtime.tools[tool].ainvoke(arguments)

            return await aact(record, run, can_ask_human=False)

        return awrapped

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        record = open_record(args, kwargs)
        if record is None:
            return function(*args, **kwargs)

        def run(tool: str, arguments: dict[str, Any] | None) -> Any:
            return function(*args, **kwargs) if arguments is None else record.runtime.tools[tool].invoke(arguments)

        return act(record, run, can_ask_human=False)

    return wrapped


def _arguments(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    try:
        bound = signature.bind_partial(*args, **kwargs).arguments
    except TypeError:
        bound = dict(kwargs)
    return {k: v for k, v in bound.items() if k not in ("self", "cls")}


def _watching(config: Mapping[str, Any]) -> Runtime | None:
    """The runtime of the tracker that watches this run, else of the `reach.session(...)` around it."""
    callbacks = config.get("callbacks")
    handlers = getattr(callbacks, "handlers", callbacks) or ()
    found = next((handler.runtime for handler in handlers if isinstance(getattr(handler, "runtime", None), Runtime)), None)
    return found or around.get()


def _record(
    runtime: Runtime, config: dict[str, Any], name: str, signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> CallRecord | None:
    try:
        arguments = _arguments(signature, args, kwargs)
        agent = agent_in(config.get("metadata") or {})
        turn = runtime.turn_of(config, text=lambda: ("", 0), agent=agent)
        return CallRecord(runtime, turn, tool=name, call_id="", arguments=arguments, agent=agent)
    except Exception as fault:  # noqa: BLE001 - our bugs never become the user's
        runtime.notes.internal("opening a function call", fault)
        return None
