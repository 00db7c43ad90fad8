"""The live evaluator: every event passes here once, is counted, and goes on to the sinks."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Protocol

from agent_reach.contracts import Routes
from agent_reach.events import Band, Event, Handoff, Retrieval, ToolCall, Turn, UnitClosed
from agent_reach.live.notes import Notes
from agent_reach.live.session import Session
from agent_reach.scores import ReachScore

Sink = Callable[[Event], None]

_ENDED_KEPT = 256
_TURN_FIELDS = tuple(f.name for f in fields(Turn))


@dataclass(frozen=True, slots=True)
class BandChange:
    """A link of a session, or its total, entered another band.

    Attributes:
        session, agent, intent: where.
        link: `tool`, `knowledge`, `task` or `total`.
        before, after: the bands; `before` is `""` for the first.
        score: the session's total at that moment, None when there is none.
    """

    session: str
    agent: str
    intent: str
    link: str
    before: Band
    after: Band
    score: float | None


class SessionStore(Protocol):
    """Where sessions live on between processes; `agent_reach.integrations.storage` makes one of a LangGraph `BaseStore`."""

    def load(self, session: str) -> dict[str, Any] | None: ...
    def save(self, session: str, record: dict[str, Any]) -> None: ...


class Evaluator:
    """Sessions by id, bounded in number and idle time.

    Args:
        routes: the route table.
        clock: nanoseconds since 1970.
        notes: where faults are counted.
        max_sessions: sessions kept; the least recently used beyond it are ended and counted as `dropped_session`.
        idle_seconds: after which an untouched session is ended.
        store: keeps sessions between processes.
    """

    def __init__(
        self,
        routes: Routes,
        clock: Callable[[], int],
        notes: Notes,
        *,
        max_sessions: int = 10_000,
        idle_seconds: float = 3_600.0,
        store: SessionStore | None = None,
    ) -> None:
        self.routes, self.notes = routes, notes
        self._clock = clock
        self._max, self._idle = max_sessions, int(idle_seconds * 1e9)
        self._store = store
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._ended: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()
        self._sinks: list[Sink] = []
        self._hooks: list[Callable[[BandChange], object]] = []
        self._enders: list[Callable[[Session], None]] = []

    def add_sink(self, sink: Sink) -> None:
        """Every event goes to `sink`, after it was counted."""
        self._sinks.append(sink)

    def on_band(self, hook: Callable[[BandChange], object]) -> None:
        """Call `hook` whenever a band changes; what it raises is noted."""
        self._hooks.append(hook)

    def before_end(self, ender: Callable[[Session], None]) -> None:
        """Call `ender` before a session's open units are closed, so that it can end open turns."""
        self._enders.append(ender)

    def session(self, id: str) -> Session:
        """The session, begun or loaded if need be; one that had ended goes on."""
        now = self._clock()
        overdue: list[Session] = []
        with self._lock:
            session = self._sessions.get(id)
            if session is None:
                session = self._sessions[id] = self._ended.pop(id) if id in self._ended else self._begun(id)
                overdue = self._overdue(now)
            else:
                self._sessions.move_to_end(id)
            session.seen = now
        for old in overdue:
            self.end(old)
        return session

    def find(self, id: str) -> Session | None:
        """The session if it is in memory."""
        return self._sessions.get(id) or self._ended.get(id)

    def _begun(self, id: str) -> Session:
        session = Session(id, self.routes)
        self._load(session)
        return session

    def _load(self, session: Session) -> None:
        if self._store is None:
            return
        try:
            record = self._store.load(session.id)
            if record is not None:
                session.restore(record)
        except Exception as error:  # noqa: BLE001 - a store may raise anything
            session.stored = False
            self.notes.add("store", f"could not load session {session.id!r}; it starts afresh and is not saved", error)

    def save(self, session: Session) -> None:
        """Write the session to the store, if there is one."""
        if self._store is None or not session.stored:
            return
        try:
            self._store.save(session.id, session.to_record())
        except Exception as error:  # noqa: BLE001 - a store may raise anything
            self.notes.add("store", f"could not save session {session.id!r}", error)

    def _overdue(self, now: int) -> list[Session]:
        """Sessions to be ended, idle ones and those over the cap; the oldest stand in front, so a look there is enough."""
        overdue: list[Session] = []
        while len(self._sessions) > 1:
            oldest = next(iter(self._sessions.values()))
            if len(self._sessions) > self._max:
                self.notes.add("dropped_session", f"more than {self._max} sessions; ended {oldest.id!r} early")
            elif now - oldest.seen < self._idle:
                break
            del self._sessions[oldest.id]
            overdue.append(oldest)
        return overdue

    def publish(self, event: Event) -> Event:
        """Count the event, then hand it and what follows from it to the sinks.

        Returns:
            the event as it was emitted: a turn carries the scores of the moment.
        """
        session = self._sessions.get(event.session) or self.session(event.session)
        closed = session.observe(event)
        score = None
        if isinstance(event, Turn):
            score = session.score
            event = scored(event, score, closed)
        for unit in closed:
            self._emit(unit)
        self._emit(event)
        if self._hooks:
            self._watch_bands(session, event, score)
        if score is not None:
            self.save(session)
        return event

    def _emit(self, event: Event) -> None:
        for sink in self._sinks:
            try:
                sink(event)
            except Exception as error:  # noqa: BLE001 - one sink's fault must not cost the others the event
                self.notes.add("dropped_event", f"a sink lost a {type(event).__name__}", error)

    def _watch_bands(self, session: Session, event: Event, score: ReachScore | None) -> None:
        if isinstance(event, ToolCall):
            band = session.bands.get("tool")
            if band is not None and ((event.status == "ok" and band == "healthy") or session.tool_band() == band):
                return
        elif not isinstance(event, Retrieval | Handoff | Turn):
            return
        with session.lock:
            score = score or session.score
            now = {**score.bands, "total": score.band} if score.band else dict(score.bands)
            if now == session.bands:
                return
            before, session.bands = session.bands, now
        for link, band in now.items():
            if before.get(link, "") != band:
                self._alert(BandChange(session.id, event.agent, event.intent, link, before.get(link, ""), band, score.total))

    def _alert(self, change: BandChange) -> None:
        for hook in self._hooks:
            try:
                hook(change)
            except Exception as error:  # noqa: BLE001 - a user's hook may raise anything
                self.notes.add("band_hook", "a band hook raised", error)

    def end(self, session: Session) -> None:
        """Close what is open; the session stays readable for a while, and can go on later."""
        for ender in self._enders:
            with self.notes.guard("ending a session"):
                ender(session)
        for closed in session.close_all(self._clock()):
            self._emit(closed)
        self.save(session)
        with self._lock:
            self._sessions.pop(session.id, None)
            self._ended[session.id] = session
            if len(self._ended) > _ENDED_KEPT:
                self._ended.popitem(last=False)

    def after_fork(self) -> None:
        """Fresh locks for a child process."""
        self._lock = threading.Lock()
        self.notes.after_fork()
        for session in self._sessions.values():
            session.lock = threading.RLock()

    def end_all(self) -> None:
        """End every session in memory."""
        for session in list(self._sessions.values()):
            if not session.ended:
                self.end(session)


def scored(turn: Turn, score: ReachScore, closed: list[UnitClosed]) -> Turn:
    """The turn with the scores of the moment at which it ended, and how its unit closed."""
    values = {name: getattr(turn, name) for name in _TURN_FIELDS}
    values["score"], values["tool"] = _or_absent(score.total), _or_absent(score.tool)
    values["knowledge"], values["task"] = _or_absent(score.knowledge), _or_absent(score.task)
    values["band"] = score.band
    values["guessed"] = any(unit.guessed for unit in closed)
    values["abnormal"] = any(unit.abnormal for unit in closed)
    return Turn(**values)


def _or_absent(value: float | None) -> float:
    return -1.0 if value is None else value
