"""An open task unit: which needs it has, and how they stand (definitions, sections 0 and 2).

Works the same on a live stream and on a recorded one, at a constant cost an event.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from agent_reach.contracts import Routes
from agent_reach.events import Decision, Event, Handoff, Retrieval, Status, ToolCall, Turn, UnitClosed
from agent_reach.scores.steps import StepTracker
from agent_reach.scores.tally import UnitCounts

Reason = Literal["reached", "intent", "turn", "session"]


@dataclass(slots=True)
class Need:
    """One need.

    Attributes:
        last: status of the last call that counts, `""` before one came.
        first: status of the first attempt of the first such call.
        turn, ended: turn of the last call, and when it ended.
        person: a person took the last call over.
        cancelled: a call that does not count served it.
        agent: made the last call.
    """

    last: Status | Literal[""] = ""
    first: Status | Literal[""] = ""
    turn: int = 0
    ended: int = 0
    person: bool = False
    cancelled: bool = False
    agent: str = ""


@dataclass(slots=True)
class OpenUnit:
    """A task unit that has not closed.

    Attributes:
        number, intent: of the unit.
        routed: its needs are the steps of a route; else every call is a need of its own.
        needs: by step index, or in order of appearance.
        waiting: without a route: indexes of the needs of a tool (or of its declared alternates) that are not reached, oldest first.
        answered: number of the turn of the last final answer, 0 before the first.
        asked: the last reply only asked the user.
        route: how the steps of the route are served; None without one.
    """

    number: int
    intent: str
    agent: str = ""
    routed: bool = False
    needs: list[Need] = field(default_factory=list)
    waiting: dict[str, list[int]] = field(default_factory=dict)
    answered: int = 0
    asked: bool = False
    abandoned_turn: int = 0
    last_turn: int = 0
    broken_link: bool = False
    incomplete_handoffs: int = 0
    trace: str = ""
    parent: str = ""
    route: StepTracker | None = None

    @classmethod
    def begin(cls, event: Event, routes: Routes) -> OpenUnit:
        """The unit that the event is the first of."""
        steps = routes.steps(event.intent)
        needs = [Need() for _ in steps]
        route = StepTracker.of([step.tools for step in steps], event.turn) if steps else None
        return cls(number=event.unit, intent=event.intent, agent=event.agent, routed=bool(steps), needs=needs, route=route)

    def observe(self, event: Event, routes: Routes) -> None:
        """Take in one event of this unit."""
        self.last_turn = max(self.last_turn, event.turn)
        self.agent = self.agent or event.agent
        if isinstance(event, ToolCall):
            if self.route is not None:
                self.route.observe_call(event)
            if event.status in ("ok", "fail", "empty_alias"):
                self._serve(event, routes)
            elif event.status in ("cancelled", "interrupted"):
                self._touch(event, routes)
        elif isinstance(event, Retrieval):
            self.broken_link |= bool(event.ideal) and (event.relevant < event.ideal or event.admitted < event.retrieved)
        elif isinstance(event, Handoff):
            self.incomplete_handoffs += not event.complete
        elif isinstance(event, Turn):
            self._end_turn(event)
        elif isinstance(event, Decision) and self.route is not None:
            self.route.observe_decision(event)

    def _end_turn(self, event: Turn) -> None:
        self.asked = event.outcome == "asked"
        if event.outcome == "answered":
            self.answered = event.turn
        self.abandoned_turn = event.turn if event.outcome == "abandoned" else 0
        self.trace, self.parent = event.trace, event.id

    def _serve(self, call: ToolCall, routes: Routes) -> None:
        need = self._need(call, routes)
        if need is None:
            return
        need.first = need.first or call.first_status
        need.last, need.turn, need.ended = call.status, call.turn, call.time + call.latency
        need.person = call.compensation == "human"
        need.agent = call.agent

    def _touch(self, call: ToolCall, routes: Routes) -> None:
        """A call that does not count opens a need, which counts only when a final answer follows."""
        need = self._need(call, routes)
        if need is not None:
            need.cancelled = True

    def _need(self, call: ToolCall, routes: Routes) -> Need | None:
        return self._step(call.tool, routes) if self.routed else self._own_need(call, routes)

    def _own_need(self, call: ToolCall, routes: Routes) -> Need:
        """The oldest need of the tool that was tried in vain before this call began, else a new one."""
        waiting = self.waiting.setdefault(routes.groups.get(call.tool, call.tool), [])
        index = next((i for i in waiting if self.needs[i].ended <= call.time), None)
        if index is None:
            index = len(self.needs)
            self.needs.append(Need())
            waiting.append(index)
        if call.status == "ok":
            waiting.remove(index)
        return self.needs[index]

    def _step(self, tool: str, routes: Routes) -> Need | None:
        """The first step that lists the tool and is not reached, else the first that lists it, else None."""
        listed = [i for i, step in enumerate(routes.steps(self.intent)[: len(self.needs)]) if tool in step.tools]
        open_ = [i for i in listed if self.needs[i].last != "ok"]
        chosen = open_ or listed
        return self.needs[chosen[0]] if chosen else None

    @property
    def all_reached(self) -> bool:
        return all(need.last == "ok" for need in self.needs)

    def settled(self) -> UnitCounts:
        """Needs that have settled so far; what is open is left out."""
        return self._count([need for need in self.needs if need.last], closing=False)

    def _count(self, needs: list[Need], *, closing: bool) -> UnitCounts:
        taken = sum(
            need.last == "empty_alias" and not need.person and (closing or 0 < need.turn <= self.answered) for need in needs
        )
        return UnitCounts(len(needs), sum(n.last == "ok" for n in needs), sum(n.first == "ok" for n in needs), taken)

    def close(self, reason: Reason, *, time: int, session: str, route_version: str) -> UnitClosed:
        """The event that adds this unit to every tally."""
        final = bool(self.answered) and not self.asked and not self.abandoned_turn
        counted = [need for need in self.needs if final or need.last or not need.cancelled]
        counts = self._count(counted, closing=True)
        guessed = final and any(need.last != "ok" and not self._found_elsewhere(i) for i, need in enumerate(self.needs))
        abnormal = counts.reached < counts.needs or bool(counts.taken) or self.broken_link or bool(self.incomplete_handoffs)
        outcomes = self.route.outcomes() if self.route is not None else ()
        return UnitClosed(
            session=session,
            time=time,
            turn=self.last_turn,
            unit=self.number,
            agent=self._responsible(),
            intent=self.intent,
            id=f"{self.parent}.u{self.number}",
            trace=self.trace,
            parent=self.parent,
            needs=counts.needs,
            reached=counts.reached,
            first_reached=counts.first_reached,
            taken=counts.taken,
            answered=final,
            guessed=guessed,
            degraded=self.incomplete_handoffs if final else 0,
            abnormal=abnormal,
            reason=reason,
            steps=tuple(outcome.to_text() for outcome in outcomes),
            called=() if self.route is None or all(outcome.precise for outcome in outcomes) else tuple(self.route.called),
            route_version=route_version,
        )

    def _found_elsewhere(self, number: int) -> bool:
        """An alternative path served the step."""
        return self.route is not None and self.route.steps[number].alternative

    def _responsible(self) -> str:
        """Who made the calls: of the first need that was not reached, else of the last one that was; else who opened the unit."""
        served = [need for need in self.needs if need.agent]
        short = next((need.agent for need in served if need.last != "ok"), "")
        return short or max(served, key=lambda need: need.ended, default=Need()).agent or self.agent

    def to_record(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return asdict(self)

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> OpenUnit:
        """The inverse of `to_record`."""
        route = StepTracker.from_record(record["route"]) if record.get("route") else None
        return cls(**{**record, "needs": [Need(**need) for need in record["needs"]], "route": route})
