"""A circuit breaker per tool, as a state machine that is told the time."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

from agent_reach.checks import Finding
from agent_reach.contracts import Compensation
from agent_reach.events import FailCause

_TRIPPING: Final = frozenset({"timeout", "rate_limited", "server_error", "network", "auth"})


@dataclass(slots=True)
class _State:
    failures: int = 0
    open_until: float = 0.0
    probing: bool = False
    cause: FailCause = ""


class Breakers:
    """Breakers by tool name. Times are seconds of a monotonic clock. Thread-safe."""

    def __init__(self) -> None:
        self._states: dict[str, _State] = {}
        self._lock = threading.Lock()

    def blocked(self, tool: str, now: float) -> Finding | None:
        """Why the tool must not be called now, None when it may; once the pause is over, one caller may try."""
        state = self._states.get(tool)
        if state is None or not state.open_until:
            return None
        with self._lock:
            if now >= state.open_until and not state.probing:
                state.probing = True
                return None
        return Finding("fail", state.cause, "", "before", "BreakerOpen")

    def record(self, tool: str, finding: Finding, now: float, policy: Compensation) -> None:
        """Count what came of an attempt: so many failures in a row open the breaker, an answer closes it."""
        failed = finding.status == "fail" and finding.fail_cause in _TRIPPING
        state = self._states.get(tool)
        if state is None and not failed:
            return
        with self._lock:
            state = self._states.setdefault(tool, _State())
            state.probing = False
            if not failed:
                state.failures, state.open_until = 0, 0.0
                return
            state.failures, state.cause = state.failures + 1, finding.fail_cause
            if state.failures >= policy.breaker_failures:
                state.open_until = now + policy.breaker_pause

    def states(self, now: float) -> dict[str, bool]:
        """Whether the breaker of each tool that ever failed is open."""
        return {tool: state.open_until > now for tool, state in list(self._states.items())}

    def open(self, now: float) -> dict[str, float]:
        """Seconds until each open breaker lets one call try again."""
        return {tool: s.open_until - now for tool, s in list(self._states.items()) if s.open_until > now}
