"""How the steps of a unit's route were served: what reach rates are counted from (definitions, section 4).

Kept while the unit is open, at a constant cost an event; told once, in `UnitClosed.steps`, when it closes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, cast

from agent_reach.events import Decision, ToolCall

Reason = Literal[
    "", "never_offered", "misnamed", "arguments", "precondition", "earlier_step", "lesser_tool", "other_tool", "no_call"
]
"""Why the best tool of a step was not called, as far as the events of its unit tell; `""` when it was."""

_CALLED_KEPT = 20


class StepOutcome(NamedTuple):
    """One step of a unit that closed.

    Attributes:
        tool: the best tool of the step.
        turns: `1–2`, `3–4` or `5+`: of the session, when the step was first served, else when the unit began.
        candidate, precise, first: any of its tools, the best one, and the best one as the first choice was called.
        alternative: no tool of it was called, but another tool's result passed its outcome check.
        decided, decisions: decisions in which it was the first open step, and those of them with the best tool of an open one.
        ok, calls: calls of its tools, and those of them that ended `ok`.
        place, offered: position of the best tool among those offered, from 0, -1 when it was not there; how many were, 0 when
            that is not known.
        reason: why the best tool was not called.
    """

    tool: str
    turns: str
    candidate: bool = False
    precise: bool = False
    first: bool = False
    alternative: bool = False
    decided: int = 0
    decisions: int = 0
    ok: int = 0
    calls: int = 0
    place: int = -1
    offered: int = 0
    reason: Reason = ""

    def to_text(self) -> str:
        """Fields with spaces between them, the tool's name last."""
        flags = "".join(
            letter if flag else "-"
            for letter, flag in zip("cpfa", (self.candidate, self.precise, self.first, self.alternative), strict=True)
        )
        numbers = (self.decided, self.decisions, self.ok, self.calls, self.place, self.offered)
        return f"{self.turns} {flags} {' '.join(map(str, numbers))} {self.reason or '-'} {self.tool}"

    @classmethod
    def from_text(cls, text: str) -> StepOutcome:
        """The inverse of `to_text`.

        Raises:
            ValueError: it is no such text.
        """
        parts = text.split(" ", 9)
        if len(parts) != 10:
            raise ValueError(f"expected ten fields of a step, found {text!r:.80}")
        turns, flags, *numbers, reason, tool = parts
        decided, decisions, ok, calls, place, offered = map(int, numbers)
        told = cast(Reason, "" if reason == "-" else reason)
        c, p, f, a = (letter in flags for letter in "cpfa")
        return cls(tool, turns, c, p, f, a, decided, decisions, ok, calls, place, offered, told)


def turn_bucket(turn: int) -> str:
    """`1–2`, `3–4` or `5+`."""
    return "1–2" if turn <= 2 else "3–4" if turn <= 4 else "5+"


@dataclass(slots=True)
class _Step:
    """One step while its unit is open."""

    tools: tuple[str, ...]
    first_tool: str = ""
    served_in: int = 0
    precise: bool = False
    alternative: bool = False
    chosen: bool = False
    decided: int = 0
    decisions: int = 0
    ok: int = 0
    calls: int = 0
    place: int = -1
    offered: int = 0
    available: bool = False


@dataclass(slots=True)
class StepTracker:
    """The steps of an open unit.

    Attributes:
        steps: in the order of the route.
        begun: turn of the unit's first event.
        called: tools that were called, each once, in order.
        trouble: fail cause of the last call that counts, `empty` for an empty one, `""` when it was ok.
    """

    steps: list[_Step] = field(default_factory=list)
    begun: int = 0
    called: list[str] = field(default_factory=list)
    trouble: str = ""
    misnamed: bool = False

    @classmethod
    def of(cls, steps: Sequence[Sequence[str]], begun: int) -> StepTracker:
        return cls([_Step(tuple(tools)) for tools in steps], begun)

    def observe_call(self, call: ToolCall) -> None:
        """A call of the unit; cancelled, interrupted and handing-over ones do not count."""
        if call.status not in ("ok", "fail", "empty_alias"):
            return
        tool = call.tool
        if tool not in self.called and len(self.called) < _CALLED_KEPT:
            self.called.append(tool)
        self.trouble = "" if call.status == "ok" else call.fail_cause or "empty"
        self.misnamed |= call.fail_cause == "unknown_tool"
        self._see(call.offered, self.steps)
        mine = [step for step in self.steps if tool in step.tools]
        for step in self.steps:
            if not step.first_tool and (tool in step.tools or not mine):
                step.first_tool = tool
            step.alternative |= call.verdict == "alternative" and step.tools == tuple(call.expected)
        for step in mine:
            step.served_in = step.served_in or call.turn
            step.precise |= tool == step.tools[0]
            step.calls += 1
            step.ok += call.status == "ok"

    def observe_decision(self, decision: Decision) -> None:
        """A response of the model; it counts under the first step that was open when it was taken."""
        open_steps = [step for step in self.steps if not step.chosen]
        if not open_steps:
            return
        self._see(decision.offered, open_steps)
        open_steps[0].decisions += 1
        open_steps[0].decided += any(step.tools[0] in decision.chosen for step in open_steps)
        for step in open_steps:
            step.chosen = not set(step.tools).isdisjoint(decision.chosen)

    def _see(self, offered: Sequence[str], steps: Sequence[_Step]) -> None:
        if not offered:
            return
        for step in steps:
            if step.calls:
                continue
            step.offered = len(offered)
            step.place = offered.index(step.tools[0]) if step.tools[0] in offered else -1
            step.available = step.available or not set(step.tools).isdisjoint(offered)

    def outcomes(self) -> tuple[StepOutcome, ...]:
        """What became of each step."""
        return tuple(self._outcome(number) for number in range(len(self.steps)))

    def _outcome(self, number: int) -> StepOutcome:
        step = self.steps[number]
        return StepOutcome(
            tool=step.tools[0],
            turns=turn_bucket(step.served_in or self.begun),
            candidate=step.calls > 0,
            precise=step.precise,
            first=step.first_tool == step.tools[0],
            alternative=step.alternative and not step.calls,
            decided=step.decided,
            decisions=step.decisions,
            ok=step.ok,
            calls=step.calls,
            place=step.place,
            offered=step.offered,
            reason="" if step.precise else self._reason(number),
        )

    def _reason(self, number: int) -> Reason:
        step = self.steps[number]
        if step.calls:
            return "lesser_tool"
        if step.offered and not step.available:
            return "never_offered"
        if self.misnamed:
            return "misnamed"
        if self.trouble in ("bad_arguments", "unparseable"):
            return "arguments"
        if self.trouble == "precondition":
            return "precondition"
        if any(earlier.calls == 0 or earlier.ok == 0 for earlier in self.steps[:number]):
            return "earlier_step"
        listed = {tool for other in self.steps for tool in other.tools}
        return "other_tool" if set(self.called) - listed else "no_call"

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> StepTracker:
        """The inverse of `dataclasses.asdict`, also after JSON."""
        steps = [_Step(**{**step, "tools": tuple(step["tools"])}) for step in record["steps"]]
        return cls(**{**record, "steps": steps})
