"""The topology of a task: what has to be reached, in which order, and what must not happen (definitions, section 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, PrivateAttr, ValidationError, field_validator, model_validator

from agent_reach.contracts.expressions import Expression
from agent_reach.contracts.handoffs import as_schema
from agent_reach.contracts.load import Lines, contract_error, contract_error_at, read_yaml
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
        asks: words of which a message to the user that asks for what this node needs has one.
        any_of: nodes of which any one makes this one done; they are part of it and have no level of their own.
        branch: `choice/way`: of the ways of one choice a run takes one; must-nodes on the others leave the counts.
        verify: of (state, results) says whether it is done: it looks at effects, never at which tool did it. A function; a
            condition in JMESPath or JSONPath on `state`, `results` and `replies`; or a JSON Schema that the result of one of its
            tools satisfies. Without one, a call of its tools or a handoff to its receivers that ended well does.
        effect: arguments of the side effect that it wants of one of its tools, in any spelling; `"*"` stands for any value.
    """

    id: str = Field(min_length=1)
    type: NodeType = "must"
    depends_on: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    receivers: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    branch: str = Field(default="", pattern=r"^([^/]+/[^/]+)?$")
    verify: Expression | Verify | dict[str, Any] | None = None
    effect: dict[str, Any] | None = None

    @field_validator("verify", mode="before")
    @classmethod
    def _readable(cls, value: Any) -> Any:
        if isinstance(value, str):
            return Expression(value)
        return as_schema(value) if isinstance(value, dict | type) else value


class OpenNodes(Declaration):
    """What an agent may add to its task at run time, counted apart.

    Attributes:
        when: the condition on `state`, `results` and `replies` under which it may.
        at_most: nodes of one run.
    """

    when: Expression
    at_most: Annotated[int, Field(ge=1)] = 5

    @field_validator("when", mode="before")
    @classmethod
    def _readable(cls, value: Any) -> Any:
        return Expression(value) if isinstance(value, str) else value


