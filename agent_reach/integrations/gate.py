"""The gate: a tool is called when what it needs holds, and a task is done when its goal does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, NotRequired, TypedDict

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from agent_reach.checks import asks_user
from agent_reach.contracts.registry import Capability, Goal, Refusal, Registry
from agent_reach.events import PlanStep, PreconditionFailed
from agent_reach.integrations.intake import LIMIT, Extract, Intake, Keeper, call_key
from agent_reach.integrations.judge import REFUSED
from agent_reach.integrations.translate import OWN_NAME, messages_in, text_of
from agent_reach.live.probes import answer, from_sync
from agent_reach.planning.explain import ideal, left_to_do, why_not
from agent_reach.planning.facts import Facts, given
from agent_reach.planning.obstacles import Obstacle, to_call, to_this_call
from agent_reach.planning.problem import Situation, closure_of, way
from agent_reach.planning.progress import Progress, merged
from agent_reach.planning.search import DEPTH, Plan

if TYPE_CHECKING:
    from agent_reach.integrations.runtime import Runtime
    from agent_reach.integrations.turns import OpenTurn

MARK: Final = "agent_reach"
"""Key of an answer's `additional_kwargs` that says whether the goal was reached, and what was left."""


class GateState(TypedDict):
    """What a gate keeps in a graph's state."""

    messages: NotRequired[list[BaseMessage]]
    reach_facts: NotRequired[Annotated[dict[str, Any], merged]]


class Openings(NamedTuple):
    """What can be called in a state.

    Attributes:
        callable: tools whose preconditions hold, in the registry's order.
        blocked: why each other one must not be called.
    """

    callable: tuple[str, ...]
    blocked: dict[str, str]


class Examined(NamedTuple):
    """A call before it is made.

    Attributes:
        progress: of the task.
        obstacles: what stands in the way of the call.
    """

    progress: Progress
    obstacles: list[Obstacle]


