"""Two drivers that do what the ladder says."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from typing import Protocol

from agent_reach.checks import OK
from agent_reach.compensate.ladder import Action, Execute, Outcome, ServeSnapshot, Settled, Sleep

Ladder = Generator[Action, Outcome, Settled]


class Journal(Protocol):
    """Is told of every rung that is taken."""

    def taken(self, action: Execute | ServeSnapshot, waited: float) -> None: ...


def drive(ladder: Ladder, run: Callable[[Execute], Outcome], journal: Journal, *, dry_run: bool) -> Settled:
    """Climb, with `run` executing tools."""
    pace = _Pace(journal, dry_run)
    action = next(ladder)
    while True:
        if isinstance(action, Sleep) and not dry_run:
            time.sleep(action.seconds)
        outcome = pace.without_running(action)
        if outcome is None:
            assert isinstance(action, Execute)
            outcome = run(action)
        try:
            action = ladder.send(pace.remember(outcome))
        except StopIteration as end:
            return pace.settle(end.value)


async def adrive(ladder: Ladder, run: Callable[[Execute], Awaitable[Outcome]], journal: Journal, *, dry_run: bool) -> Settled:
    """Climb, with `run` executing tools."""
    pace = _Pace(journal, dry_run)
    action = next(ladder)
    while True:
        if isinstance(action, Sleep) and not dry_run:
            await asyncio.sleep(action.seconds)
        outcome = pace.without_running(action)
        if outcome is None:
            assert isinstance(action, Execute)
            outcome = await run(action)
        try:
            action = ladder.send(pace.remember(outcome))
        except StopIteration as end:
            return pace.settle(end.value)


class _Pace:
    """What both drivers share: waits, snapshots, and a dry run, in which only the first attempt is real."""

    __slots__ = ("_dry_run", "_first", "_journal", "_last", "_waited")

    def __init__(self, journal: Journal, dry_run: bool) -> None:
        self._journal, self._dry_run = journal, dry_run
        self._first: Outcome | None = None
        self._last: Outcome | None = None
        self._waited = 0.0

    def without_running(self, action: Action) -> Outcome | None:
        """The outcome when no tool is to be run; None when `action` must be executed."""
        if isinstance(action, Sleep):
            self._waited = action.seconds
            return self._last
        if isinstance(action, Execute) and action.rung == "first":
            return None
        self._journal.taken(action, self._waited)
        self._waited = 0.0
        if self._dry_run:
            return self._last
        return Outcome(OK, time.monotonic(), action.value) if isinstance(action, ServeSnapshot) else None

    def remember(self, outcome: Outcome) -> Outcome:
        self._last = outcome
        self._first = self._first or outcome
        return outcome

    def settle(self, settled: Settled) -> Settled:
        if self._dry_run and self._first is not None:
            return Settled(self._first, tried=settled.tried[:1])
        return settled
