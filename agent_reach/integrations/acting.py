"""Run one call under observation, and, where a policy allows it, up the ladder; twins, sync and async."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from agent_reach.compensate import Climb, Execute, Outcome, ServeSnapshot, Settled, adrive, climb, drive
from agent_reach.compensate.human import describe, request
from agent_reach.compensate.ladder import UNCERTAIN, is_short
from agent_reach.integrations.attempts import Attempt
from agent_reach.integrations.calls import CallRecord
from agent_reach.integrations.judge import MISSING
from agent_reach.integrations.translate import text_of

HUMAN_KEY = "agent_reach_human"
"""Key in a tool message's `additional_kwargs` that says a person is to be asked, with the request."""

Run = Callable[[str, dict[str, Any] | None], Any]
"""Executes a tool by name, with other arguments than the call's own if given."""
AsyncRun = Callable[[str, dict[str, Any] | None], Awaitable[Any]]


def observe(record: CallRecord, run: Run) -> Any:
    """Execute once and count."""
    try:
        with record.attempt() as attempt:
            attempt.response = run(record.tool, None)
    except Exception as error:
        record.settle(defer=not isinstance(error, GraphBubbleUp))
        raise
    except BaseException:
        record.settle()
        raise
    record.settle()
    return attempt.response


async def aobserve(record: CallRecord, run: AsyncRun) -> Any:
    """Execute once and count."""
    try:
        with record.attempt() as attempt:
            attempt.response = await run(record.tool, None)
    except Exception as error:
        record.settle(defer=not isinstance(error, GraphBubbleUp))
        raise
    except BaseException:
        record.settle()
        raise
    record.settle()
    return attempt.response


def act(record: CallRecord, run: Run, *, can_ask_human: bool) -> Any:
    """Execute, and climb the ladder if it did not reach."""
    if record.runtime.policy is None:
        return observe(record, run)

    def execute(action: Execute) -> Outcome:
        attempt = record.attempt(action.tool, action.rung)
        attempt.timeout = action.timeout
        try:
            with attempt:
                attempt.response = run(action.tool, action.arguments)
        except GraphBubbleUp:
            raise
        except Exception:  # noqa: BLE001 - the attempt keeps it; what the ladder leaves over is raised again below
            pass
        return _outcome(attempt)

    situation = _situation(record, can_ask_human=can_ask_human)
    try:
        settled = drive(climb(situation), execute, _Journal(record), dry_run=situation.policy.dry_run)
    except BaseException:
        record.settle()
        raise
    return _conclude(record, settled)


async def aact(record: CallRecord, run: AsyncRun, *, can_ask_human: bool) -> Any:
    """Execute, and climb the ladder if it did not reach."""
    if record.runtime.policy is None:
        return await aobserve(record, run)

    async def execute(action: Execute) -> Outcome:
        attempt = record.attempt(action.tool, action.rung)
        attempt.timeout = action.timeout
        try:
            with attempt:
                attempt.response = await run(action.tool, action.arguments)
        except GraphBubbleUp:
            raise
        except Exception:  # noqa: BLE001 - the attempt keeps it; what the ladder leaves over is raised again below
            pass
        return _outcome(attempt)

    situation = _situation(record, can_ask_human=can_ask_human)
    try:
        settled = await adrive(climb(situation), execute, _Journal(record), dry_run=situation.policy.dry_run)
    except BaseException:
        record.settle()
        raise
    return _conclude(record, settled)


def _outcome(attempt: Attempt) -> Outcome:
    wait = attempt.retry_after() if attempt.finding.status == "fail" else None
    return Outcome(attempt.finding, time.monotonic(), attempt, wait)


class _Journal:
    """Rungs as events of the call."""

    __slots__ = ("_record",)

    def __init__(self, record: CallRecord) -> None:
        self._record = record

    def taken(self, action: Execute | ServeSnapshot, waited: float) -> None:
        rung = action.rung if isinstance(action, Execute) else "snapshot"
        policy = self._record.runtime.policy
        dry_run = policy is not None and policy.dry_run
        self._record.taken(rung, target=action.tool, reason=action.reason, waited=waited, dry_run=dry_run)


def _situation(record: CallRecord, *, can_ask_human: bool) -> Climb:
    runtime, session = record.runtime, record.turn.session
    policy = runtime.policy
    assert policy is not None
    contract = runtime.routes.contract(record.tool)

    def afford(cost: float) -> bool:
        if policy.dry_run:
            return True
        if session.cost + cost > policy.cost_budget:
            runtime.notes.add("cost_budget", f"session {session.id!r} has spent its compensation budget")
            return False
        session.cost += cost
        return True

    return Climb(
        tool=record.tool,
        arguments=record.arguments,
        contract=contract,
        policy=policy,
        started=time.monotonic(),
        substitutes=lambda: runtime.substitutes(record.turn.ref.intent, record.tool),
        breakers=runtime.breakers,
        snapshot=lambda: runtime.snapshots.find(_snapshot_key(record), time.monotonic()),
        link_broken=lambda: session.tool_band() == "broken",
        can_ask_human=can_ask_human,
        afford=afford,
    )


