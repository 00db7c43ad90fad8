"""A trace of another instrumentation as events: one turn, with its calls and retrievals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, Final

from agent_reach.checks import (
    NO_RESULT,
    Finding,
    Fragment,
    asks_user,
    citations,
    failed,
    finding_of_result,
    fingerprint,
    is_step_limit,
    lexical_relevance,
    routing_of_call,
    utilised,
)
from agent_reach.checks.failures import cause_of_text
from agent_reach.checks.relevance import knowledge_counts
from agent_reach.events import Event, Handoff, Retrieval, ToolAttempt, ToolCall, Turn, TurnOutcome
from agent_reach.importers.foreign import ForeignSpan, Seen, read_span
from agent_reach.importers.messages import Message
from agent_reach.live import Session, TurnRef
from agent_reach.live.evaluator import scored

_HANDOFFS: Final = ("transfer_to_", "handoff_to_", "transfer_back_to_")
_OK: Final = Finding("ok")

Pair = tuple[ForeignSpan, Seen]


def session_of(spans: Sequence[ForeignSpan]) -> str:
    """Id of the conversation that a trace belongs to: what its spans say, else the trace."""
    return next((seen.session for seen in map(read_span, spans) if seen.session), spans[0].trace)


def events_of_trace(session: Session, spans: Sequence[ForeignSpan]) -> Iterator[Event]:
    """Events of one trace, each already taken in by the session; units that close follow the event that closes them.

    Nothing comes of a trace without an agent, a tool or a retriever.

    Args:
        session: takes the events in; also gives the numbers of turns and units.
        spans: of one trace, in any order.
    """
    pairs = [(span, read_span(span)) for span in sorted(spans, key=lambda span: span.time)]
    if not any(seen.kind != "other" for _, seen in pairs):
        return
    trace = _Trace(session, pairs)
    for event in trace.events():
        closed = session.observe(event)
        yield scored(event, session.score, closed) if isinstance(event, Turn) else event
        yield from closed


class _Trace:
    """One turn that is being read."""

    def __init__(self, session: Session, pairs: Sequence[Pair]) -> None:
        self._session, self._routes, self._pairs = session, session.routes, pairs
        by_id = {span.id: (span, seen) for span, seen in pairs}
        self._by_id = by_id
        roots = [pair for pair in pairs if pair[0].parent not in by_id]
        self._root, self._root_seen = next((p for p in roots if p[1].kind == "agent"), roots[0] if roots else pairs[0])
        self._asked = [m for _, seen in pairs for m in seen.asked if m.role == "user"]
        self._agent = self._root_seen.agent or next((seen.agent for _, seen in pairs if seen.agent), "") or "agent"
        text = self._said = self._asked[-1].text if self._asked else ""
        self._ref: TurnRef = session.begin_turn(self._routes.classify(text) if text else None)
        self._trace_id, self._turn_id = self._root.trace, _id(self._root.trace, "turn")
        self._fragments: list[Fragment] = []

    def events(self) -> Iterator[Event]:
        """In the order in which they ended."""
        found: list[Event] = [*self._calls(), *self._retrievals(), *self._unknown_tools()]
        yield from sorted(found, key=lambda event: (event.time + event.latency, event.id))
        yield self._turn()

    # calls ------------------------------------------------------------------------------------------------------------

    def _calls(self) -> Iterator[Event]:
        executions: dict[str, list[Pair]] = {}
        for span, seen in self._pairs:
            if seen.kind == "tool":
                executions.setdefault(seen.call_id or span.id, []).append((span, seen))
        for runs in executions.values():
            yield from self._call(runs)

    def _call(self, runs: list[Pair]) -> Iterator[Event]:
        """One call; several executions under one id are its attempts."""
        findings = [self._finding(seen) for _, seen in runs]
        first, seen = runs[0]
        last = runs[-1][0]
        call_id = _id(first.id, "call")
        if len(runs) > 1:
            for number, ((span, _), finding) in enumerate(zip(runs, findings, strict=True), 1):
                yield self._attempt(span, seen, call_id, number, finding)
        if seen.name.startswith(_HANDOFFS):
            yield self._handoff(first, seen, call_id)
        result = seen.answer.content if seen.answer is not None and findings[-1].status == "ok" else NO_RESULT
        verdict, precise, expected = routing_of_call(self._routes, self._ref.intent, seen.name, result)
        yield ToolCall(
            **self._where(first, seen, last.time + last.duration - first.time),
            **_verdict(findings[-1]),
            id=call_id,
            parent=self._turn_id,
            tool=seen.name,
            call_id=seen.call_id,
            argument_names=tuple(map(str, seen.arguments)),
            arguments_hash=fingerprint(dict(seen.arguments)) if seen.arguments else "",
            result_size=len(seen.answer.text) if seen.answer else -1,
            attempts=len(runs),
            first_status=findings[0].status,
            expected=expected,
            verdict=verdict,
            precise=precise,
            route_version=self._routes.version if expected else "",
        )

    def _attempt(self, span: ForeignSpan, seen: Seen, parent: str, number: int, finding: Finding) -> ToolAttempt:
        return ToolAttempt(
            **self._where(span, seen, span.duration),
            **_verdict(finding),
            id=_id(span.id, "attempt"),
            parent=parent,
            tool=seen.name,
            call_id=seen.call_id,
            number=number,
            rung="first" if number == 1 else "retry",
        )

    def _finding(self, seen: Seen) -> Finding:
        if seen.name.startswith(_HANDOFFS):
            return Finding("handoff")
        if seen.error:
            return failed(cause_of_text(seen.error))
        return _OK if seen.answer is None else self._judge(seen.name, seen.answer)

    def _judge(self, tool: str, answer: Message) -> Finding:
        if answer.failed:
            return failed(cause_of_text(answer.text))
        return finding_of_result(answer.content, self._routes.contract(tool))

    def _handoff(self, span: ForeignSpan, seen: Seen, call_id: str) -> Handoff:
        receiver = next(seen.name.removeprefix(prefix) for prefix in _HANDOFFS if seen.name.startswith(prefix))
        return Handoff(
            **self._where(span, seen, span.duration),
            status="handoff",
            id=_id(span.id, "handoff"),
            parent=call_id,
            sender=seen.agent or self._agent,
            receiver=receiver,
            call_id=seen.call_id,
        )

    def _unknown_tools(self) -> Iterator[Event]:
        """Calls that a framework answered with an error without running any tool."""
        run = {seen.call_id for _, seen in self._pairs if seen.kind == "tool"}
        shown = {seen.name for _, seen in self._pairs if seen.kind == "tool" and not seen.call_id}
        for message in self._root_seen.messages:
            if message.role != "tool" or not message.failed or message.call_id in run or message.name in shown or not message.name:
                continue
            if "not a valid tool" not in message.text:
                continue
            yield ToolCall(
                **self._where(self._root, self._root_seen, self._root.duration),
                **_verdict(failed("unknown_tool")),
                id=_id(self._root.id, message.call_id),
                parent=self._turn_id,
                tool=message.name,
                call_id=message.call_id,
                attempts=0,
                first_status="fail",
            )

    # knowledge --------------------------------------------------------------------------------------------------------

    def _retrievals(self) -> Iterator[Retrieval]:
        for span, seen in self._pairs:
            if seen.kind == "retrieval" and (seen.documents is not None or seen.error):
                yield self._retrieval(span, seen)

    def _retrieval(self, span: ForeignSpan, seen: Seen) -> Retrieval:
        documents = seen.documents or ()
        relevances = lexical_relevance(seen.query, documents)
        labels: list[bool | None] = [None] * len(documents)
        counts, _ = knowledge_counts(relevances, labels=labels, cut=self._routes.thresholds.relevance, ideal=1)
        self._fragments += [Fragment(text, seen.name) for text in documents]
        parent = self._by_id.get(span.parent)
        finding = failed(cause_of_text(seen.error)) if seen.error else Finding("ok" if documents else "empty_alias")
        return Retrieval(
            **self._where(span, seen, span.duration),
            status=finding.status,
            fail_cause=finding.fail_cause,
            id=_id(span.id, "retrieval"),
            parent=_id(parent[0].id, "call") if parent and parent[1].kind == "tool" else self._turn_id,
            source=seen.name,
            retrieved=counts.retrieved,
            relevant=counts.relevant,
            admitted=counts.relevant,
            ideal=counts.ideal,
            relevances=tuple(f"{relevance:.4f}" for relevance in relevances),
        )

    # the turn ---------------------------------------------------------------------------------------------------------

    def _turn(self) -> Turn:
        messages = self._root_seen.messages
        captured = bool(messages)
        reply = next((m.text for m in reversed(messages) if m.role == "assistant" and m.text and not m.calls), "")
        outcome: TurnOutcome = "answered"
        if self._root.status == "Error" or (captured and (not reply.strip() or is_step_limit(reply))):
            outcome = "abandoned"
        elif asks_user(reply):
            outcome = "asked"
        status = "fail" if self._root.status == "Error" else "cancelled" if outcome == "abandoned" else "ok"
        return Turn(
            **self._where(self._root, self._root_seen, self._root.duration),
            id=self._turn_id,
            status=status,  # type: ignore[arg-type]
            outcome=outcome,
            **(self._utilised(reply) if outcome == "answered" and reply and self._fragments else {}),
        )

    def _utilised(self, reply: str) -> dict[str, Any]:
        return utilised(self._fragments, citations([fragment.text for fragment in self._fragments], reply, self._said))

    def _where(self, span: ForeignSpan, seen: Seen, latency: int) -> dict[str, Any]:
        return {
            "session": self._session.id,
            "turn": self._ref.turn,
            "unit": self._ref.unit,
            "intent": self._ref.intent,
            "agent": seen.agent or self._agent,
            "trace": self._trace_id,
            "time": span.time,
            "latency": max(0, latency),
        }


def _verdict(finding: Finding) -> dict[str, Any]:
    return {
        "status": finding.status,
        "fail_cause": finding.fail_cause,
        "empty_kind": finding.empty_kind,
        "stage": finding.stage,
        "error_type": finding.error_type,
    }


def _id(*parts: str) -> str:
    """Of an event that is made of a span: always the same, and never the span's own."""
    return blake2b("\x1f".join(parts).encode(), digest_size=8).hexdigest()
