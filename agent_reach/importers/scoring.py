"""Scores of recorded conversations, whatever their format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_reach.contracts import Routes
from agent_reach.events import Event, UnitClosed
from agent_reach.importers.chat import events_of
from agent_reach.importers.files import read_conversations
from agent_reach.importers.turns import turns_of
from agent_reach.live import Session
from agent_reach.scores import Tally, reach_score
from agent_reach.scores.coverage import Coverage
from agent_reach.scores.reach import to_record

Keep = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Scored:
    """The tally of one session."""

    session: str
    file: str
    tally: Tally


def score_conversations(
    path: str | Path, routes: Routes, *, keep: Keep | None = None, coverage: Coverage | None = None, begun: int = 0
) -> Iterator[Scored]:
    """Score each conversation of a file.

    Args:
        path: the file.
        routes: expectations; an empty table makes every call a need of its own.
        keep: is handed every event, for sending on.
        coverage: counts which instructions were obeyed.
        begun: time of the first message, nanoseconds.

    Raises:
        FormatError: names file, record and key.
    """
    for conversation in read_conversations(path):
        session = Session(conversation.id, routes)
        if coverage is not None:
            coverage.observe(conversation.id, turns_of(conversation.messages, routes))
        for event in events_of(session, conversation.messages, begun=begun):
            if keep is not None:
                keep(event)
        yield Scored(conversation.id, conversation.file, session.tally)


def score_events(
    read: Callable[[], Iterable[Event]], file: str, routes: Routes | None, *, keep: Keep | None = None
) -> list[Scored]:
    """Score recorded events; sessions may be interleaved.

    Without a route table, units count as they closed when recorded, and only those that had not closed are closed here. With
    one, all units are derived anew.

    Args:
        read: gives the events, twice.
        file: where they come from.
        routes: expectations to judge by, instead of those of the recording.
        keep: is handed every event, for sending on; with a route table the units that it closes instead of the recorded ones.
    """
    closed = set() if routes else {(e.session, e.unit) for e in read() if isinstance(e, UnitClosed)}
    sessions: dict[str, Session] = {}
    last = 0
    for event in read():
        last = max(last, event.time + event.latency)
        session = sessions.get(event.session)
        if session is None:
            session = sessions[event.session] = Session(event.session, routes or Routes())
        if isinstance(event, UnitClosed) and routes:
            continue
        if keep is not None:
            keep(event)
        if (event.session, event.unit) in closed:
            session.tally.add(event)
            continue
        _keep_derived(session.observe(event), routes, keep)
    for session in sessions.values():
        _keep_derived(session.close_all(last), routes, keep)
    return [Scored(id, file, session.tally) for id, session in sessions.items()]


def _keep_derived(closed: Iterable[UnitClosed], routes: Routes | None, keep: Keep | None) -> None:
    """Units that a route table closes stand in place of those of the recording."""
    if routes and keep is not None:
        for unit in closed:
            keep(unit)


def row(scored: Iterable[Scored], routes: Routes) -> dict[str, Any]:
    """Counts and scores of any number of sessions together."""
    tally = Tally()
    for one in scored:
        tally = tally + one.tally
    calls = tally.calls
    uncounted = calls["cancelled"] + calls["interrupted"] + calls["handoff"]
    counts = {
        "calls": calls.total(),
        "ok": calls["ok"],
        "failed": calls["fail"],
        "empty": calls["empty_alias"],
        "uncounted": uncounted,
    }
    return {**counts, **to_record(reach_score(tally, routes.weights, routes.thresholds))}
