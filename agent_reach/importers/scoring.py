"""Scores of recorded conversations, whatever their format, in bounded memory."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import time_ns
from typing import Any, Final
from zlib import crc32

from agent_reach.contracts import Routes
from agent_reach.contracts.instructions import Instructions
from agent_reach.errors import ReachError
from agent_reach.evaluation.outlook import Outlook
from agent_reach.events import Event, Turn, UnitClosed
from agent_reach.importers.chat import events_of
from agent_reach.importers.events import read_events
from agent_reach.importers.files import Facts, is_event_lines, read_conversations
from agent_reach.importers.labels import Condition
from agent_reach.importers.outlook import signals_of
from agent_reach.importers.review import Reviewer
from agent_reach.importers.turns import turns_of
from agent_reach.live import Session
from agent_reach.scores import OpenUnit, Tally, reach_score
from agent_reach.scores.coverage import Coverage
from agent_reach.scores.misses import Cause, causes
from agent_reach.scores.misses import to_record as misses_record
from agent_reach.scores.rate import RateTally
from agent_reach.scores.rate import to_record as rates_record
from agent_reach.scores.reach import to_record
from agent_reach.scores.utilisation import Utilisation

Keep = Callable[[Event], None]
Row = dict[str, Any]

SESSIONS_KEPT: Final = 20_000
"""Sessions of recorded events that are open at once: one that so many others followed is over."""

WORTH_PROCESSES: Final = 32_000_000
"""Bytes of a file of events that is scored by several processes."""
_SESSION: Final = re.compile(r'"session":\s*("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True, slots=True)
class Share:
    """One of several processes' part of the sessions of a file."""

    number: int = 0
    of: int = 1

    def takes(self, line: str) -> bool:
        """An event's line is part of it; a line that names none belongs to the session without a name."""
        found = _SESSION.search(line)
        session = str(json.loads(found[1])) if found is not None else ""
        return crc32(session.encode("utf-8", "replace")) % self.of == self.number


