"""Real agents of every kind in the sandbox: what they reach, what faults do to them, and what they may not break."""

from __future__ import annotations

import asyncio
import os
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agent_reach import ContractError, Evaluation, Reach, ReachError, Topology
from agent_reach.evaluation.results import Results
from agent_reach.evaluation.sandbox import add_node
from tests.integration.agents import Script, ask, graph
from tests.integration.evaluated import LINES, ROUTES, TASK, agent, tools_of

QUICK = {"latency_s": 0.01, "retry_after_s": 0.01}
ONLY = Topology(name="only", messages=["Go."], nodes=[{"id": "go", "tools": ["find"]}])


def evaluate(factory, runs=1, topology=TASK, **options):
    return Evaluation(topology, factory, runs, **{"routes": ROUTES, "compensation": False, **options}).run()


def only(results):
    (run,) = results.all_runs
    return run


# kinds of agents ----------------------------------------------------------------------------------------------------------


def executor_agent(reach):
    state = {"refunds": {}}
    tools = reach.wrap_tools(tools_of(state))
    prompt = ChatPromptTemplate.from_messages([("human", "{input}"), ("placeholder", "{agent_scratchpad}")])
    return AgentExecutor(agent=create_tool_calling_agent(Script(lines=LINES), tools, prompt), tools=tools), state


def middleware_agent(reach):
    from langchain.agents import create_agent

    state = {"refunds": {}}
    return create_agent(Script(lines=LINES), tools_of(state), middleware=[reach.middleware()]), state


def plain_function(reach):
    state = {"refunds": {}}
    tools = {each.name: each for each in reach.wrap_tools(tools_of(state))}

    def answer(messages):
        for line in LINES[:-1]:
            for call in line.tool_calls:
                tools[call["name"]].invoke(call["args"])
        return LINES[-1]

    return answer, state


def async_function(reach):
    answer, state = plain_function(reach)

    async def aanswer(messages):
        await asyncio.sleep(0)
        return await asyncio.to_thread(answer, messages)

    return aanswer, state


def watched_only(reach):
    state = {"refunds": {}}
    tools = tools_of(state)
    from langgraph.prebuilt import ToolNode

    return graph(ToolNode(tools), LINES, tools), state


@pytest.mark.parametrize("factory", [agent(), executor_agent, middleware_agent, plain_function, async_function, watched_only])
def test_every_kind_of_agent_is_run_and_passes(factory):
    trace, figures = only(evaluate(factory))
    assert (trace.ended, trace.reason, figures.gate) == ("finished", "", True)
    assert [action.name for action in trace.actions] == ["find", "refund", "mail"]
    assert [action.done for action in trace.actions] == [("look",), ("pay",), ("tell",)]


def test_a_graph_that_is_only_async_is_run():
    @tool
    async def find(order: str) -> str:
        """Find."""
        return f"{order} found"

    def make(reach):
        return graph(reach.tool_node([find]), [ask(("find", {"order": "A1"})), "done"], [find])

    assert only(evaluate(make, topology=ONLY))[1].gate


@pytest.mark.parametrize("factory", [agent(), executor_agent, middleware_agent, plain_function])
@pytest.mark.parametrize("kind", ["error", "empty", "rate_limit", "latency", "malformed", "wrong"])
def test_faults_land_inside_every_wrapper(factory, kind):
    trace, _ = only(evaluate(factory, faults={"kinds": [kind], "stages": ["early"], **QUICK}))
    assert trace.landed == (f"{kind}@early",)
    assert trace.actions[0].tries[0].fault == f"{kind}@early"


def test_compensation_is_exercised_by_faults():
    faults = {"kinds": ["error", "empty", "rate_limit"], "stages": ["early"], **QUICK}
    alone, mended = evaluate(agent(), 6, faults=faults), evaluate(agent(), 6, faults=faults, compensation=True)
    assert [trace.faults for trace in alone.traces] == [trace.faults for trace in mended.traces]
    assert (alone.passed, mended.passed) == (0, 6)
    assert all(len(trace.actions[0].tries) > 1 for trace in mended.traces)
    assert all(figures.digested == figures.obstacles == 1 for _, figures in mended.all_runs)


def test_a_fault_that_found_nothing_to_spoil_did_not_land():
    trace, figures = only(evaluate(agent([*LINES[1:3], LINES[3]]), faults={"stages": ["early"], **QUICK}))
    assert (trace.faults != (), trace.landed, figures.obstacles) == (True, (), 0)