class Topology(Declaration):
    """A task as a graph of nodes.

    Attributes:
        name, version: of the task.
        messages: what the user says, one after another.
        nodes: in the order in which they are worked on where nothing else says so.
        outputs: what the agent has to say, as text.
        side_effects: tools that change something, besides those that the route table names; a call of one that no node wants is
            an unwanted effect.
        open: nodes that the agent may add.

    Example:
        >>> chain = Topology(nodes=[{"id": "find"}, {"id": "pay", "depends_on": ["find"]}])
        >>> chain.levels
        {'find': 1, 'pay': 2}
    """

    name: str = ""
    version: Version = "0"
    messages: tuple[str, ...] = ()
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...] = ()
    side_effects: tuple[str, ...] = ()
    open: OpenNodes | None = None
    _file: str = PrivateAttr("")
    _lines: Lines = PrivateAttr(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _read_edges(cls, data: Any) -> Any:
        return _without_edges(data) if isinstance(data, dict) and "edges" in data else data

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
            made = cls.model_validate(data)
        except ValidationError as error:
            if len(error.errors()) == 1 and not error.errors()[0]["loc"]:
                for place, expected, found in cls._graph_problems(data):
                    raise contract_error_at(place, expected, found, lines, str(path)) from None
            raise contract_error(error, lines, str(path)) from None
        made._file, made._lines = str(path), lines
        return made

    @classmethod
    def _graph_problems(cls, data: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], str, str]]:
        """Errors that show only when the nodes of a file are seen together."""
        try:
            nodes = (_without_edges(data) if "edges" in data else data)["nodes"]
        except (ValueError, KeyError):
            return
        yield from cls.model_construct(nodes=tuple(Node.model_validate(node) for node in nodes))._problems()

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
        try:
            TopologicalSorter({node.id: (*node.depends_on, *node.any_of) for node in self.nodes}).prepare()
        except CycleError as error:
            return [str(id) for id in reversed(error.args[1])]
        return None

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Ids, each after those it depends on."""
        return tuple(TopologicalSorter({node.id: (*node.depends_on, *node.any_of) for node in self.nodes}).static_order())

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
        counted = {node.id for node in self.must}
        depth: dict[str, int] = {}
        for id in self.order:
            depth[id] = (id in counted) + max((depth[before] for before in self.by_id[id].depends_on), default=0)
        return {node.id: depth[node.id] for node in self.must}

    @cached_property
    def highest(self) -> int:
        """The highest level that holds a must-node."""
        return max(self.levels.values())

    @cached_property
    def _branched(self) -> bool:
        return any(node.branch for node in self.nodes)

    @cached_property
    def _counted(self) -> frozenset[str]:
        return frozenset(node.id for node in self.must)

    def present(self, done: Iterable[str]) -> frozenset[str]:
        """Must-nodes that count in a run: those on a branch that it did not take are left out.

        Of each choice the way with the most nodes done was taken, the first one where none was.
        """
        if not self._branched:
            return self._counted
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
        """What is likely wrong, one line a finding; of a file with its place."""
        found = []
        for node in self.nodes:
            nothing = node.verify is None and not (node.tools or node.receivers or node.any_of)
            if node.type != "must_not" and not (node.verify or node.effect or node.any_of):
                found.append(f"{self._at(node)}{node.id}: no verify")
            if nothing:
                found.append(
                    f"{self._at(node)}{node.id}: nothing can make it done: give it `tools`, `receivers`, `verify` or `any_of`"
                )
        for node in self.must:
            above = {branch for id in self.ancestors[node.id] if (branch := self.by_id[id].branch)}
            if not node.branch and above:
                taken = ", ".join(sorted(above))
                found.append(f"{self._at(node)}{node.id}: a must-node below {taken}, which not every run takes")
        return [*found, *self._unusual()]

    def _unusual(self) -> Iterator[str]:
        where = f"{self._file}: " if self._file else ""
        count = len(self.nodes)
        for kind, (low, high) in _SHARES.items():
            share = sum(node.type == kind for node in self.nodes) / count
            if not low <= share <= high:
                yield f"{where}{kind}: {share:.0%} of the nodes, mostly {low:.0%} to {high:.0%}"
        if not _FEWEST <= count <= _MOST:
            yield f"{where}{count} nodes, mostly {_FEWEST} to {_MOST}"

    def _at(self, node: Node) -> str:
        line = self._lines.get(("nodes", self.nodes.index(node)))
        return f"{self._file}:{line}: " if line else ""

    @cached_property
    def below(self) -> Mapping[str, tuple[str, ...]]:
        """Of each node, those that depend on it directly."""
        found: dict[str, list[str]] = {node.id: [] for node in self.nodes}
        for node in self.nodes:
            for before in node.depends_on:
                found[before].append(node.id)
        return {id: tuple(ids) for id, ids in found.items()}

    @cached_property
    def ancestors(self) -> Mapping[str, frozenset[str]]:
        """Of each node, all that it depends on, directly or not."""
        found: dict[str, frozenset[str]] = {}
        for id in self.order:
            before = self.by_id[id].depends_on
            found[id] = frozenset(before).union(*(found[each] for each in before))
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


def _without_edges(data: dict[str, Any]) -> dict[str, Any]:
    """`edges`, each `[from, to]` or an object with `from` and `to` (or `source` and `target`), as `depends_on` of the nodes."""
    before: dict[str, list[str]] = {}
    for index, edge in enumerate(data["edges"] or ()):
        ends = [edge.get("from", edge.get("source")), edge.get("to", edge.get("target"))] if isinstance(edge, dict) else edge
        if not isinstance(ends, list | tuple) or len(ends) != 2 or not all(isinstance(end, str) for end in ends):
            raise ValueError(f"edges[{index}]: [from, to] or an object with both, found {edge!r}")
        before.setdefault(ends[1], []).append(ends[0])
    nodes = [dict(node) if isinstance(node, dict) else node for node in data.get("nodes", ())]
    known = {str(node.get("id")): node for node in nodes if isinstance(node, dict)}
    for end, starts in before.items():
        if end not in known:
            raise ValueError(f"edges: ids of the topology, found {end!r}")
        known[end]["depends_on"] = [*known[end].get("depends_on", ()), *starts]
    return {**{key: value for key, value in data.items() if key != "edges"}, "nodes": nodes}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
