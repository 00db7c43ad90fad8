"""Traces of other instrumentations become events of ours, and with that scores, as they settle.

The events are sent into the same ingest as spans, so that one SQL reads everything. A trace is found in the store and not in
memory: what a killed process did not get to is done by the next one, within an hour; what is done twice has the same ids and
replaces itself.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final

from agent_reach.contracts import Routes
from agent_reach.errors import StoreError
from agent_reach.events import Event
from agent_reach.importers.foreign import ForeignSpan
from agent_reach.importers.traces import events_of_trace, session_of
from agent_reach.live import Session
from agent_reach.server.decode import Accepted
from agent_reach.server.ingest import Ingest
from agent_reach.store.port import Row, Store
from agent_reach.telemetry.resend import encode_events

log = logging.getLogger("agent_reach.server")

_LOOK_BACK: Final = 3_600.0
_SETTLED: Final = 2.0
"""Seconds after its newest span was stored until a trace whose root has arrived is read."""

_SILENT: Final = 120.0
"""The same for a trace whose root never came."""

_AT_ONCE: Final = 200
_SESSIONS: Final = 10_000


class ForeignTraces:
    """Finds and converts them. A session's open units live in memory: after a restart they count as closed."""

    def __init__(self, store: Store, ingest: Ingest, routes: Routes) -> None:
        self._store, self._ingest, self._routes = store, ingest, routes
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def convert(self) -> int:
        """Convert the traces that have settled; returns how many gave events."""
        now = time.time()
        moments = {"from": now - _LOOK_BACK, "settled": now - _SETTLED, "silent": now - _SILENT, "limit": _AT_ONCE}
        converted = 0
        for row in self._store.select("foreign_traces", **moments):
            converted += self._convert(row["trace"])
            self._store.insert("converted_traces", [{"trace": row["trace"]}])
        return converted

    def _convert(self, trace: str) -> int:
        rows = self._store.select("trace_spans", trace=trace)
        if not rows:
            return 0
        spans = [_span(trace, row) for row in rows]
        session = self._session(session_of(spans))
        try:
            events = list(events_of_trace(session, spans))
        except Exception as error:  # noqa: BLE001 - whatever a foreign span holds, the other traces go on
            log.warning("trace %s could not be read: %s: %s", trace, type(error).__name__, error)
            return 0
        try:
            self._send(events, rows[0]["service"])
        except StoreError:
            del self._sessions[session.id]  # it has counted what was not kept: the next round begins with what the store holds
            raise
        return 1 if events else 0

    def _send(self, events: Sequence[Event], service: str) -> None:
        if events:
            body, spans = encode_events(events, service)
            self._ingest.keep(Accepted(body, spans))

    def _session(self, id: str) -> Session:
        session = self._sessions.get(id)
        if session is None:
            session = self._sessions[id] = Session(id, self._routes)
            numbers = self._store.select("numbers", session=id)[0]
            session.turn, session.unit = numbers["turn"], numbers["unit"]
        self._sessions.move_to_end(id)
        if len(self._sessions) > _SESSIONS:
            _, oldest = self._sessions.popitem(last=False)
            self._send(oldest.close_all(time.time_ns()), "")
        return session

    def close(self) -> None:
        """Close the units that are still open."""
        for session in self._sessions.values():
            self._send(session.close_all(time.time_ns()), "")
        self._sessions.clear()


def _span(trace: str, row: Row) -> ForeignSpan:
    events: list[tuple[str, Any]] = list(zip(row["event_names"], row["event_attributes"], strict=True))
    return ForeignSpan(
        row["id"], row["parent"], trace, row["name"], int(row["time"]), int(row["duration"]), row["status"], row["message"],
        row["attributes"], events,
    )  # fmt: skip
