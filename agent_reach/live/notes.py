"""What goes wrong in the observer itself: counted, logged once a kind, never raised into the agent."""

from __future__ import annotations

import logging
import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

logger = logging.getLogger("agent_reach")


class Notes:
    """Counters of faults by kind, such as `classifier`, `band_hook`, `dropped_session`, `store`."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, kind: str, message: str, error: BaseException | None = None, *, count: int = 1) -> None:
        """Count one fault; the first of its kind is logged with its traceback."""
        with self._lock:
            first = kind not in self.counts
            self.counts[kind] += count
        if first:
            logger.warning("%s (%s; further ones are only counted)", message, kind, exc_info=error)

    def after_fork(self) -> None:
        """A fresh lock for a child process."""
        self._lock = threading.Lock()

    @contextmanager
    def guard(self, doing: str) -> Iterator[None]:
        """Run code of our own: what it raises is noted, and raised only under pytest."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - our bugs never become the user's
            self.internal(doing, error)

    def internal(self, doing: str, error: Exception) -> None:
        """A bug of ours: noted, and raised only under pytest."""
        self.add("internal", f"agent_reach failed while {doing}; the agent goes on unobserved here", error)
        if "PYTEST_CURRENT_TEST" in os.environ:
            raise error
