"""`Evaluation`: an agent, a task's topology, repeated runs in a sandbox, and the figures of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from random import Random
from typing import Any

from pydantic import ValidationError

from agent_reach.contracts import Compensation, Routes
from agent_reach.contracts.load import contract_error
from agent_reach.contracts.topology import Topology
from agent_reach.errors import ContractError
from agent_reach.evaluation.faults import Faults, faults_of
from agent_reach.evaluation.results import Results, RunsFile, head_of
from agent_reach.evaluation.sandbox import RunOver, Sandbox, current
from agent_reach.evaluation.within import Overdue, within
from agent_reach.events import TaskRun
from agent_reach.integrations.asking import asked_of, conversation, reply_of, resumed
from agent_reach.integrations.injecting import Injector, Stop
from agent_reach.reach import Reach
from agent_reach.scores.depth import PRESETS
from agent_reach.scores.figures import Figures, figures
from agent_reach.scores.trace import Ending, Trace, Workers

Factory = Callable[..., Any]
User = Callable[[Sequence[str]], str | None]

_GRACE_SECONDS = 1.0


@dataclass(frozen=True)
class Trial:
    """One run that is to be made; can be sent to another process.

    Attributes:
        topology: of the task.
        factory: makes the agent.
        run: its number.
        routes, compensation, faults: as for `Evaluation`.
        settings: the rest of what `Evaluation` was given.
    """

    topology: Topology
    factory: Factory
    run: int
    routes: Routes
    compensation: Any
    faults: Faults | None
    settings: Settings
    most_tokens: int | None = None


@dataclass(frozen=True)
class Settings:
    """What all runs of an evaluation share."""

    agent: str
    preset: str
    optional_bonus: float
    seed: int
    timeout: float
    most_actions: int
    prices: Mapping[str, tuple[float, float]]
    user: User | None
    on_interrupt: Callable[[Any], Any] | None
    otlp: str | None


class Evaluation:
    """Runs an agent again and again over the topology of a task.

    Args:
        topology: one or several; or paths of their files.
        agent_factory: makes a fresh agent for every run: a LangGraph graph, what `create_agent` gives, an AgentExecutor, another
            runnable, or a function of the messages, async or not. If it has a parameter `reach`, it is given the `Reach` that
            watches the run, so that `reach.tool_node(tools)`, `reach.middleware()` or `reach.wrap_tools(tools)` let faults in. It
            may return the agent and the state that its tools change, as a pair: `verify` looks at that state, else at the graph's.
        runs: of each task; under five nothing is concluded.
        faults: `True` for one of any kind in each stage, a sequence of kinds, or a `Faults`.
        routes: contracts of the tools, alternates, handoffs: a table or the path of its file.
        compensation: as for `Reach`.
        preset: weights of the composite: `default`, `customer_service`, `operations` or `research`.
        optional_bonus: of reach depth.
        seed: of faults; the same seed gives the same faults.
        at_once: runs at the same time.
        per_minute: runs begun in a minute, at most.
        timeout: seconds of one run.
        most_actions: calls, handoffs and questions of one run.
        budget: tokens of the whole evaluation; runs that it ends are told, and no further one begins.
        prices: of a million tokens, `{model: (input, output)}`; a model's name may go on.
        agent: what to call the agent in reports and spans, such as a version.
        user: plays the user after the topology's messages: of what was said, user and agent in turn, the next message or None.
        on_interrupt: answers a graph that asks a person; without it such a run ends.
        out: a folder in which runs are kept as they end; what is there already is not run again.
        executor: spreads runs over processes or machines; by default threads of this process.
        otlp: endpoint of a collector for the spans of the runs.
        progress: is told of each run that ended.

    Raises:
        ContractError: an argument is wrong.
        ReachError: `out` cannot be written, or holds the runs of another evaluation.
    """

    def __init__(
        self,
        topology: Topology | str | Path | Sequence[Topology | str | Path],
        agent_factory: Factory,
        runs: int = 5,
        *,
        faults: Any = None,
        routes: Routes | Mapping[str, Any] | str | Path | None = None,
        compensation: Compensation | Mapping[str, Any] | bool | None = None,
        preset: str = "default",
        optional_bonus: float = 0.0,
        seed: int = 0,
        at_once: int = 4,
        per_minute: float | None = None,
        timeout: float = 120.0,
        most_actions: int = 200,
        budget: int | None = None,
        prices: Mapping[str, tuple[float, float]] | None = None,
        agent: str = "",
        user: User | None = None,
        on_interrupt: Callable[[Any], Any] | None = None,
        out: str | Path | None = None,
        executor: Executor | None = None,
        otlp: str | None = None,
        progress: Callable[[Trace], object] | None = None,
    ) -> None:
        _check(runs=runs, at_once=at_once, timeout=timeout, most_actions=most_actions, preset=preset, factory=agent_factory)
        self.topologies = _topologies(topology)
        self.routes = _routes(routes)
        self.faults = _faults(faults, seed)
        self._factory, self._runs, self._compensation = agent_factory, runs, compensation
        self._at_once, self._pause = at_once, 60 / per_minute if per_minute else 0.0
        self._budget, self._executor, self._progress = budget, executor, progress
        self._workers = {each.name: Workers(each, self.routes) for each in self.topologies}
        self.settings = Settings(
            agent=agent or getattr(agent_factory, "__name__", "agent"), preset=preset, optional_bonus=optional_bonus, seed=seed,
            timeout=timeout, most_actions=most_actions, prices=dict(prices or {}), user=user, on_interrupt=on_interrupt, otlp=otlp,
        )  # fmt: skip
        self._file = RunsFile(out, self._head()) if out is not None else None

    def _head(self) -> dict[str, Any]:
        settings = self.settings
        return head_of(
            self.topologies, self._workers, agent=settings.agent, preset=settings.preset, optional_bonus=settings.optional_bonus,
            seed=settings.seed, faults=self.faults.model_dump() if self.faults else None,
        )  # fmt: skip

    def run(self) -> Results:
        """Make the runs that are missing.

        Returns:
            all runs, also those that were kept from before.
        """
        # From the head, as a file would give it: with the same tools and without functions.
        settings = self.settings
        results = Results(
            [Topology.model_validate(each) for each in self._head()["topologies"]], agent=settings.agent, preset=settings.preset,
            optional_bonus=settings.optional_bonus,
        )  # fmt: skip
        results.traces += self._file.kept if self._file else ()
        had = {(trace.task, trace.run) for trace in results.traces}
        missing = [
            Trial(topology, self._factory, run, self.routes, self._compensation, self.faults, self.settings)
            for run in range(1, self._runs + 1)
            for topology in self.topologies
            if (topology.name, run) not in had
        ]
        for trace in self._made(missing, results):
            results.traces.append(trace)
            if self._file is not None:
                self._file.add(trace)
            if self._progress is not None:
                self._progress(trace)
        if self._file is not None:
            self._file.close()
        results.traces.sort(key=lambda trace: (trace.task, trace.run))
        return results

    async def arun(self) -> Results:
        """`run`, beside whatever else the loop does."""
        return await asyncio.to_thread(self.run)

    def _made(self, trials: Sequence[Trial], results: Results) -> Iterator[Trace]:
        """Runs as they end, a window of them at the same time."""
        waiting = list(trials)
        own = ThreadPoolExecutor(self._at_once, "agent-reach-eval") if self._executor is None else None
        with own if own is not None else nullcontext(self._executor) as pool:
            assert pool is not None
            going: set[Future[Trace]] = set()
            while waiting or going:
                while waiting and len(going) < self._at_once:
                    left = self._left(results)
                    if left is not None and left <= 0:
                        results.broken.append(f"{len(waiting)} runs were not begun: the budget of {self._budget} tokens is spent")
                        waiting.clear()
                        break
                    going.add(pool.submit(run_trial, replace(waiting.pop(0), most_tokens=left)))
                    time.sleep(self._pause if waiting else 0)
                ended, going = wait(going, return_when=FIRST_COMPLETED) if going else (set(), set())
                for future in ended:
                    error = future.exception()
                    if error is None:
                        yield future.result()
                    else:
                        results.broken.append(f"a run could not be made: {type(error).__name__}: {error}")

    def _left(self, results: Results) -> int | None:
        return None if self._budget is None else self._budget - sum(trace.tokens for trace in results.traces)


def run_trial(trial: Trial) -> Trace:
    """Make one run, whatever the agent does."""
    topology, settings = trial.topology, trial.settings
    workers = Workers(topology, trial.routes)
    reach = Reach(trial.routes, compensation=trial.compensation, otlp=settings.otlp)
    runtime = reach.runtime
    handle = runtime.tracing.open("task_run", topology.name, runtime.clock(), None)
    session = f"{topology.name}#{trial.run}-{handle.trace[:8]}"
    sandbox = Sandbox(
        topology, workers, trial.routes,
        run=trial.run,
        faults=trial.faults.plan(topology, workers, trial.run) if trial.faults else (),
        times=trial.faults.times if trial.faults else 1,
        dice=Random(f"{settings.seed}:{topology.name}:{trial.run}"),
        clock=runtime.clock,
        prices=settings.prices,
        most_actions=settings.most_actions,
        most_tokens=trial.most_tokens,
        publish=lambda event: runtime.annotate(replace(event, session=session, parent=handle.id, trace=handle.trace), handle),
    )  # fmt: skip
    runtime.recorder = sandbox
    reach.add_sink(sandbox.observe)
    if trial.faults is not None:
        runtime.shadows.inner = Injector(sandbox, trial.faults, runtime).of

    def play() -> None:
        token, entered = current.set(sandbox), runtime.tracing.enter(handle)
        try:
            _play(trial, reach, sandbox, session)
        finally:
            runtime.tracing.leave(entered)
            current.reset(token)

    ended, reason = _ended(play, sandbox, settings.timeout)
    trace = sandbox.trace(ended, reason)
    found = figures(topology, trace, workers, preset=settings.preset, optional_bonus=settings.optional_bonus)
    event = replace(_task_run(trial, trace, found), session=session, id=handle.id, trace=handle.trace)
    runtime.publish(event, handle)
    reach.shutdown()
    return trace


def _ended(play: Callable[[], None], sandbox: Sandbox, timeout: float) -> tuple[Ending, str]:
    try:
        within(timeout, play)
    except Overdue:
        sandbox.end("timeout")
        return "timeout", f"not over within {timeout:g} s"
    except RunOver as over:
        return over.ending, ""
    except _Interrupted as asked:
        return "interrupted", str(asked)
    except BaseException as error:  # noqa: BLE001 - a user's agent may raise anything, SystemExit included
        if type(error).__name__ == "GraphRecursionError":
            return "step limit", str(error)
        return "crashed", f"{type(error).__name__}: {error}"
    return "finished", ""


class _Interrupted(Exception):
    """The graph asked a person, and nobody answers."""


def _play(trial: Trial, reach: Reach, sandbox: Sandbox, session: str) -> None:
    takes = signature(trial.factory).parameters
    made = trial.factory(reach=reach) if "reach" in takes else trial.factory()
    agent, state = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    sandbox.state = {} if state is None else state
    said: list[str] = []
    with conversation(reach, agent, session, [Stop(sandbox)]) as ask:
        while (message := _next_message(trial, said)) is not None:
            answer = ask(message)
            while (request := asked_of(answer)) is not None:
                answer = ask(_answered(trial.settings, request))
            said += [message, reply_of(answer)]
            reach.runtime.turns.flush(session)
            sandbox.replied(said[-1], answer if state is None and isinstance(answer, dict) else None)


def _next_message(trial: Trial, said: Sequence[str]) -> str | None:
    asked = len(said) // 2
    if asked < len(trial.topology.messages):
        return trial.topology.messages[asked]
    return trial.settings.user(said) if trial.settings.user is not None else None


def _answered(settings: Settings, request: Any) -> Any:
    if settings.on_interrupt is None:
        raise _Interrupted(f"a person was asked: {request}")
    return resumed(settings.on_interrupt(request))


def _task_run(trial: Trial, trace: Trace, found: Figures) -> TaskRun:
    present = trial.topology.present(trace.done)
    return TaskRun(
        time=trace.begun,
        latency=trace.latency,
        task=trace.task,
        version=trial.topology.version,
        run=trace.run,
        agent_version=trial.settings.agent,
        ended=trace.ended,
        depth=found.depth,
        purity=-1.0 if found.purity is None else found.purity,
        digestion=-1.0 if found.digestion is None else found.digestion,
        composite=found.composite,
        gate=found.gate,
        left_at=found.left_at,
        nodes=len(present),
        reached=len(present & trace.done),
        missed=tuple(node.id for node in trial.topology.must if node.id in present - trace.done),
        tokens=trace.tokens,
    )


# arguments ----------------------------------------------------------------------------------------------------------------


def _check(*, runs: Any, at_once: Any, timeout: float, most_actions: int, preset: str, factory: Any) -> None:
    for name, value in (("runs", runs), ("at_once", at_once), ("most_actions", most_actions)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ContractError(name, "a whole number from 1", value)
    if timeout <= 0:
        raise ContractError("timeout", "seconds above 0", timeout)
    if preset not in PRESETS:
        raise ContractError("preset", f"one of {', '.join(PRESETS)}", preset)
    if not callable(factory):
        raise ContractError("agent_factory", "a function that makes an agent", factory)


def _topologies(value: Any) -> list[Topology]:
    several = list(value) if isinstance(value, list | tuple) else [value]
    found = [each if isinstance(each, Topology) else Topology.load(each) for each in several]
    named = [each if each.name else each.model_copy(update={"name": f"task-{n}"}) for n, each in enumerate(found, 1)]
    names = [each.name for each in named]
    if not named or len(set(names)) < len(names):
        raise ContractError("topology", "one or several, each with a name of its own", names)
    return named


def _routes(value: Any) -> Routes:
    if isinstance(value, str | Path):
        return Routes.load(value)
    try:
        return value if isinstance(value, Routes) else Routes.model_validate(value or {})
    except ValidationError as error:
        raise contract_error(error, {}, "routes") from None


def _faults(value: Any, seed: int) -> Faults | None:
    try:
        found = faults_of(value)
    except (ValidationError, TypeError) as error:
        said = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise ContractError("faults", f"True, kinds of faults, or Faults ({said})", value) from None
    return found if found is None or found.seed else found.model_copy(update={"seed": seed})
