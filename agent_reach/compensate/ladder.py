"""The ladder: what to do about a call that did not reach (definitions, section 3).

Sans I/O: `climb` is a generator that yields what to do and is sent what came of it. `driver` does it, sync or async.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final

from tenacity import wait_random_exponential

from agent_reach.checks import Finding
from agent_reach.compensate.breaker import Breakers
from agent_reach.contracts import Alternate, Compensation, ToolContract
from agent_reach.events import Rung

BACK_TO_MODEL: Final = frozenset({"bad_arguments", "unknown_tool", "precondition"})
RETRYABLE: Final = frozenset({"timeout", "rate_limited", "server_error", "network"})
UNCERTAIN: Final = frozenset({"timeout", "network"})


@dataclass(frozen=True, slots=True)
class Execute:
    """Run a tool. `arguments` is None for the call's own. `timeout` in seconds, None without."""

    tool: str
    rung: Rung
    reason: str = ""
    arguments: dict[str, Any] | None = None
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait before a retry, in seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class ServeSnapshot:
    """Answer with an earlier good result, `age` seconds old."""

    tool: str
    value: Any
    age: float
    reason: str = ""


Action = Execute | Sleep | ServeSnapshot


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an action.

    Attributes:
        finding: the verdict.
        at: when, in seconds of a monotonic clock.
        value: the response or exception, opaque to the ladder.
        retry_after: seconds that the service asked to wait, None when it did not.
    """

    finding: Finding
    at: float
    value: Any = None
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """How the climb ended.

    Attributes:
        outcome: the final one; of the tool asked for when no rung helped.
        rung: the rung that decided it, `""` when the first attempt did.
        served_by: the tool that answered instead, `""` for the one asked for.
        ask_human: nothing else is left, and a person can be asked.
        stale: age of a snapshot in seconds, None otherwise.
        tried: each attempt as (tool, reason it did not reach).
    """

    outcome: Outcome
    rung: str = ""
    served_by: str = ""
    ask_human: bool = False
    stale: float | None = None
    tried: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Climb:
    """What the ladder knows about one call.

    Attributes:
        tool, arguments, contract: what the model asked for.
        policy: what may be done.
        started: when, in seconds of the same clock as the outcomes.
        substitutes: gives the tools that can stand in, with their contracts; only those that exist here.
        breakers: shared by all calls.
        snapshot: gives (value, age in seconds) of an earlier good result, or None.
        link_broken: whether ToolReach of the session is `broken`.
        can_ask_human: a person can be asked in this place.
        afford: whether the session can pay the cost of one more attempt, which it then has.
    """

    tool: str
    arguments: dict[str, Any]
    contract: ToolContract
    policy: Compensation
    started: float
    breakers: Breakers
    substitutes: Callable[[], Sequence[tuple[Alternate, ToolContract]]] = tuple
    snapshot: Callable[[], tuple[Any, float] | None] = lambda: None
    link_broken: Callable[[], bool] = lambda: False
    can_ask_human: bool = False
    afford: Callable[[float], bool] = lambda _cost: True
    executed: int = 0
    tried: list[tuple[str, str]] = field(default_factory=list)

    def left(self, now: float) -> float:
        """Seconds left of the time budget."""
        return self.policy.time_budget - (now - self.started)

    def may_execute(self, now: float, cost: float) -> bool:
        return self.executed < self.policy.attempts and self.left(now) > 0 and self.afford(cost)


def reason_of(finding: Finding) -> str:
    """Such as `timeout` or `empty (no_items)`."""
    return f"empty ({finding.empty_kind})" if finding.status == "empty_alias" else finding.fail_cause or finding.status


def is_short(finding: Finding) -> bool:
    """The attempt counts and did not reach."""
    return finding.status in ("fail", "empty_alias")


def climb(call: Climb) -> Generator[Action, Outcome, Settled]:
    """Yield what to do until the call is settled."""
    first = yield from _first(call)
    if not is_short(first.finding) or first.finding.fail_cause in BACK_TO_MODEL:
        return Settled(first)
    if call.can_ask_human and call.link_broken():
        return _exhausted(call, first)
    last = yield from _retry(call, first)
    if not is_short(last.finding):
        return Settled(last, "retry", tried=tuple(call.tried))
    helped = (yield from _reroute(call, last)) or (yield from _serve_snapshot(call, last))
    return helped or _exhausted(call, last)


def _first(call: Climb) -> Generator[Action, Outcome, Outcome]:
    blocked = None if call.policy.dry_run else call.breakers.blocked(call.tool, call.started)
    if blocked is not None and (call.substitutes() or call.can_ask_human or call.snapshot() is not None):
        outcome = Outcome(blocked, call.started)
        call.tried.append((call.tool, "breaker open"))
        return outcome
    return (yield from _execute(call, Execute(call.tool, "first", timeout=call.contract.timeout_s)))


def _execute(call: Climb, action: Execute) -> Generator[Action, Outcome, Outcome]:
    call.executed += 1
    outcome = yield action
    if action.rung == "first" or not call.policy.dry_run:
        call.breakers.record(action.tool, outcome.finding, outcome.at, call.policy)
    if is_short(outcome.finding):
        call.tried.append((action.tool, reason_of(outcome.finding)))
    return outcome


def _retry(call: Climb, last: Outcome) -> Generator[Action, Outcome, Outcome]:
    done = 0
    while call.contract.repeatable and done < _retries_for(call, last.finding) and call.executed:
        wait = _wait(call.policy, done + 1, last.retry_after)
        if wait >= call.left(last.at) or not call.may_execute(last.at, call.contract.cost):
            break
        yield Sleep(wait)
        action = Execute(call.tool, "retry", reason_of(last.finding), timeout=call.contract.timeout_s)
        last = yield from _execute(call, action)
        done += 1
        if not is_short(last.finding):
            break
    return last


def _retries_for(call: Climb, finding: Finding) -> int:
    if finding.status == "empty_alias":
        return min(1, call.policy.retries)
    return call.policy.retries if finding.fail_cause in RETRYABLE and finding.stage != "before" else 0


def _wait(policy: Compensation, attempt: int, retry_after: float | None) -> float:
    if retry_after is not None:
        return max(0.0, retry_after)
    strategy = wait_random_exponential(multiplier=policy.backoff, max=policy.backoff_max)
    return strategy(SimpleNamespace(attempt_number=attempt))  # type: ignore[arg-type]


def _may_replace(call: Climb, last: Outcome) -> bool:
    """Another tool may answer: never for side effects, and after an uncertain outcome only when repeating is safe."""
    if call.contract.side_effect:
        return False
    return call.contract.replaceable or last.finding.fail_cause not in UNCERTAIN or not call.executed


def _reroute(call: Climb, last: Outcome) -> Generator[Action, Outcome, Settled | None]:
    if not call.policy.reroute or not _may_replace(call, last):
        return None
    now, reason = last.at, reason_of(last.finding)
    for alternate, contract in call.substitutes():
        if contract.side_effect or call.breakers.blocked(alternate.tool, now) is not None:
            continue
        if not call.may_execute(now, contract.cost):
            break
        arguments = alternate.map(call.arguments)
        outcome = yield from _execute(call, Execute(alternate.tool, "reroute", reason, arguments, timeout=contract.timeout_s))
        now = outcome.at
        if not is_short(outcome.finding):
            return Settled(outcome, "reroute", alternate.tool, tried=tuple(call.tried))
    return None


def _serve_snapshot(call: Climb, last: Outcome) -> Generator[Action, Outcome, Settled | None]:
    if not _may_replace(call, last):
        return None
    found = call.snapshot()
    if found is None or found[1] > call.policy.snapshot_age:
        return None
    value, age = found
    outcome = yield ServeSnapshot(call.tool, value, age, reason_of(last.finding))
    if is_short(outcome.finding):
        return None
    return Settled(outcome, "snapshot", stale=age, tried=tuple(call.tried))


def _exhausted(call: Climb, last: Outcome) -> Settled:
    return Settled(last, "human" if call.can_ask_human else "", ask_human=call.can_ask_human, tried=tuple(call.tried))
