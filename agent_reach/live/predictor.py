"""Which tools are likely to fail the next time, from how their latest calls went."""

from __future__ import annotations

import threading
from typing import Final

from agent_reach.events import Event, ToolAttempt, ToolCall

_WEIGHT: Final = 0.3  # of the newest call
_LIKELY: Final = 0.7
_FEWEST: Final = 5
_HALF_LIFE: Final = 60.0
_TOOLS_KEPT: Final = 1_000
_COUNTED: Final = frozenset({"timeout", "rate_limited", "auth", "server_error", "network"})


class Predictor:
    """A smoothed share of failures by tool, halved for every minute without a call, so that a tool is tried again.

    Only failures of the tool itself count: arguments that it refused say nothing about the next call. Thread-safe.
    """

    def __init__(self) -> None:
        self._tools: dict[str, tuple[float, int, int]] = {}
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> None:
        """A sink of events."""
        if isinstance(event, ToolAttempt) or (isinstance(event, ToolCall) and event.attempts == 1):
            self._count(event.tool, event.status == "fail" and event.fail_cause in _COUNTED, event.time)

    def _count(self, tool: str, failed: bool, now: int) -> None:
        known = self._tools.get(tool)
        if known is None and (not failed or len(self._tools) >= _TOOLS_KEPT):
            return
        with self._lock:
            share, calls, _ = self._tools.get(tool, (0.0, 0, now))
            self._tools[tool] = (share + _WEIGHT * (failed - share), calls + 1, now)

    def chance(self, tool: str, now: int) -> float:
        """That the next call of a tool fails, 0 where too little is known.

        Args:
            tool: its name.
            now: nanoseconds since 1970.
        """
        share, calls, seen = self._tools.get(tool, (0.0, 0, 0))
        return float(share * 0.5 ** (max(0, now - seen) / 1e9 / _HALF_LIFE)) if calls >= _FEWEST else 0.0

    def likely_to_fail(self, now: int) -> frozenset[str]:
        """Tools whose next call more likely fails than not, by a margin."""
        return frozenset(tool for tool in list(self._tools) if self.chance(tool, now) >= _LIKELY)

    def after_fork(self) -> None:
        """A fresh lock for a child process."""
        self._lock = threading.Lock()
