"""One tool call, from the model's request to its final status."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from langchain_core.messages import ToolMessage
from langgraph.types import Command

from agent_reach.checks import NO_RESULT, OK, Finding, Routing, fingerprint, routing_of_call
from agent_reach.checks.failures import finding_of_exception
from agent_reach.events import CompensationStep, Rung, ToolAttempt, ToolCall
from agent_reach.integrations.attempts import Attempt, Body
from agent_reach.integrations.capture import clean
from agent_reach.integrations.judge import MISSING, finding_of_response
from agent_reach.integrations.turns import NAMELESS, OpenTurn

if TYPE_CHECKING:
    from agent_reach.integrations.runtime import Runtime

_ATTEMPTS_KEPT: Final = 100


class _Execution(NamedTuple):
    """One run of a body."""

    attempt: Attempt
    started: int
    ended: int
    finding: Finding
    fault: str


class CallRecord:
    """What is known of one call while it runs.

    Attributes:
        runtime, turn: where it belongs.
        tool, call_id, arguments: what the model asked for.
        agent: who asked.
        key: the same for every run of the same logical call within the turn, None when nothing tells.
        handle: its span.
        attempts: executions so far; `running` is the current one.
        rung, served_by, stale, human: how compensation ended.
        step: of the graph, None outside one.
        repeated: this logical call was counted before (a node was run again); its executions count as attempts only.
    """

    __slots__ = (
        "_fingerprint",
        "adopted",
        "agent",
        "arguments",
        "attempts",
        "call_id",
        "decided",
        "handle",
        "human",
        "key",
        "parent",
        "repeated",
        "rung",
        "running",
        "runtime",
        "served_by",
        "stale",
        "started",
        "step",
        "steps",
        "tool",
        "turn",
        "verdict",
    )  # fmt: skip

    def __init__(
        self, runtime: Runtime, turn: OpenTurn, *, tool: str, call_id: str, arguments: Any, agent: str, key: Any = None
    ) -> None:
        self.runtime, self.turn = runtime, turn
        if agent and turn.agent == NAMELESS:
            turn.agent = agent
        self.tool, self.call_id, self.agent, self.key = clean(tool), call_id, agent or turn.agent, key
        self.arguments: dict[str, Any] = arguments if isinstance(arguments, dict) else {"input": arguments}
        self.started = runtime.clock()
        turn.count += 1
        parent = runtime.current.get()
        outer: Any = parent if parent is not None and parent.turn is turn else turn
        self.parent = outer.handle.id
        self.handle = runtime.tracing.open("execute_tool", self.tool, self.started, outer.handle)
        self.attempts: list[Attempt] = []
        self.running: Attempt | None = None
        self.rung = self.served_by = ""
        self.stale: float | None = None
        self.human = self.adopted = self.repeated = False
        self.step: int | None = None
        self.steps: list[CompensationStep] = []
        self.decided: Attempt | None = None
        self._fingerprint: str | None = None
        self.verdict: Finding | None = None

    @property
    def fingerprint(self) -> str:
        """Hash of the canonical arguments."""
        if self._fingerprint is None:
            self._fingerprint = fingerprint(self.arguments)
        return self._fingerprint

    # while it runs --------------------------------------------------------------------------------------------------

    def attempt(self, tool: str = "", rung: Rung = "first") -> Attempt:
        """An execution, to be used as a context."""
        return Attempt(self, tool or self.tool, rung)

    def claims(self, tool: str) -> bool:
        """A tool run that begins now is the one that this call's wrapper is about to make, not one nested in its body."""
        attempt = self.running
        return attempt is not None and attempt.tool == tool and not attempt.in_body

    def body(self) -> Body | None:
        """A body begins."""
        attempt = self.running
        if attempt is None:
            return None
        attempt.in_body += 1
        body = Body(self.runtime.clock())
        if len(attempt.bodies) < _ATTEMPTS_KEPT:
            attempt.bodies.append(body)
        return body

    async def within_limit(self, work: Awaitable[Any]) -> Any:
        """Await a body no longer than the attempt may take.

        Raises:
            TimeoutError: it took longer, and was cancelled.
        """
        limit = self.running.timeout if self.running is not None else None
        return await (work if limit is None else asyncio.wait_for(work, limit))

    def returned(self, token: Body | None, value: Any) -> None:
        self._left(token, value, None)

    def raised(self, token: Body | None, error: BaseException) -> None:
        self._left(token, MISSING, error)

    def _left(self, body: Body | None, raw: Any, error: BaseException | None) -> None:
        if body is None or self.running is None:
            return
        self.running.in_body -= 1
        body.raw, body.error, body.ended = raw, error, self.runtime.clock()

    @property
    def raw(self) -> Any:
        """What the body that ran last in this attempt returned; None when that is not known."""
        bodies = self.running.bodies if self.running is not None else ()
        return bodies[-1].raw if bodies and bodies[-1].error is None and bodies[-1].ended else None

    def taken(self, rung: Rung, *, target: str, reason: str, waited: float = 0.0, dry_run: bool = False) -> None:
        """A rung of the ladder is taken."""
        step = CompensationStep(
            **self.turn.where(),
            time=self.runtime.clock(),
            parent=self.handle.id,
            id=f"{self.handle.id}.{len(self.steps) + 1}",
            agent=self.agent,
            rung=rung,
            tool=self.tool,
            call_id=self.call_id,
            target=target,
            reason=reason,
            wait=int(waited * 1e9),
            dry_run=dry_run,
        )
        self.steps.append(step)
        with self.runtime.notes.guard("recording a rung"):
            self.runtime.annotate(step, self.handle)

    # at its end -----------------------------------------------------------------------------------------------------

    @property
    def final(self) -> Attempt | None:
        return self.attempts[-1] if self.attempts else None

    def settle(self, *, defer: bool = False) -> None:
        """Count the call now, or, when a retry from outside may continue it, when nothing did."""
        try:
            if defer and self.key is not None:
                self.turn.deferred[self.key] = self
            else:
                self.publish()
        except Exception as fault:  # noqa: BLE001 - our bugs never become the user's
            self.runtime.notes.internal("counting a tool call", fault)

    def conclude_with(self, attempt: Attempt | None, finding: Finding) -> None:
        """Which attempt decided the call, and what it came to."""
        self.decided = attempt
        self.verdict = finding

    def publish(self) -> None:
        """Emit the attempts, when there were several, and the call."""
        executions = self._executions()
        if len(executions) > 1 or self.repeated:
            for number, execution in enumerate(executions, 1):
                self._publish_attempt(number, execution)
        if self.repeated:
            return
        event = self._call_event(executions)
        if event.status in ("ok", "fail", "empty_alias", "handoff") and self.key is not None:
            self.turn.published.add(self.key)
        self.runtime.publish(event, self.handle)
        if self.runtime.recorder is not None:
            self.runtime.recorder.called(event, self.arguments, self._result())

    def _result(self) -> Any:
        """What the tool gave: what its body returned, else the content of the message."""
        decided = self.decided or self.final
        if decided is None:
            return None
        raw = decided.bodies[-1].raw if decided.bodies else MISSING
        return _content(decided.response) if raw is MISSING else raw

    def _executions(self) -> list[_Execution]:
        """Every run of a body, in order, with its verdict; an attempt that never reached a body counts as one."""
        found: list[_Execution] = []
        for attempt in self.attempts:
            found += [
                _Execution(attempt, b.started, b.ended, self._inner_finding(attempt, b), b.fault) for b in attempt.bodies[:-1]
            ]
            last = attempt.bodies[-1] if attempt.bodies else None
            begun = last.started if last is not None and len(attempt.bodies) > 1 else attempt.started
            ended = attempt.ended or self.runtime.clock()
            found.append(_Execution(attempt, begun, ended, attempt.finding, last.fault if last is not None else ""))
        return found

    def _inner_finding(self, attempt: Attempt, body: Body) -> Finding:
        if body.error is not None:
            return finding_of_exception(body.error)
        return finding_of_response(body.raw, self.runtime.routes.contract(attempt.tool), tool=attempt.tool)

    def _publish_attempt(self, number: int, execution: _Execution) -> None:
        attempt, started, ended, finding, fault = execution
        earlier = number > 1 and attempt.rung == "first"
        handle = self.runtime.tracing.open("execute_tool", attempt.tool, started, self.handle)
        event = ToolAttempt(
            **self.turn.where(),
            time=started,
            latency=max(0, ended - started),
            id=handle.id,
            parent=self.handle.id,
            agent=self.agent,
            status=finding.status,
            tool=attempt.tool,
            call_id=self.call_id,
            fail_cause=finding.fail_cause,
            empty_kind=finding.empty_kind,
            stage=finding.stage,
            error_type=finding.error_type,
            number=number,
            rung="retry" if earlier else attempt.rung,
            result_size=_size(attempt.response),
            fault=fault,
        )
        self.runtime.publish(event, handle)

    def _call_event(self, executions: list[_Execution]) -> ToolCall:
        runtime, turn, final = self.runtime, self.turn, self.final
        now = (final.ended if final else 0) or runtime.clock()
        finding = self._finding()
        contract = runtime.routes.contract(self.tool)
        decided = self.decided or final
        response = decided.response if decided else MISSING
        routing = self._routing(finding, response) if turn.ref.intent else Routing()
        runs = 0 if finding.fail_cause == "unknown_tool" else len(executions)
        return ToolCall(
            session=turn.session.id,
            time=self.started,
            latency=max(0, now - self.started),
            id=self.handle.id,
            parent=self.parent,
            trace=self.handle.trace,
            turn=turn.ref.turn,
            unit=turn.ref.unit,
            agent=self.agent,
            intent=turn.ref.intent,
            status=finding.status,
            tool=self.tool,
            call_id=self.call_id or "",
            fail_cause=finding.fail_cause,
            empty_kind=finding.empty_kind,
            stage=finding.stage,
            error_type=finding.error_type,
            slow=runtime.is_slow(self.tool, contract, now - self.started, disturbed=runs != 1 or finding is not OK),
            stale_seconds=-1 if self.stale is None else int(self.stale),
            argument_names=tuple(self.arguments),
            arguments_hash=self.fingerprint,
            result_size=_size(response),
            arguments=runtime.payload(self.arguments) if runtime.capture.enabled else "",
            result=runtime.payload(_content(response)) if runtime.capture.enabled else "",
            served_by=self.served_by,
            attempts=runs,
            compensation=self.rung,
            first_status=executions[0].finding.status if executions else finding.status,
            fault=next((each.fault for each in executions if each.fault), ""),
            expected=routing.expected,
            offered=turn.offered.get(self.agent, ()),
            verdict=routing.verdict,
            precise=routing.precise,
            route_version=runtime.routes.version if routing.expected else "",
        )

    def _routing(self, finding: Finding, response: Any) -> Routing:
        """Verdict on the choice of the tool; an outcome check that raises is noted and lets nothing pass."""
        runtime, intent = self.runtime, self.turn.ref.intent
        result = _content(response) if finding.status == "ok" and response is not MISSING else NO_RESULT
        try:
            return routing_of_call(runtime.routes, intent, self.tool, result)
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything
            runtime.notes.add("outcome_check", f"the outcome check of a step of {intent!r} raised; it counts as not passed", error)
            return routing_of_call(runtime.routes, intent, self.tool)

    def _finding(self) -> Finding:
        final = self.final
        if self.verdict is not None:
            return self.verdict
        return final.finding if final else Finding("cancelled")


def _size(response: Any) -> int:
    """Characters of the result as text, -1 when it has none of its own."""
    content = _content(response)
    if isinstance(content, str | bytes):
        return len(content)
    if isinstance(content, list) and len(content) <= 1_000:
        return sum(len(b.get("text", "")) if isinstance(b, dict) else len(b) for b in content if isinstance(b, dict | str))
    return -1


def _content(response: Any) -> Any:
    if isinstance(response, ToolMessage):
        return response.content
    if isinstance(response, Command):
        update = response.update if isinstance(response.update, dict) else {}
        messages = [m for m in update.get("messages") or [] if isinstance(m, ToolMessage)]
        return messages[-1].content if messages else None
    return None if response is MISSING else response
