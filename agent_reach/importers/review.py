"""Units of recordings that a person should look at: where a judge differs from the table, and a sample of the others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Final
from zlib import crc32

from agent_reach.contracts import Routes
from agent_reach.evaluation.review import Item, Why, is_doubtful
from agent_reach.events import Event, ToolCall, Turn, UnitClosed
from agent_reach.importers.messages import Message
from agent_reach.scores.steps import StepOutcome

History = Sequence[tuple[str, str]]
AskJudge = Callable[[History, str], str | None]

_SAID_KEPT: Final = 2_000


class Reviewer:
    """Fills the review queue.

    Args:
        routes: what was expected.
        judge: of (role, text) pairs and the intent gives a registered tool, `""` for none, None for no judgement.
        sample: share of plain misses, and of answers given while a need was not reached, that enter the queue as well.

    Attributes:
        items: the queue.
        doubtful: (session, unit) of those where judge and table differ: they are in no rate.
        unjudged: units for which the judge gave no answer.
    """

    def __init__(self, routes: Routes, judge: AskJudge | None = None, *, sample: float = 0.1) -> None:
        self._routes, self._judge, self._sample = routes, judge, sample
        self.items: list[Item] = []
        self.doubtful: set[tuple[str, int]] = set()
        self.unjudged = 0

    def look(self, session: str, messages: Sequence[Message], events: Sequence[Event]) -> None:
        """Look at the units of one conversation."""
        turns: dict[int, list[int]] = {}
        called: dict[int, dict[str, None]] = {}
        for event in events:
            if isinstance(event, Turn):
                turns.setdefault(event.unit, []).append(event.turn)
            elif isinstance(event, ToolCall):
                called.setdefault(event.unit, {})[event.tool] = None
        parts = list(_turns(messages))
        for event in events:
            if isinstance(event, UnitClosed) and event.steps:
                self._unit(session, event, parts, turns.get(event.unit, [1]), tuple(called.get(event.unit, ())))

    def _unit(
        self, session: str, unit: UnitClosed, parts: Sequence[Sequence[Message]], turns: Sequence[int], called: tuple[str, ...]
    ) -> None:
        first = turns[0]
        before = [message for part in parts[: first - 1] for message in part]
        request = [message for message in parts[first - 1] if message.role == "user"] if first <= len(parts) else []
        judged = None
        if self._judge is not None:
            judged = self._judge([(m.role, m.text) for m in [*before, *request] if m.role != "tool" and m.text], unit.intent)
            self.unjudged += judged is None
        why = self._why(session, unit, judged)
        if why is None:
            return
        if why == "ambiguous":
            self.doubtful.add((session, unit.unit))
        said = "\n".join(m.text for turn in turns for part in parts[turn - 1 : turn] for m in part if m.role == "user")
        expected = tuple(step.tools for step in self._routes.steps(unit.intent))
        self.items.append(Item(session, unit.unit, unit.intent, said[:_SAID_KEPT], expected, called, judged or "", why))

    def _why(self, session: str, unit: UnitClosed, judged: str | None) -> Why | None:
        if is_doubtful(self._routes, unit.intent, judged):
            return "ambiguous"
        if crc32(json.dumps([session, unit.unit]).encode()) % 1_000 >= 1_000 * self._sample:
            return None
        if unit.guessed:
            return "guessed"
        return None if all(StepOutcome.from_text(text).precise for text in unit.steps) else "miss"


def _turns(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """The messages of each turn: a user message and what follows; what the assistant says before the first is a turn, too."""
    part: list[Message] = []
    for message in messages:
        if message.role == "user" and any(m.role in ("user", "assistant") for m in part):
            yield part
            part = []
        part.append(message)
    if any(m.role in ("user", "assistant") for m in part):
        yield part