class Scoring:
    """Figures over any number of files.

    Args:
        routes: expectations; without a table every call is a need of its own, and recorded units count as they were recorded.
        instructions: of the prompt, checked on recorded conversations.
        descriptions: of the tools, by name; they help to say why a tool was missed.
        reviewer: looks at the units of recorded conversations that have a route.
        outlook: says how likely recorded conversations end well, as `outlook` of their rows.
        keep: is handed every event, for sending on; with a route table the units that it closes instead of the recorded ones.

    Attributes:
        used: the route table that gives weights and thresholds.
        total: of all sessions.
        rates: of routing, by the route table or, without one, by that of the recording.
        coverage: of the instructions; None without them.
        utilisation: of the context.
    """

    def __init__(
        self,
        routes: Routes | None = None,
        instructions: Instructions | None = None,
        *,
        descriptions: Mapping[str, str] | None = None,
        reviewer: Reviewer | None = None,
        outlook: Outlook | None = None,
        keep: Keep | None = None,
    ) -> None:
        self.routes, self._instructions, self._descriptions, self._keep = routes, instructions, descriptions, keep
        self.used = routes or Routes()
        self._reviewer, self._outlook = reviewer, outlook
        self._tables: dict[str, Routes] = {}
        self._strange: Counter[str] = Counter()
        self.total = Tally()
        self.rates = RateTally(doubtful=reviewer.doubtful if reviewer else ())
        self.coverage = Coverage(instructions) if instructions else None
        self.utilisation = Utilisation()

    def score(self, file: Path, share: Share | None = None) -> Iterator[Row]:
        """One row a session: its counts and scores.

        Args:
            file: recorded conversations, or lines of this package's events.
            share: which sessions; for events only.

        Raises:
            FormatError: names file, record and key.
        """
        if not is_event_lines(file):
            yield from self._conversations(file)
            return
        if self._instructions:
            raise ReachError(f"{file}: holds events without texts; instructions are checked on recorded conversations")
        takes = None if share is None or share.of == 1 else share.takes
        yield from self._events(read_events(file, takes), str(file))

    def score_all(self, files: Sequence[Path], processes: int) -> Iterator[Row]:
        """The same over several files, large ones of events spread over processes."""
        for file in files:
            alone = processes < 2 or self._keep or self._instructions or not is_event_lines(file)
            yield from self.score(file) if alone or file.stat().st_size < WORTH_PROCESSES else self._spread(file, processes)

    def causes(self) -> list[Cause]:
        """Why best tools were not called, the most frequent reason first."""
        return causes(self.rates, self.used, self._descriptions)

    def to_record(self) -> dict[str, Any]:
        """What is counted beside the scores, as JSON-ready values."""
        found: dict[str, Any] = {}
        if self.rates.trials:
            found["rates"] = {**rates_record(self.rates), "misses": misses_record(self.causes())}
        if self.coverage is not None:
            found["instructions"] = self.coverage.to_record()
        if self.utilisation.turns:
            found["utilisation"] = self.utilisation.to_record()
        return found

    def labelled(self, file: Path, good: Condition) -> Iterator[tuple[float, bool]]:
        """Score of each recorded conversation that has one, and whether it ended well.

        Raises:
            FormatError: the file cannot be read.
            ReachError: a record lacks what the condition asks for.
        """
        for conversation in read_conversations(file):
            session = Session(conversation.id, self.used)
            for _event in events_of(session, conversation.messages):
                pass
            total = session.score.total
            if total is not None:
                yield total, good.holds(conversation.facts, f"{file}, record {conversation.record}")

    def _conversations(self, file: Path) -> Iterator[Row]:
        begun = time_ns()
        for conversation in read_conversations(file):
            session = Session(conversation.id, self._labelled_table(conversation.facts))
            if self.coverage is not None:
                self.coverage.observe(conversation.id, turns_of(conversation.messages, self.used, conversation.facts))
            events: Iterable[Event] = events_of(session, conversation.messages, begun=begun)
            if self._reviewer is not None:
                events = list(events)
                self._reviewer.look(conversation.id, conversation.messages, events)
            for event in events:
                self._count(event)
            row = self._row(session, conversation.file)
            if self._outlook is not None:
                row["outlook"] = self._outlook.probability(signals_of(conversation.messages, self.used))
            yield row

    def _labelled_table(self, facts: Facts) -> Routes:
        """The route table; where a record names its intent, that holds for the whole conversation."""
        label = str(facts.get("intent", ""))
        if not label or label not in self.used.intents:
            if label and self.used.intents:
                self._strange[label] += 1
            return self.used
        if label not in self._tables:
            always: Any = lambda _text: label  # noqa: E731
            self._tables[label] = self.used.model_copy(update={"classifier": always})
        return self._tables[label]

    @property
    def notes(self) -> list[str]:
        """What to know before the figures are believed."""
        known = ", ".join(self.used.intents)
        return [f"{n} records name the intent {label!r}, which is not in the table ({known})" for label, n in self._strange.items()]

    def _events(self, events: Iterable[Event], file: str) -> Iterator[Row]:
        sessions: OrderedDict[str, Session] = OrderedDict()
        new: Callable[[str, Routes], Session] = Session if self.routes else _Recorded
        last = 0
        for event in events:
            last = max(last, event.time + event.latency)
            session = sessions.get(event.session)
            if session is None:
                session = sessions[event.session] = new(event.session, self.used)
                if len(sessions) > SESSIONS_KEPT:
                    yield self._end(sessions.popitem(last=False)[1], file, last)
            else:
                sessions.move_to_end(event.session)
            if self.routes and isinstance(event, UnitClosed):
                continue
            self._count(event)
            for unit in session.observe(event):
                self._count(unit)
        for session in sessions.values():
            yield self._end(session, file, last)

    def _end(self, session: Session, file: str, last: int) -> Row:
        for unit in session.close_all(last):
            self._count(unit)
        return self._row(session, file)

    def _count(self, event: Event) -> None:
        self.rates.observe(event)
        self.utilisation.observe(event)
        if self._keep is not None:
            self._keep(event)

    def _row(self, session: Session, file: str) -> Row:
        self.total += session.tally
        return {"session": session.id, "file": file, **figures(session.tally, self.used)}

    def _spread(self, file: Path, processes: int) -> Iterator[Row]:
        """Each process reads the file and scores its sessions; rows come back through files, so that nobody holds them all."""
        with tempfile.TemporaryDirectory(prefix="agent-reach-") as folder:
            parts = [Path(folder) / str(number) for number in range(processes)]
            work = partial(_score_part, file, self.routes, processes)
            with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
                for other in pool.map(work, range(processes), parts):
                    self.total += other.total
                    self.utilisation += other.utilisation
                    self.rates += other.rates
            for part in parts:
                with part.open(encoding="utf-8") as rows:
                    yield from map(json.loads, rows)


def _score_part(file: Path, routes: Routes | None, of: int, number: int, out: Path) -> Scoring:
    scoring = Scoring(routes)
    with out.open("w", encoding="utf-8") as rows:
        for row in scoring.score(file, Share(number, of)):
            rows.write(json.dumps(row) + "\n")
    return scoring


class _Recorded(Session):
    """Units count as they closed when they were recorded; only those that had not closed are closed at the end."""

    def _close_overdue(self, _event: Event) -> list[UnitClosed]:
        return []

    def _reason_to_close(self, _unit: OpenUnit, _event: Turn) -> None:
        return None


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def figures(tally: Tally, routes: Routes) -> Row:
    """Counts and scores of a tally."""
    calls = tally.calls
    counts = {
        "calls": calls.total(),
        "ok": calls["ok"],
        "failed": calls["fail"],
        "empty": calls["empty_alias"],
        "uncounted": calls["cancelled"] + calls["interrupted"] + calls["handoff"],
    }
    return {**counts, **to_record(reach_score(tally, routes.weights, routes.thresholds))}
