"""A recorded chat as events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, Protocol

from agent_reach.checks import NO_RESULT, Finding, asks_user, failed, finding_of_result, fingerprint, is_step_limit, routing_of_call
from agent_reach.checks.failures import cause_of_text
from agent_reach.contracts import Routes
from agent_reach.events import Decision, Event, ToolCall, Turn, TurnOutcome
from agent_reach.importers.messages import Call, Message
from agent_reach.live import Session, TurnRef

_STEP = 1_000_000_000


class Recorder(Protocol):
    """Is told of the texts that events leave out."""

    def called(self, event: ToolCall, arguments: dict[str, Any], result: Any) -> None: ...
    def replied(self, text: str) -> None: ...


def events_of(
    session: Session, messages: Sequence[Message], *, agent: str = "agent", begun: int = 0, recorder: Recorder | None = None
) -> Iterator[Event]:
    """Events of a conversation, each already taken in by the session; units that close follow the event that closes them.

    Recordings have no times: one second a message stands for them.

    Args:
        session: takes the events in; also gives the numbers of turns and units.
        messages: the conversation, oldest first; it may begin in the middle.
        agent: who acts.
        begun: time of the first message, nanoseconds.
        recorder: is told of calls with their results, and of messages to the user.
    """
    chat = _Chat(session, agent, recorder)
    for index, message in enumerate(messages):
        for event in chat.take(message, begun + index * _STEP):
            yield from _closed(session, event)
    end = begun + len(messages) * _STEP
    for event in chat.finish(end):
        yield from _closed(session, event)
    yield from session.close_all(end)


def _closed(session: Session, event: Event) -> Iterator[Event]:
    yield from session.observe(event)
    yield event


class _Chat:
    """The open turn of a conversation that is being read."""

    def __init__(self, session: Session, agent: str, recorder: Recorder | None) -> None:
        self._session, self._agent, self._recorder = session, agent, recorder
        self._routes: Routes = session.routes
        self._ref: TurnRef | None = None
        self._waiting: list[tuple[Call, int]] = []
        self._reply = ""
        self._since = 0
        self._count = self._decided = 0
        self._trace = _hash(session.id, "trace", size=16)
        self._turn_id = ""

    def take(self, message: Message, now: int) -> Iterator[Event]:
        if message.role == "user":
            yield from self.finish(now)
            self._begin(message.text, now)
        elif message.role == "assistant":
            yield from self._drop_waiting(now)
            self._ref = self._ref or self._begin("", now)
            self._reply = "" if message.calls else message.text
            yield self._decision(message, now)
            self._waiting += [(call, now) for call in message.calls]
            if self._recorder is not None and self._reply:
                self._recorder.replied(self._reply)
        elif message.role == "tool":
            yield from self._answer(message, now)

    def _decision(self, message: Message, now: int) -> Decision:
        self._decided += 1
        return Decision(
            **self._where(),
            time=now,
            id=_hash(self._session.id, "decision", self._decided),
            parent=self._turn_id,
            chosen=tuple(call.name for call in message.calls),
        )

    def _begin(self, text: str, now: int) -> TurnRef:
        self._ref = self._session.begin_turn(self._routes.classify(text) if text else None)
        self._since, self._reply = now, ""
        self._turn_id = _hash(self._session.id, "turn", self._ref.turn)
        return self._ref

    def finish(self, now: int) -> Iterator[Event]:
        """The turn ends."""
        yield from self._drop_waiting(now)
        if self._ref is None:
            return
        outcome: TurnOutcome = "answered"
        if not self._reply.strip() or is_step_limit(self._reply):
            outcome = "abandoned"
        elif asks_user(self._reply):
            outcome = "asked"
        yield Turn(
            **self._where(),
            time=self._since,
            latency=now - self._since,
            id=self._turn_id,
            status="cancelled" if outcome == "abandoned" else "ok",
            outcome=outcome,
        )
        self._ref = None

    def _answer(self, message: Message, now: int) -> Iterator[Event]:
        found = self._match(message)
        if found is None:
            return
        call, asked = found
        event = self._event(call, asked, now, self._finding(call, message), answer=message)
        yield event
        if self._recorder is not None:
            self._recorder.called(event, call.arguments, message.content)

    def _match(self, message: Message) -> tuple[Call, int] | None:
        """The call that a tool message answers: by id, else by name, else the oldest one."""
        by_id = [w for w in self._waiting if message.call_id and w[0].id == message.call_id]
        by_name = [w for w in self._waiting if not w[0].id or not message.call_id if message.name in ("", w[0].name)]
        found = next(iter(by_id or by_name), None)
        if found is not None:
            self._waiting.remove(found)
        return found

    def _finding(self, call: Call, message: Message) -> Finding:
        if message.failed:
            return failed(cause_of_text(message.text))
        return finding_of_result(message.content, self._routes.contract(call.name))

    def _drop_waiting(self, now: int) -> Iterator[Event]:
        """Calls that nothing answered were cancelled."""
        waiting, self._waiting = self._waiting, []
        for call, asked in waiting:
            yield self._event(call, asked, now, Finding("cancelled"), answer=None)

    def _event(self, call: Call, asked: int, now: int, finding: Finding, *, answer: Message | None) -> ToolCall:
        ref = self._ref or self._begin("", asked)
        result = answer.content if answer is not None and finding.status == "ok" else NO_RESULT
        verdict, precise, expected = routing_of_call(self._routes, ref.intent, call.name, result)
        self._count += 1
        return ToolCall(
            **self._where(),
            time=asked,
            latency=now - asked,
            id=_hash(self._session.id, "call", self._count),
            parent=self._turn_id,
            status=finding.status,
            tool=call.name,
            call_id=call.id,
            fail_cause=finding.fail_cause,
            empty_kind=finding.empty_kind,
            stage=finding.stage,
            error_type=finding.error_type,
            argument_names=tuple(call.arguments),
            arguments_hash=fingerprint(call.arguments),
            result_size=len(answer.text) if answer is not None else -1,
            first_status=finding.status,
            attempts=0 if finding.status == "cancelled" or finding.fail_cause == "unknown_tool" else 1,
            expected=expected,
            verdict=verdict,
            precise=precise,
            route_version=self._routes.version if expected else "",
        )

    def _where(self) -> dict[str, Any]:
        ref = self._ref
        assert ref is not None
        return {
            "session": self._session.id,
            "turn": ref.turn,
            "unit": ref.unit,
            "intent": ref.intent,
            "agent": self._agent,
            "trace": self._trace,
        }


def _hash(*parts: object, size: int = 8) -> str:
    return blake2b("\x1f".join(map(str, parts)).encode("utf-8", "replace"), digest_size=size).hexdigest()
