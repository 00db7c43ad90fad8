"""Where a failed run broke: the actions to blame, ranked, with reasons (deterministic signals, no reference run).

The weights order kinds of evidence; they are ours: an effect that nobody wanted cannot be taken back, an obstacle that was never
digested explains what is missing, wasted steps seldom decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

from agent_reach.contracts.topology import Topology
from agent_reach.scores.depth import is_digested
from agent_reach.scores.effects import Effect
from agent_reach.scores.figures import Figures, effective_actions, met_obstacles
from agent_reach.scores.trace import Action, Trace, Workers

Cause = Literal[
    "unwanted effect", "forbidden", "obstacle", "empty result taken", "incomplete handoff", "not tried", "ended early", "not said",
    "unreachable check", "wasted step",
]  # fmt: skip

_WEIGHT: Final[dict[Cause, float]] = {
    "unwanted effect": 5.0,
    "forbidden": 5.0,
    "incomplete handoff": 4.0,
    "obstacle": 3.0,
    "empty result taken": 3.0,
    "ended early": 2.5,
    "not tried": 2.0,
    "unreachable check": 2.0,
    "not said": 1.0,
    "wasted step": 0.5,
}
_DECISIVE: Final = 2.0


class Break(NamedTuple):
    """One action to blame.

    Attributes:
        step: its number from 1; 0 when the run did nothing.
        agent, tool: who acted, with what.
        cause: the strongest reason's kind.
        weight: of all its reasons together.
        reasons: in words.
    """

    step: int
    agent: str
    tool: str
    cause: Cause
    weight: float
    reasons: tuple[str, ...]


def breaks(topology: Topology, trace: Trace, figures: Figures, workers: Workers | None = None) -> list[Break]:
    """The actions of a failed run to blame, the likeliest first; nothing for a run that passed."""
    if figures.gate:
        return []
    found: dict[int, list[tuple[Cause, str]]] = {}
    for step, cause, reason in _signals(topology, trace, figures, workers or Workers(topology)):
        found.setdefault(step, []).append((cause, reason))
    made = []
    for step, reasons in found.items():
        action = trace.actions[step - 1] if step else Action("message")
        strongest = max(reasons, key=lambda each: _WEIGHT[each[0]])[0]
        weight = sum(_WEIGHT[cause] for cause, _ in reasons)
        made.append(Break(step, action.agent, action.name, strongest, weight, tuple(reason for _, reason in reasons)))
    return sorted(made, key=lambda each: (-each.weight, each.step))


def first_break(ranked: Sequence[Break]) -> Break | None:
    """The first link that broke: the earliest action with decisive evidence, else the likeliest one."""
    decisive = [each for each in ranked if each.weight >= _DECISIVE]
    return min(decisive, key=lambda each: each.step) if decisive else next(iter(ranked), None)


def _signals(topology: Topology, trace: Trace, figures: Figures, workers: Workers) -> Iterator[tuple[int, Cause, str]]:
    """Step, cause and reason."""
    last = len(trace.actions)
    yield from _effects(topology, trace, figures)
    yield from _obstacles(topology, trace, workers)
    for step, action in enumerate(trace.actions, 1):
        if action.kind == "handoff" and action.missing:
            yield step, "incomplete handoff", f"handed over to {action.name} without {', '.join(action.missing)}"
        if action.status == "empty_alias" and not _tried_again(trace, step):
            yield step, "empty result taken", f"went on with the empty result of {action.name}"
    if trace.ended != "finished":
        yield last, "ended early", f"{trace.ended}{': ' + trace.reason if trace.reason else ''}"
    done, called = trace.done, {action.name for action in trace.actions}
    present = topology.present(done)
    for node in topology.must:
        if node.id in present and node.id not in done and all(id in done for id in node.depends_on):
            if node.id in trace.refused:
                yield last, "unreachable check", f"{node.id}: {trace.refused[node.id]}"
            elif called.isdisjoint(workers.tools[node.id]):
                yield last, "not tried", f"nothing was done for {node.id}"
    for output in topology.outputs:
        if output not in trace.said:
            yield last, "not said", f"the reply does not say {output!r}"
    for step, (action, good) in enumerate(zip(trace.actions, effective_actions(trace, workers), strict=True), 1):
        if not good:
            yield step, "wasted step", f"{action.name or 'a question'} was of no use to the task"


def _effects(topology: Topology, trace: Trace, figures: Figures) -> Iterator[tuple[int, Cause, str]]:
    unwanted = list(figures.unwanted)
    for step, action in enumerate(trace.actions, 1):
        text = " ".join(Effect(action.name, action.effect))
        if action.effect and text in unwanted:
            unwanted.remove(text)
            yield step, "unwanted effect", f"{action.name} changed something that nobody wanted: {action.effect}"
        for id in figures.forbidden:
            node = topology.by_id[id]
            if action.name in node.tools and node.verify is None and node.effect is None and action.status == "ok":
                yield step, "forbidden", f"{action.name} must not be called ({id})"
            elif id in action.done:
                yield step, "forbidden", f"{id} must not come true"


def _obstacles(topology: Topology, trace: Trace, workers: Workers) -> Iterator[tuple[int, Cause, str]]:
    starts: list[int] = []
    done: set[str] = set()
    for step, action in enumerate(trace.actions, 1):
        starts += [step] * sum(each.status != "cancelled" for each in action.tries)
        done.update(action.done)
    for met in met_obstacles(topology, trace, workers):
        reached = met.node in done | set(trace.late)
        if not reached or not is_digested(met, topology, done | set(trace.late)):
            action = trace.actions[starts[met.begin] - 1]
            fault = next((each.fault for each in action.tries if each.fault), "")
            what = f"injected {fault}" if fault else action.status
            then = f"nothing after {met.node} was reached" if reached else f"{met.node} was not reached"
            yield starts[met.begin], "obstacle", f"{met.tool}: {what}, tried {met.further} times more; {then}"


def _tried_again(trace: Trace, step: int) -> bool:
    """A later call of the same tool, or one that serves the same node, ended well."""
    action = trace.actions[step - 1]
    return any(later.name == action.name and later.status == "ok" for later in trace.actions[step:])