class Gate:
    """Judges calls and answers of one kind of task by a registry and a goal.

    Args:
        runtime: of the `Reach` that it belongs to.
        registry: of the tools; tools that it does not name pass.
        goal: what has to hold for the task to be done.
        facts: that every run begins with, by name.
        down: tools that cannot be called, with why, such as those of a preflight.
        send_back: how often an answer that comes too early is sent back to the model.
        archive: where results over `limit` characters go, of which the model then sees the beginning.
        extract: finds facts in results beyond what the registry declares.
        depth: calls that a plan has at most.

    Raises:
        ContractError: the goal can never be true, whatever the tools give.
    """

    def __init__(
        self,
        runtime: Runtime,
        registry: Registry,
        goal: Goal,
        *,
        facts: Mapping[str, Any] | None = None,
        down: Mapping[str, str] | None = None,
        send_back: int = 2,
        archive: Keeper | None = None,
        limit: int = LIMIT,
        extract: Extract | None = None,
        depth: int = DEPTH,
    ) -> None:
        self.runtime, self.registry, self.goal = runtime, registry, goal
        self.send_back, self.depth = send_back, depth
        self.down = dict(down or {})
        self.intake = Intake(registry, closure_of(registry, goal), runtime.routes, facts or {}, archive, limit, extract)
        best = ideal(registry)
        best = replace(best, facts=best.facts.add(given(facts or {})))
        if why := why_not(registry, goal, best, depth=depth):
            raise registry.error(("goal",), "a goal that can be reached when all tools work", why)

    # what is known --------------------------------------------------------------------------------------------------

    def progress(self, state: Any) -> Progress:
        """Where the task of a graph's state stands, results that came since it was last kept included."""
        return self.intake.progress(state, self.runtime.clock())

    def situation(self, progress: Progress) -> Situation:
        """Where the search begins: what is known, and what cannot be called now."""
        now = self.runtime.clock()
        return Situation(
            progress.facts, progress.called, {**self.runtime.down(), **self.down}, self.runtime.predictor.likely_to_fail(now),
            progress.doubted, now=now,
        )  # fmt: skip

    def plan(self, progress: Progress) -> Plan:
        """The cheapest way to the goal from here."""
        return way(self.registry, self.goal, self.situation(progress), depth=self.depth)

    # before a call --------------------------------------------------------------------------------------------------

    def openings(self, progress: Progress) -> Openings:
        """Which tools can be called now, and why the others cannot."""
        now, down = self.runtime.clock(), {**self.runtime.down(), **self.down}
        open_, blocked = [], {}
        for name, capability in self.registry.tools.items():
            obstacles = to_call(capability, progress.facts, now)
            if name in down:
                blocked[name] = down[name]
            elif obstacles:
                blocked[name] = "; ".join(each.reason for each in obstacles)
            else:
                open_.append(name)
        looping = [name for name in progress.loops if name in open_ and len(open_) > 1]
        blocked |= dict.fromkeys(looping, "which led back to where the task stood before")
        return Openings(tuple(name for name in open_ if name not in looping), blocked)

    def offered(self, state: Any, tools: Iterable[Any]) -> list[Any]:
        """Those of the tools that a model may be offered now: all that can be called, and all that the registry does not name."""
        openings = self.openings(self.progress(state))
        return [tool for tool in tools if _name(tool) not in openings.blocked]

    def obstacles(self, tool: str, arguments: Mapping[str, Any], progress: Progress) -> list[Obstacle]:
        """What stands in the way of this call, semantic checks apart."""
        capability = self.registry.tools.get(tool)
        if capability is None:
            return []
        if tool in self.down:
            return [Obstacle(tool, "forbidden", f"`{tool}`, {self.down[tool]}, cannot be called now")]
        found = to_this_call(capability, arguments, progress.facts, self.runtime.clock())
        return found or self._repeats(tool, capability, arguments, progress)

    def _repeats(self, tool: str, capability: Capability, arguments: Mapping[str, Any], progress: Progress) -> list[Obstacle]:
        before = progress.made.get(call_key(tool, arguments))
        if before is None or capability.polls:
            return []
        if self.intake.is_once(tool):
            return [Obstacle("once", "forbidden", f"`{tool}` was already called with these arguments, and it has side effects")]
        if before == progress.path[-1][0]:
            return [Obstacle("loop", "invalid", f"`{tool}` was already called with these arguments, and nothing has changed since")]
        return []

    async def acheck(self, call: Mapping[str, Any], state: Any) -> Examined:
        """Whether a call may be made in a state, semantic checks included."""
        examined = self._examined(call, state)
        tool = call["name"]
        if not examined.obstacles and tool in self.registry.tools:
            for check in self.registry.tools[tool].checks:
                examined.obstacles.extend(await self._checked(check, tool, call["args"], examined.progress.facts))
        return examined

    def check(self, call: Mapping[str, Any], state: Any) -> Examined:
        """The same, for code that is not async."""
        capability = self.registry.tools.get(call["name"])
        if capability is None or not capability.checks:
            return self._examined(call, state)
        return from_sync(lambda: self.acheck(call, state))

    def _examined(self, call: Mapping[str, Any], state: Any) -> Examined:
        progress = self.progress(state)
        found = self.obstacles(call["name"], call["args"], progress)
        return Examined(progress, found or self._twice_at_once(call, state))

    def _twice_at_once(self, call: Mapping[str, Any], state: Any) -> list[Obstacle]:
        """The model asks for the same side effect twice in one message."""
        tool = call["name"]
        capability = self.registry.tools.get(tool)
        if capability is None or not self.intake.is_once(tool):
            return []
        asked = next((m.tool_calls for m in reversed(messages_in(state)) if isinstance(m, AIMessage)), [])
        same = [each["id"] for each in asked if each["name"] == tool and each["args"] == call["args"]]
        if len(same) < 2 or same[0] == call["id"]:
            return []
        return [Obstacle("once", "forbidden", f"`{tool}` is asked for twice with the same arguments, and it has side effects")]

    async def _checked(self, check: Callable[..., Any], tool: str, arguments: Mapping[str, Any], facts: Facts) -> list[Obstacle]:
        name = getattr(check, "__name__", "check")
        seconds = self.registry.tools[tool].check_seconds
        try:
            held = await answer(check, dict(arguments), facts, seconds=seconds)
        except Refusal as refusal:
            return [Obstacle(name, refusal.kind, str(refusal))]
        except TimeoutError:
            return [Obstacle(name, "invalid", f"`{name}` did not answer within {seconds:g} s")]
        except Exception as error:  # noqa: BLE001 - a user's check may raise anything
            return [Obstacle(name, "invalid", f"`{name}` raised {type(error).__name__}: {error}")]
        return [] if held else [Obstacle(name, "invalid", f"`{name}` says that these arguments are not valid")]

    def refused(
        self, turn: OpenTurn, call: Mapping[str, Any], obstacles: Sequence[Obstacle], progress: Progress, agent: str = ""
    ) -> ToolMessage:
        """What the model is told instead of a result, why, and what it can call; each obstacle becomes an event of its own."""
        with self.runtime.notes.guard("telling of a failed precondition"):
            self._tell(turn, call, obstacles, agent)
        can = ", ".join(f"`{name}`" for name in self._best_first(progress)) or "none"
        text = f"`{call['name']}` was not called: {'; '.join(each.reason for each in obstacles)}. Callable now: {can}."
        return ToolMessage(
            text, name=call["name"], tool_call_id=call["id"], status="error", additional_kwargs={REFUSED: "precondition"}
        )

    def _best_first(self, progress: Progress) -> list[str]:
        """Callable tools, those on the cheapest way first."""
        on_way = self.plan(progress).calls
        return sorted(self.openings(progress).callable, key=lambda name: on_way.index(name) if name in on_way else len(on_way))

    def _tell(self, turn: OpenTurn, call: Mapping[str, Any], obstacles: Sequence[Obstacle], agent: str) -> None:
        for number, each in enumerate(obstacles):
            now = self.runtime.clock()
            event = PreconditionFailed(
                **turn.where(), time=now, id=f"{turn.handle.id}.p{now:x}.{number}", parent=turn.handle.id,
                agent=agent or turn.agent, status="fail", tool=call["name"], call_id=call["id"] or "", condition=each.condition,
                obstacle="loop" if each.condition == "loop" else each.kind, reason=each.reason,
            )  # fmt: skip
            self.runtime.annotate(event, turn.handle)

    def digested(self, call: Mapping[str, Any], message: Any, raw: Any = None) -> Any:
        """The message with what the call came to; see `Intake.digested`."""
        return self.intake.digested(call, message, raw, self.runtime.clock())

    # an answer ------------------------------------------------------------------------------------------------------

    def left(self, progress: Progress) -> list[str]:
        """What is left to do before the task is done; empty when it is."""
        return left_to_do(self.registry, self.goal, self.situation(progress))

    def sends_back(self, message: AIMessage, progress: Progress, left: Sequence[str]) -> bool:
        """An answer came before its time, and the model can do something about it; a question to the user is no answer."""
        reachable = bool(left) and progress.sent_back < self.send_back and not asks_user(text_of(message))
        return reachable and self.plan(progress).verdict != "not"

    def reminder(self, progress: Progress, left: Sequence[str]) -> HumanMessage:
        """What the model is told when its answer is sent back."""
        can = ", ".join(f"`{name}`" for name in self._best_first(progress)) or "none"
        return HumanMessage(f"The task is not done: {'; '.join(left)}. Callable now: {can}.", name=OWN_NAME)

    def marked(self, message: AIMessage, left: Sequence[str]) -> AIMessage:
        """The answer with the goal's verdict, which is the goal's conditions' and nobody else's."""
        mark = {"done": not left, "left": list(left)}
        return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, MARK: mark}})

    # told -----------------------------------------------------------------------------------------------------------

    def snapshot(
        self, turn: OpenTurn, progress: Progress, outcome: str = "step", *, action: str = "", reason: str = "", **more: Any
    ) -> None:
        """Publish where the task stands."""
        found, openings, now = self.plan(progress), self.openings(progress), self.runtime.clock()
        values = {fact.name: {"value": fact.value, "sources": fact.sources} for fact in progress.facts}
        fields = {
            "candidates": openings.callable,
            "reason": reason or why_not(self.registry, self.goal, self.situation(progress), depth=self.depth),
            "node": f"{progress.step}",
            "came_from": f"{progress.step - 1}" if progress.step else "",
            **more,
        }
        event = PlanStep(
            **turn.where(), time=now, id=f"{turn.handle.id}.s{now:x}", parent=turn.handle.id, agent=turn.agent,
            goal="; ".join(map(str, self.goal.conditions)), step=progress.step, outcome=outcome, action=action,  # type: ignore[arg-type]
            verdict=found.verdict, distance=-1.0 if found.verdict == "not" else found.cost,
            blocked=tuple(f"{name}: {why}" for name, why in openings.blocked.items()),
            facts=tuple(fact.name for fact in progress.facts), conflicts=progress.facts.conflicts,
            values=self.runtime.payload(values), fingerprint=progress.path[-1][0], **fields,
        )  # fmt: skip
        self.runtime.annotate(event, turn.handle)


def _name(tool: Any) -> str:
    if isinstance(tool, Mapping):
        return str(tool.get("name") or (tool.get("function") or {}).get("name", ""))
    return str(getattr(tool, "name", ""))
