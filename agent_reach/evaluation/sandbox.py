"""The sandbox of one run: injects the faults that were planned, and keeps every transition of its state.

It knows nothing of frameworks. Adapters tell it of executions and calls; it says what to do to an execution.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from random import Random
from typing import Any, Final

from agent_reach.checks import asks_user
from agent_reach.checks.verification import document, is_verified, plain
from agent_reach.contracts import Routes
from agent_reach.contracts.topology import Node, Topology
from agent_reach.evaluation.faults import Fault
from agent_reach.evaluation.within import Overdue, within
from agent_reach.events import Decision, Event, Handoff, NodeReached, ToolAttempt, ToolCall
from agent_reach.scores.effects import effect
from agent_reach.scores.figures import wanted_effect
from agent_reach.scores.trace import SHOWN, Action, Ending, Trace, Try, Workers

VERIFY_SECONDS: Final = 5.0
"""That a `verify` function may take."""

current: ContextVar[Sandbox | None] = ContextVar("agent_reach_sandbox", default=None)
"""The sandbox of the run that is going on in this context."""


class RunOver(BaseException):
    """Ends a run from inside: no handler of the agent for `Exception` keeps it going."""

    def __init__(self, ending: Ending) -> None:
        self.ending: Ending = ending
        super().__init__(ending)


class Sandbox:
    """Records one run.

    Args:
        topology: of the task.
        workers: which nodes a tool works on.
        routes: contracts of the tools.
        run: number of the run.
        faults: planned for it.
        dice: that decides what a wrong value is.
        clock: nanoseconds.
        prices: per million tokens, input and output, by model.
        most_actions: after which the run is over.
        most_tokens: after which it is over; None for no limit.
        publish: takes `NodeReached` events.

    Attributes:
        state: what `verify` looks at; set by whoever runs the agent.
    """

    def __init__(
        self,
        topology: Topology,
        workers: Workers,
        routes: Routes,
        *,
        run: int = 1,
        faults: Iterable[Fault] = (),
        times: int = 1,
        dice: Random,
        clock: Callable[[], int],
        prices: Mapping[str, tuple[float, float]] | None = None,
        most_actions: int = 200,
        most_tokens: int | None = None,
        publish: Callable[[Event], object] = id,
    ) -> None:
        self._topology, self._workers, self._routes, self._run = topology, workers, routes, run
        self._planned = tuple(faults)
        self._left = dict.fromkeys(self._planned, times)
        self._dice, self._clock, self._prices = dice, clock, prices or {}
        self._most, self._most_tokens, self._publish = most_actions, most_tokens, publish
        self._lock = threading.RLock()
        self._actions: list[Action] = []
        self._attempts: list[ToolAttempt] = []
        self._results: dict[str, list[Any]] = {}
        self._received: set[str] = set()
        self._made: set[str] = set()
        self._done: dict[str, str] = {}
        self._said: list[str] = []
        self._refused: dict[str, str] = {}
        self._added: dict[str, tuple[str, ...]] = {}
        self._added_done: list[str] = []
        self._tokens, self._price = 0, 0.0
        self._over: Ending | None = None
        self._begun = clock()
        self.state: Any = {}

    # what to do to an execution -----------------------------------------------------------------------------------------

    def fault_for(self, tool: str) -> Fault | None:
        """The fault that this execution of a tool meets, if any.

        Raises:
            RunOver: the run has been ended.
        """
        self.check()
        with self._lock:
            for fault, left in self._left.items():
                node = self._topology.by_id[fault.node]
                ready = all(before in self._done for before in node.depends_on)
                if left and ready and node.id not in self._done and tool in self._workers.tools[node.id]:
                    self._left[fault] -= 1
                    return fault
        return None

    def missed(self, fault: Fault) -> None:
        """The fault found nothing to spoil: it waits for the next execution."""
        with self._lock:
            self._left[fault] += 1

    @property
    def dice(self) -> Random:
        return self._dice

    def check(self) -> None:
        """Nothing may begin once the run is over.

        Raises:
            RunOver: it is.
        """
        if self._over is not None:
            raise RunOver(self._over)

    def end(self, ending: Ending) -> None:
        """Whatever begins from now on is refused."""
        self._over = self._over or ending

    # what happened ------------------------------------------------------------------------------------------------------

    def observe(self, event: Event) -> None:
        """A sink for the events of the run."""
        with self._lock:
            if isinstance(event, ToolAttempt):
                self._attempts.append(event)
            elif isinstance(event, Handoff):
                self._handed_over(event)
            elif isinstance(event, Decision):
                self._decided(event)

    def called(self, event: ToolCall, arguments: dict[str, Any], result: Any) -> None:
        """A call is over.

        Args:
            arguments: that it was made with.
            result: what the tool gave, None when it raised.
        """
        if event.status == "handoff":
            return
        with self._lock:
            tries = tuple(Try(a.tool, a.status, a.slow, a.fault) for a in self._attempts if a.parent == event.id)
            self._attempts = [a for a in self._attempts if a.parent != event.id]
            if not tries and event.attempts:
                tries = (Try(event.tool, event.status, event.slow, event.fault),)
            contract = self._routes.contract(event.tool)
            changes = contract.side_effect or event.tool in self._topology.side_effects or self._wanted_as_effect(event.tool)
            made = effect(event.tool, arguments).arguments if changes and event.status in ("ok", "empty_alias") else ""
            if event.status == "ok":
                self._results.setdefault(event.served_by or event.tool, []).append(result)
            self._act(
                Action(
                    "call", event.tool, event.agent, event.status, event.time, event.latency,
                    arguments=_cut(json.dumps(plain(arguments), ensure_ascii=False, sort_keys=True)),
                    answer=_cut(result if isinstance(result, str) else json.dumps(plain(result), ensure_ascii=False)),
                    fingerprint=event.arguments_hash, read=not changes, effect=made, tries=tries,
                )
            )  # fmt: skip

    def replied(self, text: str, state: Any = None) -> None:
        """The agent answered the user.

        Args:
            text: of the answer.
            state: of the graph after it; stands in where the factory gave no state.
        """
        with self._lock:
            if state is not None:
                self.state = state
            self._said.append(text)
            if asks_user(text):
                lowered = text.lower()
                asks = tuple(n.id for n in self._topology.nodes if any(word.lower() in lowered for word in n.asks))
                self._act(Action("message", time=self._clock(), answer=_cut(text), asks=asks), cause="reply")
            elif self._actions:
                last = self._actions[-1]
                self._actions[-1] = _with_done(last, self._transitions("reply"))

    def add_node(self, id: str, tools: Iterable[str] = ()) -> bool:
        """The agent adds a node to its task; done once one of the tools ended well after it.

        Returns:
            whether it may: the topology declares open nodes, their condition holds, and there are not too many.
        """
        declared = self._topology.open
        with self._lock:
            if declared is None or id in self._added or id in self._topology.by_id or len(self._added) >= declared.at_most:
                return False
            if not declared.when.holds(document(self.state, self._results, self._said)):
                return False
            self._added[id] = tuple(tools)
            return True

    def _wanted_as_effect(self, tool: str) -> bool:
        return any(node.effect is not None for node in self._workers.by_tool.get(tool, ()))

    def _handed_over(self, event: Handoff) -> None:
        if event.complete:
            self._received.add(event.receiver)
        self._act(
            Action(
                "handoff", event.receiver, event.sender, "ok" if event.complete else "fail", event.time, event.latency,
                missing=event.missing,
            )
        )  # fmt: skip

    def _decided(self, event: Decision) -> None:
        self._tokens += event.context_tokens + event.reply_tokens
        for name, (given, replied) in self._prices.items():
            if event.model.startswith(name):
                self._price += (event.context_tokens * given + event.reply_tokens * replied) / 1e6
                break
        if self._most_tokens is not None and self._tokens >= self._most_tokens:
            self.end("budget")

    def _act(self, action: Action, cause: str = "") -> None:
        if action.status == "ok":
            self._added_done += [id for id, tools in self._added.items() if action.name in tools and id not in self._added_done]
        self._actions.append(_with_done(action, self._transitions(cause or action.name, action)))
        if len(self._actions) >= self._most:
            self.end("step limit")

    # nodes --------------------------------------------------------------------------------------------------------------

    def _transitions(self, cause: str, action: Action | None = None) -> tuple[str, ...]:
        """Nodes that became done, each told as an event."""
        if action is not None and action.effect:
            node = next(
                (n for n in self._topology.nodes if n.id not in self._made and wanted_effect(n, action.name, action.effect)), None
            )
            self._made |= {node.id} if node is not None else set()
        found: list[str] = []
        changed = True
        while changed:  # a group is done with its members
            new = [node for node in self._topology.nodes if node.id not in self._done and self._is_done(node)]
            for node in new:
                self._done[node.id] = cause
                found.append(node.id)
                self._tell(node, cause)
            changed = bool(new) and any(node.any_of for node in self._topology.nodes)
        return tuple(found)

    def _is_done(self, node: Node) -> bool:
        if any(member in self._done for member in node.any_of):
            return True
        if node.effect is not None and node.id not in self._made:
            return False
        if node.verify is None and node.effect is not None:
            return True
        if node.verify is None:
            return any(self._results.get(tool) for tool in self._own_tools(node)) or bool(self._received & set(node.receivers))
        return self._verified(node)

    def _own_tools(self, node: Node) -> tuple[str, ...]:
        return () if node.any_of and not node.tools else self._workers.tools[node.id]

    def _verified(self, node: Node) -> bool:
        if node.id in self._refused:
            return False
        try:
            if callable(node.verify):
                return within(VERIFY_SECONDS, lambda: is_verified(node, (), self.state, self._results))
            return is_verified(node, self._own_tools(node), self.state, self._results, self._said)
        except Overdue:
            self._refused[node.id] = f"verify did not return within {VERIFY_SECONDS:.0f} s"
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything
            self._refused[node.id] = f"verify raised {type(error).__name__}: {error}"
        return False

    def _tell(self, node: Node, cause: str) -> None:
        level = self._topology.levels.get(node.id, 0)
        self._publish(
            NodeReached(
                time=self._clock(),
                task=self._topology.name,
                run=self._run,
                node=node.id,
                node_type=node.type,
                level=level,
                cause=cause,
            )
        )

    # the end ------------------------------------------------------------------------------------------------------------

    def trace(self, ended: Ending = "finished", reason: str = "") -> Trace:
        """The run, as it is now."""
        with self._lock:
            late = self._transitions("end")
            heard = _plain("\n".join(self._said))
            return Trace(
                task=self._topology.name,
                run=self._run,
                actions=tuple(self._actions),
                late=late,
                said=tuple(output for output in self._topology.outputs if _plain(output) in heard),
                ended=ended,
                reason=_cut(reason),
                begun=self._begun,
                latency=max(0, self._clock() - self._begun),
                tokens=self._tokens,
                price=round(self._price, 6),
                faults=tuple(map(str, self._planned)),
                added=tuple(self._added),
                added_done=tuple(self._added_done),
                refused=dict(self._refused),
            )


def _with_done(action: Action, done: tuple[str, ...]) -> Action:
    return replace(action, done=(*action.done, *done)) if done else action


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _plain(text: str) -> str:
    return text.lower().replace(",", "").replace("$", "")


def add_node(id: str, tools: Iterable[str] = ()) -> bool:
    """Add a node to the task that is being evaluated; False outside an evaluation, or where the topology does not allow it."""
    sandbox = current.get()
    return sandbox is not None and sandbox.add_node(id, tools)