def test_a_side_effect_is_made_once_whatever_the_fault():
    made = []

    def make(reach):
        state = {"refunds": {}}
        tools = tools_of(state)

        @tool
        def refund(order: str, amount: float) -> dict:
            """Pay back."""
            made.append(order)
            state["refunds"][order] = amount
            return {"paid": amount}

        tools = [refund if each.name == "refund" else each for each in tools]
        return graph(reach.tool_node(tools, handle_tool_errors=True), LINES, tools), state

    evaluate(
        make, 6, faults={"kinds": ["empty", "malformed", "wrong", "latency"], "stages": ["middle"], **QUICK}, compensation=True
    )
    assert made == ["A1"] * 6


# agents that misbehave ----------------------------------------------------------------------------------------------------


def crash(reach):
    raise RuntimeError("no agent today")


def exits(reach):
    return lambda messages: os.sys.exit(3)


def prints(reach):
    return lambda messages: print("noise") or "done"


def hangs(reach):
    return lambda messages: time.sleep(30)


def loops(reach):
    tools = reach.wrap_tools(tools_of({"refunds": {}}))
    node = reach.tool_node(tools)
    return graph(node, [ask(("find", {"order": "A1"}))], tools)


def swallows(reach):
    """Never stops, and catches every Exception."""
    (find, *_) = reach.wrap_tools(tools_of({"refunds": {}}))

    def answer(messages):
        while True:
            try:
                find.invoke({"order": "A1"})
            except Exception:
                continue

    return answer


@pytest.mark.parametrize(
    ("factory", "ended", "reason"),
    [
        (crash, "crashed", "RuntimeError: no agent today"),
        (exits, "crashed", "SystemExit: 3"),
        (prints, "finished", ""),
        (hangs, "timeout", "not over within 1 s"),
        (loops, "step limit", ""),
        (swallows, "step limit", ""),
    ],
)
def test_what_an_agent_does_ends_its_run_and_never_the_evaluation(factory, ended, reason):
    results = evaluate(factory, 2, timeout=1.0 if factory is hangs else 30.0, most_actions=40)
    assert [trace.ended for trace in results.traces] == [ended, ended]
    assert all(reason in trace.reason for trace in results.traces)
    assert not results.broken


def forks(reach):
    def answer(messages):
        os.fork()
        return "done"

    return answer


def test_a_child_that_an_agent_forked_goes_no_further_than_the_agent(tmp_path):
    results = evaluate(forks, 3, out=tmp_path)
    assert len(results.traces) == 3
    time.sleep(0.3)
    assert len(Results.load(tmp_path).traces) == 3


@pytest.mark.parametrize("verify", [lambda state, results: 1 / 0, lambda state, results: time.sleep(60)])
def test_a_verify_that_raises_or_hangs_is_told_and_does_not_count(verify, monkeypatch):
    monkeypatch.setattr("agent_reach.evaluation.sandbox.VERIFY_SECONDS", 0.1)
    task = Topology(name="t", messages=["Go."], nodes=[{"id": "go", "tools": ["find"], "verify": verify}])
    trace, figures = only(evaluate(agent(), topology=task))
    assert "verify" in trace.refused["go"]
    assert not figures.gate
    assert trace.ended == "finished"


def test_the_budget_ends_runs_and_begins_no_further_one():
    results = evaluate(agent(), 20, budget=100, at_once=1)
    assert 1 < len(results.traces) < 20
    assert results.traces[-1].ended == "budget" or sum(t.tokens for t in results.traces) >= 100
    assert "the budget of 100 tokens is spent" in results.broken[0]


# conversations ------------------------------------------------------------------------------------------------------------


def asks(reach):
    def stop(state):
        return {"messages": [AIMessage(f"You said {interrupt('which order?')}.")]}

    built = StateGraph(MessagesState)
    built.add_node("stop", stop)
    built.add_edge(START, "stop")
    built.add_edge("stop", END)
    return built.compile(checkpointer=InMemorySaver())


def test_a_graph_that_asks_a_person_is_answered_or_ends_there():
    task = Topology(name="t", messages=["Go."], nodes=[{"id": "said", "verify": "messages"}], outputs=["A1"])
    assert only(evaluate(asks, topology=task))[0].ended == "interrupted"
    trace, _ = only(evaluate(asks, topology=task, on_interrupt=lambda request: "A1" if "order" in request else "?"))
    assert (trace.ended, trace.said) == ("finished", ("A1",))


def test_a_played_user_goes_on_until_it_has_nothing_more_to_say():
    def make(reach):
        return lambda messages: f"{len(messages)} messages. Which address?"

    def user(said):
        return "At home." if len(said) < 5 else None

    task = Topology(name="t", messages=["Go."], nodes=[{"id": "where", "asks": ["address"], "verify": "length(replies) > `2`"}])
    trace, figures = only(evaluate(make, topology=task, user=user))
    assert [action.kind for action in trace.actions] == ["message"] * 3
    assert figures.purity == 1.0


