"""From an accepted request to stored rows: spool first, acknowledge, then write in batches."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from agent_reach.errors import StoreFull, UnreadableSegment
from agent_reach.server.counters import read_counters
from agent_reach.server.decode import Accepted, is_readable, read_traces
from agent_reach.store.port import WRITERS, Store
from agent_reach.store.spool import Spool

log = logging.getLogger("agent_reach.server")

RETRY_AFTER: Final = 5
"""Seconds that a sender is asked to wait when there is no room."""

_DAY: Final = 86_400 * 10**9
_SEAL_SECONDS: Final = 0.5
_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE: Final = 30.0


class Ingest:
    """What is accepted is in the spool, hence survives `kill -9`; threads move it into the store.

    Args:
        store: takes the segments.
        spool: keeps what is accepted.
        ttl_days: older spans are refused, since the store would drop them.

    Attributes:
        counts: spans accepted, rejected, stored and set aside, requests refused.
    """

    def __init__(self, store: Store, spool: Spool, *, ttl_days: int = 30) -> None:
        self._store, self._spool = store, spool
        self._kept = ttl_days * _DAY
        self.counts: Counter[str] = Counter()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._taken: set[Path] = set()
        self._threads = [threading.Thread(target=self._work, name=f"agent-reach-writer-{i}", daemon=True) for i in range(WRITERS)]

    def start(self) -> None:
        """Begin to write; what an earlier process left in the spool comes first."""
        for thread in self._threads:
            thread.start()

    def accept_traces(self, body: bytes, *, is_json: bool = False) -> Accepted:
        """Check and keep a request.

        Raises:
            RequestError: it is malformed.
            StoreFull: no room now.
        """
        with self._counting_refusals():
            self._spool.check_room(len(body))
        accepted = read_traces(body, is_json=is_json, oldest=time.time_ns() - self._kept)
        if accepted.spans:
            self.keep(accepted)
        self._count(rejected=accepted.rejected)
        return accepted

    def accept_metrics(self, body: bytes, *, is_json: bool = False) -> None:
        """Keep the counters of agent-reach itself.

        Raises:
            RequestError: it is malformed.
            StoreError: not now.
        """
        self._store.insert("reach_counters", read_counters(body, is_json=is_json))

    def keep(self, accepted: Accepted) -> None:
        """Put a checked request into the spool.

        Raises:
            StoreFull: no room now.
        """
        with self._counting_refusals():
            self._spool.append(accepted.body)
        self._count(accepted=accepted.spans)

    @contextlib.contextmanager
    def _counting_refusals(self) -> Iterator[None]:
        try:
            yield
        except StoreFull:
            self._count(refused=1)
            raise

    def _count(self, **numbers: int) -> None:
        with self._lock:
            self.counts.update(numbers)

    @property
    def waiting(self) -> int:
        """Bytes that are accepted and not stored yet."""
        return self._spool.waiting

    # the writer -------------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        pause = _PAUSE_SECONDS
        while not self._stop.is_set():
            self._spool.seal(_SEAL_SECONDS)
            try:
                wrote = self.write_one()
                pause = _PAUSE_SECONDS
            except Exception as error:  # noqa: BLE001 - whatever it is, the spool keeps the spans
                log.warning("storing failed, trying again in %.0f s: %s", pause, error)
                wrote, pause = False, min(_LONGEST_PAUSE, pause * 2)
            if not wrote:
                self._stop.wait(pause)

    def write_one(self) -> bool:
        """Store the oldest sealed segment that nobody else is storing; False when there is none.

        Raises:
            StoreError: the store does not take it now; it stays.
        """
        with self._lock:
            segment = next((path for path in self._spool.sealed() if path not in self._taken), None)
            if segment is None:
                return False
            self._taken.add(segment)
        try:
            self._store.write_segment(segment)
        except UnreadableSegment as error:
            aside = self._spool.sift(segment, is_readable) or self._spool.set_aside(segment)
            self._count(set_aside=1)
            log.error("spans cannot be read and were set aside as %s: %s", aside, error)
        else:
            self._spool.done(segment)
            self._count(segments=1)
        finally:
            with self._lock:
                self._taken.discard(segment)
        return True

    def flush(self, timeout: float) -> bool:
        """Wait until all that was accepted is stored; False when it takes longer."""
        self._spool.seal()
        limit = time.monotonic() + timeout
        while self._spool.waiting and time.monotonic() < limit:
            time.sleep(0.02)
        return not self._spool.waiting

    def stop(self, timeout: float = 10.0) -> None:
        """Store what is there, as far as the time allows; the rest stays in the spool for the next start."""
        running = [thread for thread in self._threads if thread.is_alive()]
        if running:
            self.flush(timeout)
        self._stop.set()
        for thread in running:
            thread.join(timeout)
        self._spool.close()
        if self._spool.waiting:
            log.warning("%d bytes stay in the spool; the next start stores them", self._spool.waiting)
