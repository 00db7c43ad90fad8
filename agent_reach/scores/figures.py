"""The figures of one run over its task's topology (definitions, section 5)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agent_reach.contracts.topology import Node, Topology
from agent_reach.scores.depth import (
    Attempt,
    Obstacle,
    composite,
    is_digested,
    left_at,
    obstacle_digestion,
    obstacles,
    path_purity,
    reach_depth,
    share_done,
)
from agent_reach.scores.effects import Effect, Effects, effect
from agent_reach.scores.trace import Action, Trace, Workers


@dataclass(frozen=True, slots=True)
class Figures:
    """What a run came to.

    Attributes:
        depth: RD; `completion` is the plain share of must-nodes beside it.
        left_at: level at which the run left the topology, 0 when it did not.
        optional, fallback: shares done; None without such nodes.
        actions, effective: of path purity; `purity` is None without an action.
        obstacles, digested: episodes; `digestion` is None without one. `detours` were gone round, `stuck` were tried more than
            twice again.
        composite, left_out: SC, and its undefined parts.
        effects: made against wanted.
        gate: every must-node done, every wanted effect made, none else, nothing forbidden, every output said.
        gate_score: 1 for a run that passes, else below it by what is missing or unwanted: ranks runs.
        unwanted, forbidden: effects and nodes that should not be, in words.
        handoffs: of collaboration reach.
        per_thousand: SC per 1,000 tokens; None without tokens. `tokens_per_node` and `price_per_node` are per must-node done.
    """

    depth: float
    completion: float
    left_at: int
    optional: float | None
    fallback: float | None
    actions: int
    effective: int
    purity: float | None
    obstacles: int
    digested: int
    detours: int
    stuck: int
    digestion: float | None
    composite: float
    left_out: tuple[str, ...]
    effects: Effects
    gate: bool
    gate_score: float
    unwanted: tuple[str, ...]
    forbidden: tuple[str, ...]
    handoffs: Collaboration
    per_thousand: float | None
    tokens_per_node: float | None
    price_per_node: float | None


class Collaboration(NamedTuple):
    """Collaboration reach.

    Attributes:
        handoffs: that were made.
        complete: lacked nothing.
        taken_up: after which the receiver did something effective.
        delay: mean seconds from a handoff to the receiver's first action; None when no receiver acted.
    """

    handoffs: int
    complete: int
    taken_up: int
    delay: float | None


def figures(
    topology: Topology, trace: Trace, workers: Workers | None = None, *, preset: str = "default", optional_bonus: float = 0.0
) -> Figures:
    """The figures of a run.

    Args:
        topology: of its task.
        trace: of the run.
        workers: of the topology and a route table; by default without alternates.
        preset: of the composite's weights.
        optional_bonus: of reach depth.

    Raises:
        KeyError: there is no such preset.
    """
    workers = workers or Workers(topology)
    done, present = trace.done, topology.present(trace.done)
    depth = reach_depth(topology, done, optional_bonus=optional_bonus)
    effective = effective_actions(trace, workers)
    met = met_obstacles(topology, trace, workers)
    digested = [obstacle for obstacle in met if is_digested(obstacle, topology, done)]
    purity = path_purity(sum(effective), len(trace.actions))
    digestion = obstacle_digestion(len(digested), len(met))
    whole = composite(depth, purity, digestion, preset)
    judged, unwanted, forbidden = judge_effects(topology, trace, workers)
    must_done = len(present & done)
    gate = judged.gate and must_done == len(present)
    return Figures(
        depth=depth,
        completion=must_done / len(present) if present else 0.0,
        left_at=left_at(topology, done),
        optional=share_done(topology, done, "optional"),
        fallback=share_done(topology, done, "fallback"),
        actions=len(trace.actions),
        effective=sum(effective),
        purity=purity,
        obstacles=len(met),
        digested=len(digested),
        detours=sum(obstacle.further == 0 for obstacle in digested),
        stuck=sum(obstacle.further > 2 for obstacle in met),
        digestion=digestion,
        composite=whole.value,
        left_out=whole.left_out,
        effects=judged,
        gate=gate,
        gate_score=_gate_score(judged, gate, must_done / len(present) if present else 0.0),
        unwanted=unwanted,
        forbidden=forbidden,
        handoffs=_collaboration(trace.actions, effective),
        per_thousand=whole.value * 1_000 / trace.tokens if trace.tokens else None,
        tokens_per_node=trace.tokens / must_done if trace.tokens and must_done else None,
        price_per_node=trace.price / must_done if trace.price and must_done else None,
    )


def _gate_score(judged: Effects, gate: bool, completion: float) -> float:
    if gate:
        return 1.0
    return 0.9 * completion if judged.gate else judged.score


# purity -------------------------------------------------------------------------------------------------------------------


def effective_actions(trace: Trace, workers: Workers) -> list[bool]:
    """Of each action, whether it is one that the task needs."""
    answered: set[tuple[str, str]] = set()
    done: set[str] = set()
    found = []
    for action in trace.actions:
        if action.kind == "call":
            key = (action.name, action.fingerprint)
            found.append(workers.serves(action.name) and not (action.read and key in answered))
            if not action.read and action.status == "ok":
                answered.clear()
            elif action.status == "ok":
                answered.add(key)
        elif action.kind == "handoff":
            found.append(action.name in workers.by_receiver)
        else:
            found.append(any(id not in done for id in action.asks))
        done.update(action.done)
    return found


# obstacles ----------------------------------------------------------------------------------------------------------------


def met_obstacles(topology: Topology, trace: Trace, workers: Workers) -> list[Obstacle]:
    """Episodes of consecutive failed, empty, malformed or slow attempts of one tool, seen or injected."""
    attempts: list[Attempt] = []
    done_at: dict[str, int] = {}
    done: set[str] = set()
    for action in trace.actions:
        node = worked_on(topology, workers, action.name, done) if action.kind == "call" else ""
        attempts += [Attempt(each.tool, each.well, node) for each in action.tries if each.status != "cancelled"]
        done_at.update((id, len(attempts) - 1) for id in action.done if id not in done_at)
        done.update(action.done)
    for id in trace.late:
        done_at.setdefault(id, len(attempts) - 1)
    return obstacles(attempts, done_at.get)


def worked_on(topology: Topology, workers: Workers, tool: str, done: set[str]) -> str:
    """The node that a call works on: the first undone one that lists its tool, else the first ready must-node."""
    for node in workers.by_tool.get(tool, ()):
        if node.type != "must_not" and node.id not in done:
            return node.id
    must = topology.must
    ready = (node.id for node in must if node.id not in done and all(id in done for id in node.depends_on))
    return next(ready, next((node.id for node in must if node.id not in done), must[-1].id))


# effects ------------------------------------------------------------------------------------------------------------------


def wanted_effect(node: Node, tool: str, made: str) -> bool:
    """The effect is the one that the node wants of this tool; `"*"` in it stands for any value.

    Args:
        node: with an `effect`.
        tool: that made it.
        made: its canonical arguments.
    """
    if node.effect is None or (node.tools and tool not in node.tools):
        return False
    anything = [key for key, value in node.effect.items() if value == "*"]
    if not anything:
        return effect(tool, node.effect).arguments == made
    arguments = json.loads(made)
    rest = {key: value for key, value in node.effect.items() if key not in anything}
    named = {key: value for key, value in arguments.items() if key not in anything}
    return all(key in arguments for key in anything) and effect(tool, rest) == effect(tool, named)


def judge_effects(topology: Topology, trace: Trace, workers: Workers) -> tuple[Effects, tuple[str, ...], tuple[str, ...]]:
    """Effects made against wanted, and in words those that nobody wanted and what must not have been.

    An effect of a tool that a node without `effect` lists is allowed once a set of arguments.
    """
    done = trace.done
    wanting = [node for node in topology.nodes if node.effect is not None and node.type != "must_not"]
    present = topology.present(done)
    should = [node for node in topology.must if node.id in present and _wants_effect(topology, node)]
    made = [Effect(action.name, action.effect) for action in trace.actions if action.effect]
    unwanted, matched, allowed = [], set[str](), set[Effect]()
    for each in made:
        node = next((n for n in wanting if n.id not in matched and wanted_effect(n, *each)), None)
        if node is not None:
            matched.add(node.id)
        elif each not in allowed and any(n.effect is None and n.type != "must_not" for n in workers.by_tool.get(each.tool, ())):
            allowed.add(each)
        else:
            unwanted.append(each)
    hit = sum(bool(matched & {node.id, *node.any_of}) for node in should)
    forbidden = _forbidden(topology, trace, made)
    judged = Effects(
        made=hit + len(unwanted),
        wanted=len(should),
        matched=hit,
        forbidden=len(forbidden),
        unsaid=sum(output not in trace.said for output in topology.outputs),
    )
    return judged, tuple(f"{each.tool} {each.arguments}" for each in unwanted), forbidden


def _wants_effect(topology: Topology, node: Node) -> bool:
    if node.any_of:
        return all(topology.by_id[id].effect is not None for id in node.any_of)
    return node.effect is not None


def _forbidden(topology: Topology, trace: Trace, made: Sequence[Effect]) -> tuple[str, ...]:
    """Ids of must_not nodes that came true, each as often as it did."""
    found = []
    for node in topology.nodes:
        if node.type != "must_not":
            continue
        if node.effect is not None:
            found += [node.id for each in made if wanted_effect(node, *each)]
        elif node.verify is not None:
            found += [node.id] if node.id in trace.done else []
        else:
            found += [node.id for action in trace.actions if action.name in node.tools and action.status == "ok"]
    return tuple(found)


# collaboration ------------------------------------------------------------------------------------------------------------


def _collaboration(actions: Sequence[Action], effective: Sequence[bool]) -> Collaboration:
    made = [at for at, action in enumerate(actions) if action.kind == "handoff"]
    delays, taken_up = [], 0
    for at in made:
        later = [i for i in range(at + 1, len(actions)) if actions[i].agent == actions[at].name]
        taken_up += any(effective[i] for i in later)
        if later:
            delays.append(max(0, actions[later[0]].time - actions[at].time) / 1e9)
    complete = sum(not actions[at].missing for at in made)
    return Collaboration(len(made), complete, taken_up, sum(delays) / len(delays) if delays else None)


def to_record(found: Figures) -> dict[str, Any]:
    """As JSON-ready values."""
    effects = found.effects
    record = {name: getattr(found, name) for name in found.__slots__ if name not in ("effects", "handoffs")}
    record["effects"] = {
        "made": effects.made, "wanted": effects.wanted, "matched": effects.matched, "forbidden": effects.forbidden,
        "unsaid": effects.unsaid, "precision": effects.precision, "recall": effects.recall, "f1": effects.f1,
    }  # fmt: skip
    record["handoffs"] = found.handoffs._asdict()
    return record
