"""Whether a turn obeyed the instructions whose condition it met."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agent_reach.checks.replies import asks_user
from agent_reach.contracts.instructions import Atom, Then, When

Verdict = Literal["obeyed", "disobeyed", "over_obeyed"]

_ITEM = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+\S")
_SENTENCE_END = re.compile(r"[.!?。！？](?=\s|$)|[。！？]")


@dataclass(frozen=True, slots=True)
class Act:
    """Something that the assistant did: called a tool, or said something."""

    tool: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One turn, as far as instructions look at it.

    Attributes:
        user: the user's message.
        earlier: what the user said before in this conversation.
        state: what is known besides, by name.
        intent: of the turn.
        acts: what the assistant did, in order.
        earlier_acts: what it did in the turns before.
    """

    user: str
    intent: str
    acts: tuple[Act, ...]
    earlier: str = ""
    state: Mapping[str, Any] = field(default_factory=dict)
    earlier_acts: tuple[Act, ...] = ()

    @property
    def calls(self) -> tuple[str, ...]:
        return tuple(act.tool for act in self.acts if act.tool)

    @property
    def replies(self) -> tuple[str, ...]:
        return tuple(act.text for act in self.acts if act.text)


def verdicts(atoms: Iterable[Atom], turn: TurnRecord) -> tuple[dict[str, Verdict], dict[str, Exception]]:
    """The verdict on each atom whose condition was met, by id, and what `check` functions raised: those are not counted."""
    found: dict[str, Verdict] = {}
    raised: dict[str, Exception] = {}
    for atom in atoms:
        try:
            verdict = verdict_of(atom, turn)
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything
            raised[atom.id] = error
            continue
        if verdict is not None:
            found[atom.id] = verdict
    return found, raised


def verdict_of(atom: Atom, turn: TurnRecord) -> Verdict | None:
    """Whether the turn obeyed the atom; None when its condition was not met.

    Raises:
        Exception: whatever a `check` function raises.
    """
    then = atom.then
    if not _holds(atom.when, turn, f"{turn.earlier}\n{turn.user}" if then.before else turn.user):
        return None
    acts = turn.acts
    if then.before:
        place = next((i for i, act in enumerate(acts) if act.tool == then.before), None)
        if place is None:
            return None
        earlier = _since_last(turn.earlier_acts, then.before)
        # What was asked in this turn the user has not answered yet.
        acts = earlier if then.ask else (*earlier, *acts[:place])
    if then.ask:
        return _asked(then, turn, acts)
    return "obeyed" if _obeyed(then, turn, acts) else "disobeyed"


def _since_last(acts: tuple[Act, ...], tool: str) -> tuple[Act, ...]:
    """The acts after the last call of a tool: what came before belongs to that call."""
    last = max((i for i, act in enumerate(acts) if act.tool == tool), default=-1)
    return acts[last + 1 :]


def _holds(when: When, turn: TurnRecord, said: str) -> bool:
    if when.user is not None and not _found(when.user, said):
        return False
    if when.intent and when.intent != turn.intent:
        return False
    if any(turn.state.get(name) != value for name, value in when.state.items()):
        return False
    return not when.called or when.called in turn.calls


def _asked(then: Then, turn: TurnRecord, acts: Sequence[Act]) -> Verdict | None:
    """What was given needs no asking; asking for it all the same is a finding of its own."""
    assert then.ask is not None
    asked = any(_found(then.ask, act.text) and asks_user(act.text) for act in acts)
    if then.given is not None and _found(then.given, f"{turn.earlier}\n{turn.user}"):
        return "over_obeyed" if asked else None
    return "obeyed" if asked else "disobeyed"


def _obeyed(then: Then, turn: TurnRecord, acts: Sequence[Act]) -> bool:
    if then.call:
        return any(act.tool == then.call for act in acts)
    if then.not_call:
        return then.not_call not in turn.calls
    if then.say:
        return any(_found(then.say, act.text) for act in acts if act.text)
    if then.not_say:
        return not any(_found(then.not_say, reply) for reply in turn.replies)
    if then.order:
        return _in_order(then.order, turn.calls)
    if then.check is not None:
        return bool(then.check(turn.user, turn.calls, turn.replies))
    reply = turn.replies[-1] if turn.replies else ""
    if then.max_chars is not None:
        return len(reply) <= then.max_chars
    return _has_format(then.format or "", reply)


def _in_order(order: Sequence[str], calls: Sequence[str]) -> bool:
    """The first calls of the tools come in this order, as far as they come at all."""
    firsts = [calls.index(tool) for tool in order if tool in calls]
    return firsts == sorted(firsts)


def _has_format(name: str, reply: str) -> bool:
    if name == "json":
        try:
            json.loads(reply)
        except ValueError:
            return False
        return True
    if name == "list":
        lines = [line for line in reply.splitlines() if line.strip()]
        return bool(lines) and all(_ITEM.match(line) for line in lines)
    return len(_SENTENCE_END.findall(reply.strip())) <= 1


def _found(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None