def test_open_nodes_are_the_agents_own_and_counted_apart():
    def make(reach):
        (find, *_) = reach.wrap_tools(tools_of({"refunds": {}}))

        def answer(messages):
            early = add_node("second look", ["find"])
            find.invoke({"order": "A1"})
            assert (early, add_node("second look", ["find"])) == (False, True)
            find.invoke({"order": "A2"})
            return "done"

        return answer

    task = ONLY.model_copy(update={"open": Topology(nodes=[{"id": "a"}], open={"when": "results.find"}).open})
    trace, figures = only(evaluate(make, topology=task))
    assert (trace.ended, trace.added, trace.added_done, figures.depth) == ("finished", ("second look",), ("second look",), 1.0)
    assert add_node("outside") is False


# keeping, spreading, telling ----------------------------------------------------------------------------------------------


def test_finished_runs_are_not_made_again(tmp_path):
    made = []

    def counted(reach):
        made.append(1)
        return agent()(reach)

    evaluate(counted, 2, out=tmp_path)
    kept = (tmp_path / "runs.jsonl").read_text()
    (tmp_path / "runs.jsonl").write_text(kept + '{"task": "refund", "run": 3, "act')  # a crash in the middle of a line
    results = evaluate(counted, 5, out=tmp_path)
    assert (len(made), len(results.traces)) == (5, 5)
    assert [trace.run for trace, _ in Results.load(tmp_path).all_runs] == [1, 2, 3, 4, 5]
    with pytest.raises(ReachError, match=r"holds runs of another evaluation .*seed"):
        evaluate(counted, 5, out=tmp_path, seed=7)


def test_a_folder_that_cannot_be_written_is_told_before_any_run(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ReachError, match="cannot be written"):
        Evaluation(TASK, agent(), out=tmp_path / "file" / "runs")


def test_runs_are_spread_over_processes():
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        results = evaluate(middleware_agent, 4, executor=pool)
    assert (results.passed, [trace.run for trace, _ in results.all_runs]) == (4, [1, 2, 3, 4])


def kills_its_process(reach):
    os._exit(7)


def test_a_process_that_dies_loses_its_runs_and_says_so():
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        results = evaluate(kills_its_process, 2, executor=pool)
    assert (results.traces, len(results.broken)) == ([], 2)
    assert "a run could not be made" in results.broken[0]


def test_runs_are_spread_over_a_dask_cluster():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        results = evaluate(middleware_agent, 4, executor=client.get_executor())
    assert results.passed == 4


async def test_an_evaluation_runs_beside_a_loop():
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.001)

    beside = asyncio.create_task(tick())
    results = await Evaluation(TASK, agent(), 2, routes=ROUTES).arun()
    beside.cancel()
    assert results.passed == 2
    assert ticks > 1


def test_runs_nodes_and_faults_are_in_the_spans(monkeypatch):
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(
        "agent_reach.evaluate.Reach", lambda *args, **kwargs: Reach(*args, **{**kwargs, "tracer_provider": provider})
    )
    evaluate(agent(), faults={"kinds": ["empty"], "stages": ["late"], **QUICK}, agent="v2")
    spans = {span.name: span for span in exporter.get_finished_spans()}
    run = spans["task_run refund"]
    assert run.attributes["agent_reach.task.ended"] == "finished"
    assert run.attributes["agent_reach.agent.version"] == "v2"
    assert (run.attributes["agent_reach.task.gate"], run.attributes["agent_reach.task.left_at"]) == (False, 3)
    assert [(e.name, e.attributes["agent_reach.node"]) for e in run.events] == [
        ("agent_reach.node", "look"),
        ("agent_reach.node", "pay"),
    ]
    assert spans["execute_tool mail"].attributes["agent_reach.fault"] == "empty@late"
    assert spans["invoke_agent agent"].context.trace_id == run.context.trace_id


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"runs": 0}, "runs: expected a whole number from 1"),
        ({"preset": "loud"}, "preset: expected one of default"),
        ({"faults": ["fire"]}, "faults: expected True, kinds of faults"),
        ({"timeout": 0}, "timeout: expected seconds above 0"),
        ({"agent_factory": 3}, "agent_factory: expected a function"),
        ({"topology": [TASK, TASK]}, "each with a name of its own"),
    ],
)
def test_a_wrong_argument_is_told(options, said):
    given = {"topology": TASK, "agent_factory": agent(), **options}
    with pytest.raises(ContractError, match=said):
        Evaluation(**given)