def _snapshot_key(record: CallRecord) -> tuple[str, str, str]:
    return record.turn.session.id, record.tool, record.fingerprint


def _conclude(record: CallRecord, settled: Settled) -> Any:
    """Count the call, and give the graph what came of it, saying plainly what happened."""
    record.rung, record.served_by, record.stale = settled.rung, settled.served_by, settled.stale
    record.human = settled.ask_human
    if settled.stale is not None:
        return _from_snapshot(record, settled)
    attempt = settled.outcome.value
    record.conclude_with(attempt, settled.outcome.finding)
    dry_run = bool(record.runtime.policy and record.runtime.policy.dry_run)
    if settled.ask_human and not dry_run:
        record.taken("human", target="person", reason=settled.tried[-1][1] if settled.tried else "")
        record.settle()
        return _ask(record, attempt, settled)
    error = attempt.error if attempt is not None else None
    record.settle(defer=error is not None)
    if error is not None:
        if len(settled.tried) > 1:
            error.add_note(describe(settled.tried))
        raise error
    if attempt is None:
        return ToolMessage(describe(settled.tried), name=record.tool, tool_call_id=record.call_id, status="error")
    if not dry_run and _says_too_little(attempt, settled):
        return annotate(attempt.response, describe(settled.tried), record.tool)
    if settled.served_by:
        return annotate(attempt.response, describe(settled.tried, served_by=settled.served_by), record.tool)
    if settled.rung == "" and not is_short(attempt.finding) and not dry_run:
        _keep_snapshot(record, attempt)
    return attempt.response


def _says_too_little(attempt: Attempt, settled: Settled) -> bool:
    """An empty result does not say that it is none, and an error says nothing of what else was tried."""
    return settled.rung == "" and (
        attempt.finding.status == "empty_alias" or (is_short(attempt.finding) and len(settled.tried) > 1)
    )


def _keep_snapshot(record: CallRecord, attempt: Attempt) -> None:
    policy = record.runtime.policy
    if policy is None or not policy.snapshot_age or not record.runtime.routes.contract(record.tool).replaceable:
        return
    if isinstance(attempt.response, ToolMessage | str | dict | list):
        size = len(text_of(attempt.response)) if isinstance(attempt.response, ToolMessage | str) else 0
        record.runtime.snapshots.keep(_snapshot_key(record), attempt.response, size, time.monotonic())


def _from_snapshot(record: CallRecord, settled: Settled) -> Any:
    with record.attempt(record.tool, "snapshot") as attempt:
        attempt.response = settled.outcome.value
    record.settle()
    response = attempt.response
    if isinstance(response, ToolMessage):
        response = response.model_copy(update={"tool_call_id": record.call_id, "id": None})
    return annotate(response, describe(settled.tried, stale=settled.stale), record.tool)


def annotate(response: Any, note: str, tool: str) -> Any:
    """The response under the name of the tool that was asked for, with a sentence for the model."""
    if isinstance(response, ToolMessage):
        content = response.content
        noted = [*content, {"type": "text", "text": note}] if isinstance(content, list) else f"{content}\n\n{note}".strip()
        return response.model_copy(update={"content": noted, "name": tool})
    if isinstance(response, str):
        return f"{response}\n\n{note}".strip()
    if isinstance(response, tuple) and len(response) == 2:
        return annotate(response[0], note, tool), response[1]
    if response is None or isinstance(response, dict | list):
        return f"{json.dumps(response, ensure_ascii=False, default=str)}\n\n{note}"
    return response


def _ask(record: CallRecord, attempt: Attempt | None, settled: Settled) -> Any:
    """A message that carries the request, or a command to the human node."""
    response = attempt.response if attempt is not None else MISSING
    error = attempt.error if attempt is not None else None
    obtained = text_of(response) if isinstance(response, ToolMessage) else ""
    asked = request(
        tool=record.tool,
        call_id=record.call_id,
        arguments=record.arguments,
        status=settled.outcome.finding.status,
        tried=settled.tried,
        obtained=obtained,
        uncertain=settled.outcome.finding.fail_cause in UNCERTAIN and not record.runtime.routes.contract(record.tool).repeatable,
    )
    failed = error is not None or settled.outcome.finding.status == "fail"
    message = human_message(record.tool, record.call_id, obtained or describe(settled.tried), asked, failed=failed)
    policy = record.runtime.policy
    if policy is not None and policy.human_node:
        record.turn.human_step = record.step and record.step + 1
        return Command(goto=policy.human_node, update={"messages": [message]})
    return message


def human_message(tool: str, call_id: str, content: str, asked: dict[str, Any], *, failed: bool) -> ToolMessage:
    """A tool message that says a person is to be asked."""
    return ToolMessage(
        content,
        name=tool,
        tool_call_id=call_id,
        status="error" if failed else "success",
        additional_kwargs={HUMAN_KEY: asked},
    )
