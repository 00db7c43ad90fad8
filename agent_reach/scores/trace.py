"""One run of a task as its actions, and what was done with each: all that its figures are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal

from agent_reach.contracts import Routes
from agent_reach.contracts.topology import Node, Topology
from agent_reach.events import Status

Ending = Literal["finished", "crashed", "timeout", "step limit", "budget", "interrupted"]
SHOWN: Final = 600
"""Characters of arguments and answers that a trace keeps."""


@dataclass(frozen=True, slots=True)
class Try:
    """One execution of a call.

    Attributes:
        tool: that was executed.
        status: that it had.
        slow: it took over three times the tool's baseline.
        fault: that was injected and landed, `""` when none.
    """

    tool: str
    status: Status
    slow: bool = False
    fault: str = ""

    @property
    def well(self) -> bool:
        """No part of an obstacle."""
        return self.status in ("ok", "handoff", "interrupted", "cancelled") and not self.slow and not self.fault


@dataclass(frozen=True, slots=True)
class Action:
    """A call, a handoff, or a message that asks the user for something.

    Attributes:
        kind: which.
        name: of the tool or the receiver; `""` for a message.
        agent: who acted.
        status: after compensation; `fail` for a handoff that lacks something.
        time, latency: nanoseconds.
        arguments, answer: canonical arguments and the answer as text, cut.
        fingerprint: of the arguments.
        read: the call changes nothing.
        effect: the call changed something: canonical arguments of the effect, else `""`.
        tries: executions of a call.
        done: nodes that were done with it.
        asks: nodes whose need a message asks for.
        missing: what a handoff lacks.
    """

    kind: Literal["call", "handoff", "message"]
    name: str = ""
    agent: str = ""
    status: Status = "ok"
    time: int = 0
    latency: int = 0
    arguments: str = ""
    answer: str = ""
    fingerprint: str = ""
    read: bool = False
    effect: str = ""
    tries: tuple[Try, ...] = ()
    done: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """One run.

    Attributes:
        task: name of the topology; `run` counts its runs from 1.
        actions: in order.
        late: nodes that were done only when all was over.
        said: required outputs that the run said.
        ended, reason: how it ended, and what was raised.
        begun, latency: nanoseconds.
        tokens, price: of all model calls, price 0 without a price table.
        faults: planned for it, as text, with where; those that landed stand at their tries.
        added, added_done: open nodes.
        refused: nodes whose `verify` raised or did not return, with what it said.
    """

    task: str
    run: int = 1
    actions: tuple[Action, ...] = ()
    late: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    ended: Ending = "finished"
    reason: str = ""
    begun: int = 0
    latency: int = 0
    tokens: int = 0
    price: float = 0.0
    faults: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    added_done: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def done(self) -> frozenset[str]:
        """Nodes that the run reached."""
        return frozenset(self.late).union(*(action.done for action in self.actions))

    @property
    def landed(self) -> tuple[str, ...]:
        """Faults that landed, in order."""
        return tuple(each.fault for action in self.actions for each in action.tries if each.fault)

    def to_record(self) -> dict[str, Any]:
        """As JSON-ready values; what holds its default is left out of actions."""
        record = asdict(self)
        record["actions"] = [_lean(action) for action in record["actions"]]
        return record

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Trace:
        """The inverse.

        Raises:
            KeyError, TypeError: it is no such record.
        """
        actions = tuple(_action(action) for action in record["actions"])
        tuples = {key: tuple(record[key]) for key in ("late", "said", "faults", "added", "added_done")}
        return replace(cls(record["task"]), **{**record, **tuples, "actions": actions})


_ACTION: Final = asdict(Action("call"))


def _lean(action: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in action.items() if key == "kind" or value != _ACTION[key]}


def _action(record: Mapping[str, Any]) -> Action:
    tuples = {key: tuple(record[key]) for key in ("done", "asks", "missing") if key in record}
    return Action(**{**record, **tuples, "tries": tuple(Try(**each) for each in record.get("tries", ()))})


class Workers:
    """Which nodes a tool or an agent works on, alternates of the route table included.

    Args:
        topology: of the task.
        routes: gives the alternates.
    """

    def __init__(self, topology: Topology, routes: Routes | None = None) -> None:
        self.tools: dict[str, tuple[str, ...]] = {}
        self.by_tool: dict[str, list[Node]] = {}
        self.by_receiver: dict[str, list[Node]] = {}
        self._served: set[str] = set()
        for node in topology.nodes:
            self.tools[node.id] = tuple(dict.fromkeys(_with_alternates(_tools_of(node, topology), routes)))
            for tool in self.tools[node.id]:
                self.by_tool.setdefault(tool, []).append(node)
            if node.type != "must_not":
                self._served.update(self.tools[node.id])
            for receiver in node.receivers:
                self.by_receiver.setdefault(receiver, []).append(node)

    def serves(self, tool: str) -> bool:
        """A node that is to be reached lists it."""
        return tool in self._served


def _tools_of(node: Node, topology: Topology) -> tuple[str, ...]:
    return (*node.tools, *(tool for member in node.any_of for tool in topology.by_id[member].tools))


def _with_alternates(tools: Iterable[str], routes: Routes | None) -> Iterable[str]:
    for tool in tools:
        yield tool
        if routes is not None:
            yield from (alternate.tool for alternate in routes.contract(tool).alternates)
