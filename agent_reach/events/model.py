"""The events.

Every field has a plain value (text, integer, float, boolean or a tuple of texts), so that an event fits a JSON line and the
attributes of a span without loss. `""` means "not known". Fields marked *payload* hold JSON text and are `""` unless the user
asked for payload capture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

from agent_reach.events.base import (
    Band,
    Event,
    FailCause,
    Rung,
    Stage,
    Status,
    TurnOutcome,
    attribute,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Execution(Event):
    """What an attempt and a call have in common.

    Attributes:
        fault: that an evaluation injected and that landed, such as `empty@early`.
    """

    tool: str = attribute("gen_ai.tool.name")
    call_id: str = attribute("gen_ai.tool.call.id")
    fail_cause: FailCause = attribute("agent_reach.fail.cause")
    empty_kind: str = attribute("agent_reach.empty.kind")
    stage: Stage = attribute("agent_reach.stage")
    error_type: str = attribute("error.type")
    slow: bool = attribute("agent_reach.slow", False)
    stale_seconds: int = attribute("agent_reach.stale_seconds", -1)
    argument_names: tuple[str, ...] = attribute("agent_reach.arguments.names", ())
    arguments_hash: str = attribute("agent_reach.arguments.hash")
    result_size: int = attribute("agent_reach.result.size", -1)
    arguments: str = attribute("gen_ai.tool.call.arguments")
    result: str = attribute("gen_ai.tool.call.result")
    fault: str = attribute("agent_reach.fault")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAttempt(_Execution):
    """One execution of a call that had more than one: a first try, a retry, a reroute or a snapshot.

    Attributes:
        number: 1 for the first attempt of the call.
        rung: the rung of the ladder that made it.
    """

    number: int = attribute("agent_reach.attempt", 1, always=True)
    rung: Rung = attribute("agent_reach.rung", "first", always=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall(_Execution):
    """What the model asked for, with its status after compensation.

    Attributes:
        served_by: the tool that gave the final result, `""` when it is the one asked for.
        attempts: number of executions, 0 when none was made (an unknown tool, an open breaker).
        compensation: the rung that decided the outcome, `""` when the first attempt did.
        first_status: status of the first attempt.
        expected: the tools of the step that the call serves, best first.
        offered: the tools that the model could choose from, in the order it saw them.
        verdict: `hit`, `alternative` (its result passed the step's outcome check) or `unneeded`; `""` without a route. Misses are
            known when the unit closes.
        precise: the best tool of the step was called.
        route_version: version of the route table that said so.
    """

    served_by: str = attribute("agent_reach.served_by")
    attempts: int = attribute("agent_reach.attempts", 1, always=True)
    compensation: str = attribute("agent_reach.compensation")
    first_status: Status = attribute("agent_reach.first_status", "ok")
    expected: tuple[str, ...] = attribute("agent_reach.tools.expected", ())
    offered: tuple[str, ...] = attribute("agent_reach.tools.offered", ())
    verdict: Literal["", "hit", "alternative", "unneeded"] = attribute("agent_reach.verdict")
    precise: bool = attribute("agent_reach.precise", False)
    route_version: str = attribute("agent_reach.route.version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval(Event):
    """One answer of a knowledge source.

    Attributes:
        retrieved: fragments returned before filtering.
        relevant: fragments of these that are needed.
        admitted: relevant fragments that entered the context.
        ideal: fragments that should have come; 0 leaves the retrieval out of KnowledgeReach.
        dropped: fragments that the wrapper kept out of the context.
        calibrated: the relevance is a calibrated probability.
        relevances: relevance per fragment, in the order returned, four decimals, as text.
        query, fragments: payload.
    """

    source: str = attribute("gen_ai.data_source.id")
    retrieved: int = attribute("agent_reach.knowledge.retrieved", 0, always=True)
    relevant: int = attribute("agent_reach.knowledge.relevant", 0, always=True)
    admitted: int = attribute("agent_reach.knowledge.admitted", 0, always=True)
    ideal: int = attribute("agent_reach.knowledge.ideal", 0, always=True)
    dropped: int = attribute("agent_reach.knowledge.dropped", 0)
    calibrated: bool = attribute("agent_reach.knowledge.calibrated", False)
    relevances: tuple[str, ...] = attribute("agent_reach.knowledge.relevances", ())
    fail_cause: FailCause = attribute("agent_reach.fail.cause")
    error_type: str = attribute("error.type")
    query: str = attribute("gen_ai.retrieval.query.text")
    fragments: str = attribute("agent_reach.knowledge.fragments")

    @property
    def complete(self) -> bool:
        """Every needed fragment came."""
        return self.ideal > 0 and self.relevant >= self.ideal


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff(Event):
    """A task goes from one agent to another; judged when the receiver starts, after any supply.

    Attributes:
        sender, receiver: names of the agents.
        missing: what the receiver's contract requires and nothing gave; empty when complete.
        supplied: what compensation added.
        call_id: the tool call that handed over, if one did.
    """

    sender: str = attribute("agent_reach.handoff.from")
    receiver: str = attribute("agent_reach.handoff.to")
    missing: tuple[str, ...] = attribute("agent_reach.handoff.missing", ())
    supplied: tuple[str, ...] = attribute("agent_reach.handoff.supplied", ())
    call_id: str = attribute("gen_ai.tool.call.id")

    @property
    def complete(self) -> bool:
        return not self.missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Event):
    """One response of a model.

    Attributes:
        offered: names of the tools that it could choose from, in order.
        chosen: names of the tools that it asked for, in order.
        prompt_hash: hash of the system prompt, 16 hex digits.
        history_tokens: tokens of the messages before this turn.
        context_tokens: tokens of the whole input.
        reply_tokens: of the response.
        fragments: retrieved fragments that stood in the input.
        estimated: the model reported no usage, so the tokens are an estimate.
    """

    model: str = attribute("gen_ai.request.model")
    offered: tuple[str, ...] = attribute("agent_reach.tools.offered", ())
    chosen: tuple[str, ...] = attribute("agent_reach.tools.chosen", ())
    prompt_hash: str = attribute("agent_reach.prompt.hash")
    history_tokens: int = attribute("agent_reach.tokens.history", 0)
    context_tokens: int = attribute("agent_reach.tokens.context", 0)
    reply_tokens: int = attribute("agent_reach.tokens.reply", 0)
    fragments: int = attribute("agent_reach.context.fragments", 0)
    estimated: bool = attribute("agent_reach.tokens.estimated", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought(Event):
    """What an AgentExecutor agent said it would do. `text` is payload."""

    tool: str = attribute("gen_ai.tool.name")
    text: str = attribute("agent_reach.thought")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompensationStep(Event):
    """One rung taken, or, in a dry run, one that would have been. What came of it is the status of the attempt that followed.

    Attributes:
        rung: which.
        tool: the tool that the model asked for, or the receiver of a handoff.
        target: the tool that answers instead, or who was asked.
        reason: why the rung was needed.
        wait: nanoseconds waited before it.
    """

    rung: Rung = attribute("agent_reach.rung", "retry", always=True)
    tool: str = attribute("gen_ai.tool.name")
    call_id: str = attribute("gen_ai.tool.call.id")
    target: str = attribute("agent_reach.compensation.target")
    reason: str = attribute("agent_reach.compensation.reason")
    wait: int = attribute("agent_reach.compensation.wait", 0)
    dry_run: bool = attribute("agent_reach.compensation.dry_run", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(Event):
    """One user message and all that followed, as it ends.

    Attributes:
        outcome: `answered`; `asked`, when the reply only asks the user; `abandoned`, when no reply was given.
        score, tool, knowledge, task: scores of the session at that moment, -1 when absent.
        band: of the score.
        guessed: a unit closed with a final answer while a need was not reached.
        abnormal: a link of the unit was not fully reached.
        context_sources, context_groups: of the fragments that stood in the context, in their order; empty unless the
            turn was answered.
        context_cited: for each of them `1` when the reply cites it, else `0`.
        instructions: verdict and id of each atom of the prompt whose condition was met, such as `obeyed confirm-refund`.
        user, reply: payload.
    """

    outcome: TurnOutcome = attribute("agent_reach.turn.outcome", "answered", always=True)
    score: float = attribute("agent_reach.score", -1.0)
    tool: float = attribute("agent_reach.score.tool", -1.0)
    knowledge: float = attribute("agent_reach.score.knowledge", -1.0)
    task: float = attribute("agent_reach.score.task", -1.0)
    band: Band = attribute("agent_reach.band")
    guessed: bool = attribute("agent_reach.guessed", False)
    abnormal: bool = attribute("agent_reach.abnormal", False)
    context_sources: tuple[str, ...] = attribute("agent_reach.context.sources", ())
    context_groups: tuple[str, ...] = attribute("agent_reach.context.groups", ())
    context_cited: tuple[str, ...] = attribute("agent_reach.context.cited", ())
    instructions: tuple[str, ...] = attribute("agent_reach.instructions", ())
    user: str = attribute("agent_reach.turn.user")
    reply: str = attribute("agent_reach.turn.reply")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitClosed(Event):
    """A task unit closes. The counts are what it adds to every tally.

    Attributes:
        needs, reached: needs of the unit and how many were reached.
        first_reached: how many the first attempts alone reached.
        taken: empty results taken as success.
        answered: the unit ended with a final answer.
        guessed: it did so while a need was not reached.
        degraded: incomplete handoffs that were finished all the same.
        abnormal: a link was not fully reached.
        reason: `reached`, `intent`, `turn` or `session`.
        steps: of the route, one text each (see `agent_reach.scores.steps.StepOutcome`); empty without one.
        called: tools that the unit called, each once, in order, the first twenty; told when the best tool of a step was not.
    """

    needs: int = attribute("agent_reach.unit.needs", 0, always=True)
    reached: int = attribute("agent_reach.unit.reached", 0, always=True)
    first_reached: int = attribute("agent_reach.unit.first_reached", 0, always=True)
    taken: int = attribute("agent_reach.unit.taken", 0, always=True)
    answered: bool = attribute("agent_reach.unit.answered", False)
    guessed: bool = attribute("agent_reach.guessed", False)
    degraded: int = attribute("agent_reach.unit.degraded", 0)
    abnormal: bool = attribute("agent_reach.abnormal", False)
    reason: Literal["reached", "intent", "turn", "session"] = attribute("agent_reach.unit.reason", "turn")
    steps: tuple[str, ...] = attribute("agent_reach.unit.steps", ())
    called: tuple[str, ...] = attribute("agent_reach.unit.called", ())
    route_version: str = attribute("agent_reach.route.version")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReached(Event):
    """A node of a task's topology was done: a transition of the run's state.

    Attributes:
        task, run: name of the topology, and number of the run.
        node, node_type, level: which; the level is 0 for anything but a must-node that counts.
        cause: the tool, the receiver or `reply` with which it was done.
    """

    task: str = attribute("agent_reach.task")
    run: int = attribute("agent_reach.task.run", 0)
    node: str = attribute("agent_reach.node")
    node_type: str = attribute("agent_reach.node.type")
    level: int = attribute("agent_reach.node.level", 0)
    cause: str = attribute("agent_reach.node.cause")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRun(Event):
    """One run of a task in an evaluation, as it ends (definitions, section 5).

    Attributes:
        task, version, run: name and version of the topology, and number of the run.
        agent_version: what the evaluation calls the agent.
        ended: how.
        depth, purity, digestion, composite: -1 when undefined.
        gate: the run passed.
        left_at: level at which it left the topology, 0 when it did not.
        nodes, reached: must-nodes that count, and those done.
        missed: those of them that were not done.
        tokens: of all model calls.
    """

    task: str = attribute("agent_reach.task")
    version: str = attribute("agent_reach.task.version")
    run: int = attribute("agent_reach.task.run", 0)
    agent_version: str = attribute("agent_reach.agent.version")
    ended: str = attribute("agent_reach.task.ended", always=True)
    depth: float = attribute("agent_reach.task.depth", -1.0, always=True)
    purity: float = attribute("agent_reach.task.purity", -1.0)
    digestion: float = attribute("agent_reach.task.digestion", -1.0)
    composite: float = attribute("agent_reach.task.composite", -1.0, always=True)
    gate: bool = attribute("agent_reach.task.gate", False, always=True)
    left_at: int = attribute("agent_reach.task.left_at", 0)
    nodes: int = attribute("agent_reach.task.nodes", 0)
    reached: int = attribute("agent_reach.task.reached", 0)
    missed: tuple[str, ...] = attribute("agent_reach.task.missed", ())
    tokens: int = attribute("agent_reach.task.tokens", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreconditionFailed(Event):
    """A call was not made, because something that it needs does not hold (definitions, section 6).

    Attributes:
        tool, call_id: which call.
        condition: as it is declared.
        obstacle: why it does not hold: `missing`, `stale`, `forbidden` or `invalid`; `loop` for a call that would repeat
            another one while nothing has changed.
        reason: what the model was told.
    """

    tool: str = attribute("gen_ai.tool.name")
    call_id: str = attribute("gen_ai.tool.call.id")
    condition: str = attribute("agent_reach.precondition")
    obstacle: str = attribute("agent_reach.precondition.obstacle")
    reason: str = attribute("agent_reach.precondition.reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep(Event):
    """A state on the way to a goal: where a task stood, what could be called, and what was made of it.

    Attributes:
        goal: its conditions.
        step: number of the state on its path, from 0.
        node, came_from: id of this state in its run, and of the one before; a path that was left goes on from an earlier one.
        outcome: `step`; `loop`, `backtrack` and `replan` when the path is left; `sent_back` when an answer came before the goal was
            reached; `done` and `gave_up` at the end.
        action: the tool whose call led here.
        verdict, distance: `strong`, `weak` or `not`, and the cost of the cheapest way that is left, -1 when there is none.
        candidates: tools that could be called, the best first: `tool verdict cost score`.
        blocked: tools that could not, with why.
        facts: names of what is known.
        values: *payload*, what is known, with sources.
        conflicts: names of facts on which sources contradict each other.
        fingerprint: of the state.
        reason: why the path was left, or why the goal cannot be reached, or what was left to do.
    """

    goal: str = attribute("agent_reach.plan.goal")
    step: int = attribute("agent_reach.plan.step", 0)
    node: str = attribute("agent_reach.plan.node")
    came_from: str = attribute("agent_reach.plan.came_from")
    outcome: Literal["step", "loop", "backtrack", "replan", "sent_back", "done", "gave_up"] = attribute(
        "agent_reach.plan.outcome", "step", always=True
    )
    action: str = attribute("agent_reach.plan.action")
    verdict: Literal["", "strong", "weak", "not"] = attribute("agent_reach.plan.verdict")
    distance: float = attribute("agent_reach.plan.distance", -1.0)
    candidates: tuple[str, ...] = attribute("agent_reach.plan.candidates", ())
    blocked: tuple[str, ...] = attribute("agent_reach.plan.blocked", ())
    facts: tuple[str, ...] = attribute("agent_reach.plan.facts", ())
    values: str = attribute("agent_reach.plan.values")
    conflicts: tuple[str, ...] = attribute("agent_reach.plan.conflicts", ())
    fingerprint: str = attribute("agent_reach.plan.fingerprint")
    reason: str = attribute("agent_reach.plan.reason")


KINDS: Final[dict[str, type[Event]]] = {
    "tool_attempt": ToolAttempt,
    "tool_call": ToolCall,
    "retrieval": Retrieval,
    "handoff": Handoff,
    "decision": Decision,
    "thought": Thought,
    "compensation": CompensationStep,
    "turn": Turn,
    "unit": UnitClosed,
    "node": NodeReached,
    "task_run": TaskRun,
    "precondition": PreconditionFailed,
    "plan_step": PlanStep,
}
_NAMES: Final = {cls: name for name, cls in KINDS.items()}

STATUSES: Final[tuple[Status, ...]] = get_args(Status)


def kind_of(event: Event) -> str:
    """The discriminator of the union, such as `tool_call`."""
    return _NAMES[type(event)]
