"""How far a run got in a task's topology, how straight, and what it made of obstacles (definitions, section 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import comb
from typing import Final, NamedTuple

from agent_reach.contracts.topology import Topology

PRESETS: Final = {
    "default": (0.4, 0.3, 0.3),
    "customer_service": (0.3, 0.5, 0.2),
    "operations": (0.3, 0.2, 0.5),
    "research": (0.6, 0.2, 0.2),
}
"""Weights of reach depth, path purity and obstacle digestion."""

_HIGH_RISK: Final = 0.5
_ROUND: Final = 12


def reach_depth(
    topology: Topology, done: Iterable[str], *, weight: Callable[[int], float] = float, optional_bonus: float = 0.0
) -> float:
    """RD = Σ wᵢ dᵢ / Σ wᵢ mᵢ over levels, wᵢ = i by default.

    Args:
        topology: of the task.
        done: ids of the nodes that the run reached.
        weight: of a level.
        optional_bonus: times the share of optional nodes done, added, at most 1; 0 keeps agents comparable.
    """
    reached = set(done)
    present = topology.present(reached)
    levels = topology.levels
    full = sum(weight(levels[id]) for id in present)
    depth = sum(weight(levels[id]) for id in present if id in reached) / full if full else 0.0
    return min(1.0, depth + optional_bonus * (share_done(topology, reached, "optional") or 0.0))


def share_done(topology: Topology, done: Iterable[str], kind: str) -> float | None:
    """Share of the nodes of a type that were done, members of any-of groups left out; None without such nodes."""
    reached = set(done)
    nodes = [node.id for node in topology.nodes if node.type == kind and node.id not in topology.members]
    return sum(id in reached for id in nodes) / len(nodes) if nodes else None


def left_at(topology: Topology, done: Iterable[str]) -> int:
    """The lowest level of which a present must-node was not done: where the run left the topology; 0 when it did all."""
    reached = set(done)
    return min((topology.levels[id] for id in topology.present(reached) if id not in reached), default=0)


def path_purity(effective: int, actions: int) -> float | None:
    """PP = effective actions / actions; None when there was no action."""
    return effective / actions if actions else None


def obstacle_digestion(digested: int, obstacles: int) -> float | None:
    """OD = obstacles digested / obstacles; None when there was none."""
    return digested / obstacles if obstacles else None


class Composite(NamedTuple):
    """SC, and the parts that were undefined and left out."""

    value: float
    left_out: tuple[str, ...]


def composite(depth: float | None, purity: float | None, digestion: float | None, preset: str = "default") -> Composite:
    """SC: the weighted mean of the parts that are defined.

    Raises:
        KeyError: there is no such preset.
        ValueError: no part is defined.
    """
    parts = dict(zip(("depth", "purity", "digestion"), zip((depth, purity, digestion), PRESETS[preset], strict=True), strict=True))
    defined = [(value, weight) for value, weight in parts.values() if value is not None]
    if not defined:
        raise ValueError("composite: expected at least one defined part")
    total = sum(value * weight for value, weight in defined) / sum(weight for _, weight in defined)
    return Composite(round(total, _ROUND), tuple(name for name, (value, _) in parts.items() if value is None))


def high_risk(topology: Topology, runs: Sequence[Iterable[str]]) -> bool:
    """Under half of the must-nodes of the highest level were done over all runs."""
    top = [id for id, level in topology.levels.items() if level == topology.highest]
    done = sum(id in set(reached) for reached in runs for id in top)
    return done / (len(runs) * len(top)) < _HIGH_RISK if runs else False


def pass_power(passed: int, runs: int, k: int) -> float:
    """pass^k = C(passed, k) / C(runs, k): the chance that k runs drawn from these all pass (S. Yao and others, 2024).

    Raises:
        ValueError: there are fewer than k runs, or more passed than there are.
    """
    if not 0 <= passed <= runs or not 1 <= k <= runs:
        raise ValueError(f"pass^k: expected 1 <= k <= runs and 0 <= passed <= runs, found {passed} of {runs}, k = {k}")
    return comb(passed, k) / comb(runs, k)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a tool in order.

    Attributes:
        tool: that was tried.
        well: it was neither failed nor empty, malformed or slow.
        node: that was being worked on.
    """

    tool: str
    well: bool
    node: str


@dataclass(frozen=True, slots=True)
class Obstacle:
    """An episode of consecutive bad attempts of one tool.

    Attributes:
        tool, node: that failed, and the node being worked on.
        begin, end: its first and last attempt.
        further: attempts of the tool after the first bad one, until its node was done or the run ended.
    """

    tool: str
    node: str
    begin: int
    end: int
    further: int


_STUCK: Final = 2


def obstacles(attempts: Sequence[Attempt], done_at: Callable[[str], int | None]) -> list[Obstacle]:
    """The obstacles of a run.

    Args:
        attempts: in order.
        done_at: number of the attempt with which a node was done, None when it never was.
    """
    found: list[Obstacle] = []
    open_: dict[str, list[int]] = {}
    for number, attempt in enumerate([*attempts, None]):
        ended = [tool for tool in open_ if attempt is None or (attempt.tool == tool and attempt.well)]
        found += [_episode(attempts, open_.pop(tool), done_at) for tool in ended]
        if attempt is not None and not attempt.well:
            open_.setdefault(attempt.tool, []).append(number)
    return sorted(found, key=lambda obstacle: obstacle.begin)


def _episode(attempts: Sequence[Attempt], numbers: list[int], done_at: Callable[[str], int | None]) -> Obstacle:
    first = attempts[numbers[0]]
    done = done_at(first.node)
    until = len(attempts) if done is None else done + 1
    further = sum(attempt.tool == first.tool for attempt in attempts[numbers[0] + 1 : until])
    return Obstacle(first.tool, first.node, numbers[0], numbers[-1], further)


def is_digested(obstacle: Obstacle, topology: Topology, done: Iterable[str]) -> bool:
    """At most two further attempts, and a nearest must-descendant of the node (itself where none follows) was done in the end."""
    reached = set(done)
    following = nearest_must(topology, obstacle.node) or [obstacle.node]
    return obstacle.further <= _STUCK and any(id in reached for id in following)


def nearest_must(topology: Topology, id: str) -> list[str]:
    """The must-nodes below a node with no must-node between."""
    found: set[str] = set()
    waiting = list(topology.below[id])
    while waiting:
        current = waiting.pop()
        if current in topology.levels:
            found.add(current)
        else:
            waiting += topology.below[current]
    return sorted(found)
