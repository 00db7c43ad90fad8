"""Work that may hang, raise or fork, done beside the caller."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


class Overdue(Exception):
    """The work did not return in time; its thread goes on without anybody waiting for it."""


def within(seconds: float | None, work: Callable[[], T]) -> T:
    """What `work` returns, in a thread of its own that keeps no process alive.

    A process that the work forked off ends where it would return.

    Raises:
        Overdue: it took longer.
        BaseException: whatever the work raises.
    """
    outcome: list[T] = []
    error: list[BaseException] = []
    owner = os.getpid()

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as raised:  # noqa: BLE001 - handed to the caller
            error.append(raised)
        finally:
            if os.getpid() != owner:
                os._exit(0)

    context = copy_context()
    thread = threading.Thread(target=context.run, args=(run,), name="agent-reach-work", daemon=True)
    thread.start()
    thread.join(seconds)
    if error:
        raise error[0]
    if not outcome:
        raise Overdue
    return outcome[0]
