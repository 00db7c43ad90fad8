"""Turns as they run: which session, turn and unit an observed call belongs to."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any
from uuid import UUID

from agent_reach.checks import Fragment, asks_user, is_step_limit
from agent_reach.checks.instructions import Act
from agent_reach.events import Turn, TurnOutcome
from agent_reach.integrations.capture import clean
from agent_reach.integrations.tracing import Handle
from agent_reach.integrations.translate import session_in
from agent_reach.live import Session, TurnRef

if TYPE_CHECKING:
    from agent_reach.integrations.calls import CallRecord
    from agent_reach.integrations.runtime import Runtime

NAMELESS = "agent"
"""An agent that nothing names; its turn takes the name of the first one that acts in it."""

_FRAGMENTS_KEPT = 50
_NAMELESS_KEPT = 128
_CALLS_A_TURN = 1_000
"""Where nothing signals the end of a turn, it ends after so many calls."""


class OpenTurn:
    """A turn that runs.

    Attributes:
        session, ref, agent: where its events belong.
        handle: its span.
        root: run id of its root run, None when no tracker saw one.
        paused: the graph waits for a person; the next root run of the session continues it.
        offered: tools that the latest decision of each agent could choose from.
        asked: calls that the model asked for and no tool run answered yet: id to (name, agent).
        deferred: failed calls that a retry from outside may still continue, by key.
        published: keys of the calls that were counted.
        human_step: the graph's step in which a human node runs.
        handing_over: receivers of handoffs that have not started yet.
        fragments: that were retrieved and may have entered the context.
        context: those of the session and the turn that stood in a model's input, in their order.
        decided: a model's input was seen.
        acts: what models asked for and said, in order; kept while instructions are checked.
        count: calls that were opened in it.
        reply: the newest final text of a model, `calls` whether it asked for tools instead.
    """

    __slots__ = (
        "acts", "agent", "asked", "calls", "context", "count", "decided", "deferred", "fragments", "handing_over", "handle",
        "human_step", "offered",
        "paused", "published", "ref", "reply", "returned_directly", "root", "runs", "session", "started", "supply_asked", "user",
        "users",
    )  # fmt: skip

    def __init__(
        self, session: Session, ref: TurnRef, agent: str, handle: Handle, started: int, user: str, root: UUID | None
    ) -> None:
        self.session, self.ref, self.agent, self.handle = session, ref, agent, handle
        self.started, self.user, self.root = started, user, root
        self.paused = self.calls = self.returned_directly = self.decided = False
        self.reply = ""
        self.users = self.count = 0
        self.human_step: int | None = None
        self.runs: set[UUID] = set()
        self.offered: dict[str, tuple[str, ...]] = {}
        self.asked: dict[str, tuple[str, str]] = {}
        self.deferred: dict[Any, CallRecord] = {}
        self.published: set[Any] = set()
        self.handing_over: set[str] = set()
        self.supply_asked: set[str] = set()
        self.fragments: list[Fragment] = []
        self.context: list[Fragment] = []
        self.acts: list[Act] = []

    def keep_fragments(self, fragments: list[Fragment]) -> None:
        """Remember what entered the context, the newest first to go last."""
        self.fragments = (self.fragments + fragments)[-_FRAGMENTS_KEPT:]

    def flush(self) -> None:
        """Count the failed calls that nothing continued."""
        while self.deferred:
            self.deferred.popitem()[1].publish()

    def where(self) -> dict[str, Any]:
        """The fields that all events of the turn share."""
        return {
            "session": self.session.id,
            "turn": self.ref.turn,
            "unit": self.ref.unit,
            "intent": self.ref.intent,
            "trace": self.handle.trace,
        }


class Scope:
    """What `reach.session(...)` says of the runs inside it."""

    __slots__ = ("agent", "id", "intent")

    def __init__(self, id: str, intent: str, agent: str) -> None:
        self.id, self.intent, self.agent = id, intent, agent


class Turns:
    """Open turns by root run and by session. Thread-safe.

    Attributes:
        scope: what `reach.session(...)` says here.
        handles: spans of the open turns, by id.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._lock = threading.Lock()
        self.scope: ContextVar[Scope | None] = ContextVar("agent_reach_scope", default=None)
        self._by_run: dict[UUID, OpenTurn] = {}
        self._by_session: dict[str, OpenTurn] = {}
        self.handles: dict[str, Handle] = {}
        self._nameless: deque[str] = deque()
        runtime.evaluator.before_end(self._end_open_turn)

    # runs -----------------------------------------------------------------------------------------------------------

    def of_run(self, run: UUID | None) -> OpenTurn | None:
        """The turn that a run belongs to."""
        return None if run is None else self._by_run.get(run)

    def join(self, run: UUID, parent: UUID | None) -> OpenTurn | None:
        """Make a run part of its parent's turn."""
        turn = self._by_run.get(parent) if parent is not None else None
        if turn is not None:
            self._by_run[run] = turn
            turn.runs.add(run)
        return turn

    def leave(self, run: UUID) -> None:
        """The run ended."""
        turn = self._by_run.pop(run, None)
        if turn is not None:
            turn.runs.discard(run)

    # begin ----------------------------------------------------------------------------------------------------------

    def session_id(self, metadata: Mapping[str, Any], configurable: Mapping[str, Any], run: UUID | None) -> str:
        """`reach.session(id)`, else `thread_id`, else `session_id` or `conversation_id`, else the root run."""
        scope = self.scope.get()
        if scope is not None:
            return scope.id
        return clean(session_in(metadata, configurable)) or (str(run) if run else "default")

    def begin(self, id: str, *, text: str, agent: str, root: UUID | None, resumes: bool = False) -> OpenTurn:
        """A new turn of the session, or, with `resumes`, the one that was paused, here or in another process."""
        runtime = self._runtime
        session = runtime.evaluator.session(id)
        before = self._by_session.get(id)
        if before is not None and before.paused:
            if resumes:
                self._resume(before, root)
                return before
            self.end(before, "abandoned")
        elif before is not None and before.root is None:
            self.end(before, "answered")
        scope = self.scope.get()
        if resumes and session.paused is not None:
            ref = session.paused
        else:
            ref = session.begin_turn((runtime.known_intent(scope.intent) if scope else "") or runtime.classify(text))
        session.paused = None
        agent = (scope.agent if scope else "") or agent or NAMELESS
        started = runtime.clock()
        handle = runtime.tracing.open("invoke_agent", agent, started, None)
        turn = OpenTurn(session, ref, agent, handle, started, text, root)
        self.handles[handle.id] = handle
        with self._lock:
            self._by_session[id] = turn
            if root is not None:
                self._by_run[root] = turn
                turn.runs.add(root)
        return turn

    def pause(self, turn: OpenTurn) -> None:
        """The graph waits for a person."""
        turn.flush()
        turn.paused = True
        turn.session.paused = turn.ref
        with self._lock:
            for run in turn.runs:
                self._by_run.pop(run, None)
            turn.runs.clear()
        self._runtime.evaluator.save(turn.session)

    def is_paused(self, id: str) -> bool:
        turn = self._by_session.get(id)
        return turn is not None and turn.paused

    def _resume(self, turn: OpenTurn, root: UUID | None) -> None:
        turn.paused = False
        turn.session.paused = None
        turn.root = root
        if root is not None:
            self._by_run[root] = turn
            turn.runs.add(root)

    def unseen(self, id: str, *, text: str, agent: str, users: int) -> OpenTurn:
        """The turn of a call when no tracker saw its root run: a new one whenever the user has written more."""
        turn = self._by_session.get(id)
        if turn is not None and (turn.root is not None or (users <= turn.users and turn.count < _CALLS_A_TURN)):
            return turn
        turn = self.begin(id, text=text, agent=agent, root=None)
        turn.users = users
        return turn

    def nameless(self, id: str) -> None:
        """A session that only has its run for a name goes on in no other run: once enough came after it, it is over."""
        with self._lock:
            if self._nameless and self._nameless[-1] == id:
                return
            self._nameless.append(id)
            oldest = self._nameless.popleft() if len(self._nameless) > _NAMELESS_KEPT else None
        session = self._runtime.evaluator.find(oldest) if oldest else None
        if session is not None and not session.ended:
            self._runtime.evaluator.end(session)

    # end ------------------------------------------------------------------------------------------------------------

    def outcome(self, turn: OpenTurn) -> TurnOutcome:
        """What a root run that ended without an error came to."""
        if turn.returned_directly:
            return "answered"
        if turn.calls or is_step_limit(turn.reply):
            return "abandoned"
        return "asked" if asks_user(turn.reply) else "answered"

    def end(self, turn: OpenTurn, outcome: TurnOutcome, *, failed: bool = False) -> None:
        """Close the turn and its span; `failed` when an error ended it rather than somebody who went away."""
        with self._lock:
            if self._by_session.get(turn.session.id) is turn:
                del self._by_session[turn.session.id]
            for run in turn.runs:
                self._by_run.pop(run, None)
            turn.runs.clear()
        turn.flush()
        runtime = self._runtime
        now = runtime.clock()
        context = turn.context if turn.decided else turn.fragments
        event = Turn(
            **turn.where(),
            time=turn.started,
            latency=max(0, now - turn.started),
            id=turn.handle.id,
            agent=turn.agent,
            status="fail" if failed else "cancelled" if outcome == "abandoned" else "ok",
            outcome=outcome,
            **(runtime.utilised(context, turn.reply, turn.user) if outcome == "answered" and context and turn.reply else {}),
            instructions=runtime.verdicts(turn) if runtime.instructions is not None else (),
            user=runtime.payload(turn.user),
            reply=runtime.payload(turn.reply),
        )
        runtime.publish(event, turn.handle)
        self.handles.pop(turn.handle.id, None)

    def _end_open_turn(self, session: Session) -> None:
        turn = self._by_session.get(session.id)
        if turn is not None and turn.session is session:
            self.end(turn, "abandoned" if turn.paused or turn.root is not None else "answered")

    def after_fork(self) -> None:
        """A fresh lock for a child process."""
        self._lock = threading.Lock()

    def flush(self, id: str) -> None:
        """Count what the session's open turn still defers."""
        turn = self._by_session.get(id)
        if turn is not None:
            turn.flush()


def reset(variable: ContextVar[Any], token: Token[Any]) -> None:
    """Restore a context variable; in another context (a closed coroutine) there is nothing to restore."""
    try:
        variable.reset(token)
    except ValueError:
        return
