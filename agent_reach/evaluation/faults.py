"""Faults that an evaluation injects into the bodies of tools: which, where, and what they do (definitions, section 5)."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from random import Random
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import Field

from agent_reach.contracts.policy import Declaration
from agent_reach.contracts.topology import Topology
from agent_reach.scores.trace import Workers

Kind = Literal["latency", "error", "malformed", "empty", "rate_limit", "wrong"]
Stage = Literal["early", "middle", "late"]
KINDS: Final[tuple[Kind, ...]] = ("latency", "error", "malformed", "empty", "rate_limit", "wrong")
STAGES: Final[tuple[Stage, ...]] = ("early", "middle", "late")

UNCHANGED: Final = object()


class Fault(NamedTuple):
    """One fault of one run.

    Attributes:
        kind: what happens.
        node: that the hit call works on: the first call of one of its tools once all that it depends on is done.
        stage: of the node.
    """

    kind: Kind
    node: str
    stage: Stage

    @property
    def label(self) -> str:
        """As it stands at the execution that it hit."""
        return f"{self.kind}@{self.stage}"

    def __str__(self) -> str:
        return f"{self.kind} on {self.node} @{self.stage}"


class Faults(Declaration):
    """Which faults to inject.

    Attributes:
        kinds: to choose from.
        stages: one fault each.
        nodes: to hit; by default those at the end of critical edges: edges on every path to a must-node of the highest level.
        latency_s: of `latency`.
        retry_after_s: that `rate_limit` asks to wait.
        times: executions that a fault hits.
        seed: of the choice; with the task and the number of the run it decides everything.
    """

    kinds: tuple[Kind, ...] = KINDS
    stages: tuple[Stage, ...] = STAGES
    nodes: tuple[str, ...] = ()
    latency_s: Annotated[float, Field(ge=0)] = 3.0
    retry_after_s: Annotated[float, Field(ge=0)] = 1.0
    times: Annotated[int, Field(ge=1)] = 1
    seed: int = 0

    def plan(self, topology: Topology, workers: Workers, run: int) -> tuple[Fault, ...]:
        """The faults of one run: at most one a stage, none where no tool works on a node of it."""
        dice = Random(f"{self.seed}:{topology.name}:{run}")
        found = []
        for stage in self.stages:
            nodes = self._nodes(topology, workers, stage)
            if nodes and self.kinds:
                found.append(Fault(dice.choice(self.kinds), dice.choice(nodes), stage))
        return tuple(found)

    def _nodes(self, topology: Topology, workers: Workers, stage: Stage) -> list[str]:
        stages = stages_of(topology)
        reached = {id for id, own in stages.items() if own == stage and workers.tools[id]}
        if self.nodes:
            return [id for id in self.nodes if id in reached]
        critical = [id for _, id in critical_edges(topology) if id in reached]
        return sorted(set(critical)) or sorted(reached & set(topology.levels))


def stages_of(topology: Topology) -> dict[str, Stage]:
    """The third of the task that a node belongs to, by the level that it has or would have."""
    depth: dict[str, int] = {}
    for id in topology.order:
        depth[id] = (id in topology.levels) + max((depth[before] for before in topology.by_id[id].depends_on), default=0)
    top = topology.highest
    return {id: STAGES[min(2, max(0, level - 1) * 3 // top)] for id, level in depth.items()}


def critical_edges(topology: Topology) -> list[tuple[str, str]]:
    """Edges on every path from the start to some must-node of the highest level; the start is `""`."""
    edges = [(before, node.id) for node in topology.nodes for before in node.depends_on or ("",)]
    paths: dict[str, int] = {"": 1}
    for id in topology.order:
        paths[id] = sum(paths[before] for before in topology.by_id[id].depends_on or ("",))
    found: set[tuple[str, str]] = set()
    for target in (id for id, level in topology.levels.items() if level == topology.highest):
        onward = _paths_to(topology, target)
        found |= {(a, b) for a, b in edges if onward.get(b) and paths[a] * onward[b] == paths[target]}
    return [edge for edge in edges if edge in found]


def _paths_to(topology: Topology, target: str) -> dict[str, int]:
    """Number of paths from each node to the target."""
    onward = {target: 1}
    for id in reversed(topology.order):
        for before in topology.by_id[id].depends_on:
            onward[before] = onward.get(before, 0) + onward.get(id, 0)
    return onward


# what they do -------------------------------------------------------------------------------------------------------------


_DIGIT: Final = re.compile(r"[0-9]")


class InjectedError(Exception):
    """What a tool raises under `error` and `rate_limit`.

    Attributes:
        status_code: 503 or 429.
        retry_after: seconds; None for an error.
    """

    def __init__(self, status_code: int, retry_after: float | None = None) -> None:
        self.status_code, self.retry_after = status_code, retry_after
        super().__init__(f"{status_code} {'Too Many Requests' if status_code == 429 else 'Service Unavailable'} (injected fault)")


def spoiled(kind: Kind, value: Any, dice: Random) -> Any:
    """The result as the fault leaves it; `UNCHANGED` where it has nothing to spoil."""
    return _SPOIL[kind](value, dice) if kind in _SPOIL else UNCHANGED


def _empty(value: Any, _dice: Random) -> Any:
    if value is None or value in ("", [], {}, ()):
        return UNCHANGED
    if isinstance(value, Mapping):
        return {key: inner if key in _ENVELOPE else _nothing_like(inner) for key, inner in value.items()}
    if isinstance(value, str) and (data := _json(value)) is not None:
        emptied = _empty(data, _dice)
        return UNCHANGED if emptied is UNCHANGED else json.dumps(emptied, ensure_ascii=False)
    return _nothing_like(value)


def _nothing_like(value: Any) -> Any:
    return type(value)() if isinstance(value, list | dict | tuple | str) else None


_ENVELOPE: Final = frozenset(("code", "status_code", "success", "ok", "message", "msg"))


def _malformed(value: Any, _dice: Random) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if _json(text) is None:
        return UNCHANGED
    return f"<html><body>502 Bad Gateway</body></html> {text[: len(text) // 2]}"


def _wrong(value: Any, dice: Random) -> Any:
    if isinstance(value, str):
        data = _json(value)
        if data is not None:
            changed = _wrong(data, dice)
            return UNCHANGED if changed is UNCHANGED else json.dumps(changed, ensure_ascii=False)
    root = {"": copy.deepcopy(value)}
    leaves = list(_leaves(root))
    if not leaves:
        return UNCHANGED
    put, leaf = dice.choice(leaves)
    put(_other(leaf, dice))
    return root[""]


def _leaves(holder: Any) -> Iterator[tuple[Callable[[Any], None], Any]]:
    """Numbers, and texts with a digit, each with what puts another one in its place."""
    items = list(holder.items()) if isinstance(holder, dict) else list(enumerate(holder))
    for key, value in items:
        if isinstance(value, dict | list):
            yield from _leaves(value)
        elif not isinstance(value, bool) and (isinstance(value, int | float) or (isinstance(value, str) and _DIGIT.search(value))):
            yield partial(holder.__setitem__, key), value


def _other(value: Any, dice: Random) -> Any:
    """A value of the same shape: a number within a tenth, a text with one digit changed."""
    if isinstance(value, int):
        return value + dice.choice((-1, 1)) * max(1, abs(value) // 10)
    if isinstance(value, float):
        near = round(value * dice.choice((0.9, 1.1)), 2)
        return near if near != value else value + 1.0
    at = dice.choice([match.start() for match in _DIGIT.finditer(value)])
    return value[:at] + dice.choice([d for d in "123456789" if d != value[at]]) + value[at + 1 :]


def _json(text: str) -> Any:
    """What a text of a JSON object or list says, else None."""
    if text[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


_SPOIL: Final[Mapping[Kind, Callable[[Any, Random], Any]]] = {"empty": _empty, "malformed": _malformed, "wrong": _wrong}


def faults_of(value: Faults | bool | Mapping[str, Any] | Sequence[Kind] | None) -> Faults | None:
    """What a user gave: `True` for all, kinds, a mapping, or nothing.

    Raises:
        ValidationError: it is none of these.
    """
    if value is None or value is False:
        return None
    if value is True:
        return Faults()
    if isinstance(value, Faults):
        return value
    return Faults.model_validate(value if isinstance(value, Mapping) else {"kinds": tuple(value)})
