"""The topology of a task: what has to be reached, in which order, and what must not happen (definitions, section 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from agent_reach.contracts.handoffs import as_schema
from agent_reach.contracts.load import contract_error, contract_error_at, read_yaml
from agent_reach.contracts.policy import Declaration, Version

NodeType = Literal["must", "optional", "fallback", "must_not"]
Verify = Callable[[Any, Any], bool]

_SHARES: Final[Mapping[str, tuple[float, float]]] = {"must": (0.6, 0.7), "optional": (0.2, 0.3), "fallback": (0.1, 0.2)}
_FEWEST, _MOST = 10, 15


class Node(Declaration):
    """One thing to reach.

    Attributes:
        id: its name.
        type: `must`; `optional`; `fallback`, which never stands in for a must-node; `must_not`.
        depends_on: nodes that come before it.
        tools: that work on it; the alternates of the route table count as well.
        receivers: agents that may be handed the task for it.
        any_of: nodes of which any one makes this one done; they are part of it and have no level of their own.
        branch: `choice/way`: of the ways of one choice a run takes one; must-nodes on the others leave the counts.
        verify: of (state, results) says whether it is done: it looks at effects, never at which tool did it. A function, or a JSON
            Schema that the result of one of its tools satisfies. Without one, a call of its tools that ended `ok` does.
        effect: arguments of the side effect that it wants; makes it an effect.
    """

    id: str = Field(min_length=1)
    type: NodeType = "must"
    depends_on: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    receivers: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    branch: str = Field(default="", pattern=r"^([^/]+/[^/]+)?$")
    verify: Verify | dict[str, Any] | None = None
    effect: dict[str, Any] | None = None

    @field_validator("verify", mode="before")
    @classmethod
    def _is_schema(cls, value: Any) -> Any:
        return as_schema(value) if isinstance(value, dict | type) else value


class Topology(Declaration):
    """A task as a graph of nodes.

    Example:
        >>> chain = Topology(nodes=[{"id": "find"}, {"id": "pay", "depends_on": ["find"]}])
        >>> chain.levels
        {'find': 1, 'pay': 2}
    """

    name: str = ""
    version: Version = "0"
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _is_graph(self) -> Topology:
        for _, expected, found in self._problems():
            raise ValueError(f"{expected}, found {found}")
        return self

    @classmethod
    def load(cls, path: str | Path) -> Topology:
        """Read a YAML or JSON file.

        Raises:
            ContractError: with file, line, key and what was expected.
        """
        data, lines = read_yaml(path)
        if not isinstance(data, dict):
            raise contract_error_at((), "a mapping with `nodes`", data, lines, str(path))
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            nodes = data.get("nodes")
            if isinstance(nodes, list) and len(error.errors()) == 1 and not error.errors()[0]["loc"]:
                readable = cls.model_construct(nodes=tuple(Node.model_validate(node) for node in nodes))
                place, expected, found = next(iter(readable._problems()))
                raise contract_error_at(place, expected, found, lines, str(path)) from None
            raise contract_error(error, lines, str(path)) from None

    def _problems(self) -> Iterator[tuple[tuple[Any, ...], str, str]]:
        """Errors of the graph: place, what was expected, what was found."""
        known: dict[str, int] = {}
        for index, node in enumerate(self.nodes):
            if node.id in known:
                yield ("nodes", index, "id"), "each id once", node.id
            known[node.id] = index
        for index, node in enumerate(self.nodes):
            for key in ("depends_on", "any_of"):
                for other in getattr(node, key):
                    if other not in known:
                        yield ("nodes", index, key), f"an id of the topology ({', '.join(known)})", other
                        return
        if (circle := self._circle()) is not None:
            yield ("nodes", known[circle[0]], "depends_on"), "a graph without a circle", " → ".join(circle)
        elif not any(node.type == "must" for node in self.nodes):
            yield ("nodes",), "at least one must-node", "none"

    def _circle(self) -> list[str] | None:
        by_id = {node.id: node for node in self.nodes}
        state: dict[str, bool] = {}

        def visit(id: str, path: list[str]) -> list[str] | None:
            if state.get(id):
                return None
            if id in path:
                return [*path[path.index(id) :], id]
            for before in (*by_id[id].depends_on, *by_id[id].any_of):
                found = visit(before, [*path, id])
                if found is not None:
                    return found
            state[id] = True
            return None

        return next((found for node in self.nodes if (found := visit(node.id, [])) is not None), None)

    @cached_property
    def by_id(self) -> Mapping[str, Node]:
        return {node.id: node for node in self.nodes}

    @cached_property
    def members(self) -> frozenset[str]:
        """Nodes that stand in an any-of group: part of another node."""
        return frozenset(id for node in self.nodes for id in node.any_of)

    @cached_property
    def must(self) -> tuple[Node, ...]:
        """The must-nodes that count, members of any-of groups left out."""
        return tuple(node for node in self.nodes if node.type == "must" and node.id not in self.members)

    @cached_property
    def levels(self) -> dict[str, int]:
        """Level of each must-node: must-nodes on the longest path that ends there."""
        return {node.id: self._depth(node.id) for node in self.must}

    def _depth(self, id: str) -> int:
        node = self.by_id[id]
        own = int(node.type == "must" and id not in self.members)
        return own + max((self._depth(before) for before in node.depends_on), default=0)

    @property
    def highest(self) -> int:
        """The highest level that holds a must-node."""
        return max(self.levels.values())

    def present(self, done: Iterable[str]) -> frozenset[str]:
        """Must-nodes that count in a run: those on a branch that it did not take are left out.

        Of each choice the way with the most nodes done was taken, the first one where none was.
        """
        reached = set(done)
        ways: dict[str, dict[str, int]] = {}
        for node in self.nodes:
            if node.branch:
                choice, way = node.branch.split("/")
                counts = ways.setdefault(choice, {})
                counts[way] = counts.get(way, 0) + (node.id in reached)
        taken = {choice: max(counts, key=counts.__getitem__) for choice, counts in ways.items()}
        return frozenset(n.id for n in self.must if not n.branch or taken[n.branch.split("/")[0]] == n.branch.split("/")[1])

    def lint(self) -> list[str]:
        """What is likely wrong, one line a finding."""
        found = [f"{node.id}: no verify" for node in self.nodes if node.verify is None and node.effect is None and not node.any_of]
        for node in self.must:
            above = {branch for id in self._before(node.id) if (branch := self.by_id[id].branch)}
            if not node.branch and above:
                found.append(f"{node.id}: a must-node below {', '.join(sorted(above))}, which not every run takes")
        count = len(self.nodes)
        for kind, (low, high) in _SHARES.items():
            share = sum(node.type == kind for node in self.nodes) / count
            if not low <= share <= high:
                found.append(f"{kind}: {share:.0%} of the nodes, mostly {low:.0%} to {high:.0%}")
        if not _FEWEST <= count <= _MOST:
            found.append(f"{count} nodes, mostly {_FEWEST} to {_MOST}")
        return found

    def _before(self, id: str) -> set[str]:
        found: set[str] = set()
        for before in self.by_id[id].depends_on:
            found |= {before} | self._before(before)
        return found

    def to_dot(self, done: Iterable[str] = ()) -> str:
        """As a graph in the DOT language; what was done is filled."""
        reached = set(done)
        shapes = {"must": "box", "optional": "ellipse", "fallback": "diamond", "must_not": "octagon"}
        lines = ["digraph topology {", "  rankdir=LR;"]
        for node in self.nodes:
            style = ", style=filled, fillcolor=gray85" if node.id in reached else ""
            lines.append(f"  {_quoted(node.id)} [shape={shapes[node.type]}{style}];")
        for node in self.nodes:
            lines += [f"  {_quoted(before)} -> {_quoted(node.id)};" for before in node.depends_on]
            lines += [f"  {_quoted(member)} -> {_quoted(node.id)} [style=dashed];" for member in node.any_of]
        return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
