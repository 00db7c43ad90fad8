"""What runs beside the listening: minute snapshots, spans of other instrumentations, alerts."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from agent_reach.contracts import Routes
from agent_reach.server.alerts import Alerts
from agent_reach.server.foreign import ForeignTraces
from agent_reach.server.ingest import Ingest
from agent_reach.store.port import Store

log = logging.getLogger("agent_reach.server")

_SHORTEST_PAUSE: Final = 3.0
_LONGEST_PAUSE: Final = 30.0
_REFRESHES: Final = (
    "refresh_tools", "refresh_steps", "refresh_atoms", "refresh_sources", "refresh_context", "refresh_agents",
)  # fmt: skip
"""The agents last: by them the next process sees that all snapshots were taken."""

_OVERLAP: Final = 60.0
"""Seconds: a row may become visible after one that was stored later, when several processes write."""

_ALL: Final = {"agent": "", "intent": "", "version": ""}


class Jobs:
    """Two threads; `snapshot`, `check_alerts` and `foreign.convert` may also be called by hand.

    Attributes:
        alerts: which rules fire.
        foreign: converts the traces of other instrumentations.
    """

    def __init__(self, store: Store, ingest: Ingest, routes: Routes, alerts: Alerts) -> None:
        self._store, self._routes, self.alerts = store, routes, alerts
        self._stop = threading.Event()
        self._since: float | None = None
        self._newest = 0.0
        self._lock = threading.Lock()
        self.foreign = ForeignTraces(store, ingest, routes)
        self._threads = [
            threading.Thread(target=self._every, args=(self._snapshot_and_check,), daemon=True),
            threading.Thread(target=self._every, args=(self.foreign.convert,), daemon=True),
        ]

    def start(self) -> None:
        """Begin; the settings of this process become those of the views."""
        weights, thresholds = self._routes.weights, self._routes.thresholds
        self._store.execute(
            "settings",
            tool=weights.tool,
            knowledge=weights.knowledge,
            task=weights.task,
            taken_penalty=weights.taken_penalty,
            absent_full=weights.absent == "full",
            healthy=thresholds.healthy,
            degraded=thresholds.degraded,
        )
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End after what is being done."""
        self._stop.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(30)
        self.foreign.close()

    def _every(self, work: Callable[[], Any]) -> None:
        """Again and again, with pauses that leave nearly all of the machine to others: a small store is fresh within seconds."""
        while not self._stop.is_set():
            begun = time.monotonic()
            try:
                work()
            except Exception as error:  # noqa: BLE001 - the next round tries again
                log.warning("%s failed: %s", getattr(work, "__name__", "a job").strip("_"), error)
            self._stop.wait(min(_LONGEST_PAUSE, max(_SHORTEST_PAUSE, 20 * (time.monotonic() - begun))))

    # snapshots --------------------------------------------------------------------------------------------------------

    def _snapshot_and_check(self) -> None:
        self.snapshot()
        self.check_alerts()

    def snapshot(self) -> bool:
        """Take the snapshots of all minutes that got new events; False when there were none."""
        with self._lock:
            if self._since is None:
                self._since = max(0.0, (self._store.select("snapshotted")[0]["at"] or 0.0) - _OVERLAP)
            dirty = self._store.select("dirty", since=self._since)[0]
            if not dirty["n"] or dirty["newest"] == self._newest:
                return False
            now = time.time()
            for refresh in _REFRESHES:
                self._store.execute(refresh, since=self._since, now=now)
            self._newest = dirty["newest"]
            self._since = max(0.0, self._newest - _OVERLAP)
            return True

    # alerts -----------------------------------------------------------------------------------------------------------

    def check_alerts(self) -> None:
        """Compare the last minutes with the rules."""
        now = time.time()
        windows, before, refused = {}, {}, {}
        for minutes in self.alerts.windows():
            span = minutes * 60
            windows[minutes] = self._sums(now - span, now + 60)
            before[minutes] = self._sums(now - 2 * span, now - span)
            rows = self._store.select("refused", **{"from": now - span, "to": now + 60})
            refused[minutes] = {row["agent"]: row["n"] for row in rows}
        self.alerts.check(windows, before, refused, now)

    def _sums(self, begin: float, end: float) -> dict[str, dict[str, Any]]:
        rows = self._store.select("agents", **{"from": begin, "to": end}, **_ALL)
        return {row["agent"]: row for row in rows if not row["together"]}
