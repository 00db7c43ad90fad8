"""Questions to the outside, sync or async, that may hang: each is given up after its time."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")


async def answer(function: Callable[..., Any], *arguments: Any, seconds: float) -> Any:
    """What a function answers; one that is not async runs in a thread of its own, which keeps no process alive.

    Raises:
        TimeoutError: it did not answer in time.
        Exception: whatever it raises.
    """
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        return await asyncio.wait_for(function(*arguments), seconds)
    found = await asyncio.wait_for(_beside(function, *arguments), seconds)
    return await asyncio.wait_for(found, seconds) if inspect.isawaitable(found) else found


def from_sync(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run async work to its end from code that is not async, whether or not a loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    outcome: list[T] = []
    error: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(asyncio.run(work()))
        except BaseException as raised:  # noqa: BLE001 - handed to the caller
            error.append(raised)

    thread = threading.Thread(target=copy_context().run, args=(run,), name="agent-reach-probes", daemon=True)
    thread.start()
    thread.join()
    if error:
        raise error[0]
    return outcome[0]


def _beside(function: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def settle(outcome: Any, error: BaseException | None) -> None:
        if not future.done():
            future.set_result(outcome) if error is None else future.set_exception(error)

    def run() -> None:
        outcome, error = None, None
        try:
            outcome = function(*arguments)
        except BaseException as raised:  # noqa: BLE001 - handed to the caller
            error = raised if isinstance(raised, Exception) else RuntimeError(f"{type(raised).__name__}: {raised}")
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, outcome, error)

    threading.Thread(target=copy_context().run, args=(run,), name="agent-reach-probe", daemon=True).start()
    return future
