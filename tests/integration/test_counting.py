"""Each call counts once, whoever watches it and however it runs."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, RetryPolicy, interrupt

from agent_reach import Compensation, ReachTracker
from agent_reach.events import Decision, ToolAttempt, ToolCall, Turn, UnitClosed
from tests.integration.agents import Script, ask, graph, run, tool_texts, user

MODES = pytest.mark.parametrize("mode", ["sync", "async"])


@tool
def find(x: int) -> dict:
    """Find."""
    return {"found": x}


@tool
def nothing(x: int) -> list:
    """Find nothing."""
    return []


@tool
def broken(x: int) -> str:
    """Raise."""
    raise TimeoutError("too slow")


def statuses(observed):
    return sorted(e.status for e in observed.of(ToolCall))


def setups(seen):
    """The ways to watch a tool node."""
    return {
        "tracker": (ToolNode, [seen.reach.tracker]),
        "node": (seen.reach.tool_node, []),
        "both": (seen.reach.tool_node, [seen.reach.tracker]),
    }


@MODES
@pytest.mark.parametrize("way", ["tracker", "node", "both"])
async def test_parallel_calls_count_once_with_their_status(observed, mode, way):
    seen = observed()
    make, callbacks = setups(seen)[way]
    calls = ask(*(("find", {"x": n}) for n in range(4)), ("nothing", {"x": 1}), ("broken", {"x": 1}))
    app = graph(make([find, nothing, broken], handle_tool_errors=True), [calls, "done"])
    with seen.reach.session("s"):
        await run(app, user(), {"callbacks": callbacks}, mode)
    assert statuses(seen) == ["empty_alias", "fail", "ok", "ok", "ok", "ok"]
    assert [e.fail_cause for e in seen.of(ToolCall) if e.status == "fail"] == ["timeout"]
    assert len(seen.of(ToolAttempt)) == 0
    assert not seen.reach.runtime.open_runs
    assert not seen.reach.runtime.turns._by_run


@MODES
@pytest.mark.parametrize("way", ["tracker", "node", "both"])
async def test_an_unknown_tool_counts_once_as_a_failure(observed, mode, way):
    seen = observed()
    make, callbacks = setups(seen)[way]
    app = graph(make([find]), [ask(("nowhere", {"x": 1})), "done"])
    with seen.reach.session("s"):
        await run(app, user(), {"callbacks": callbacks}, mode)
    assert [(e.tool, e.fail_cause, e.stage, e.attempts) for e in seen.of(ToolCall)] == [("nowhere", "unknown_tool", "before", 0)]


@MODES
@pytest.mark.parametrize("way", ["tracker", "node", "both"])
async def test_bad_arguments_count_once_before_the_body(observed, mode, way):
    seen = observed()
    make, callbacks = setups(seen)[way]
    app = graph(make([find]), [ask(("find", {"x": "many"})), "done"])
    with seen.reach.session("s"):
        await run(app, user(), {"callbacks": callbacks}, mode)
    assert [(e.status, e.fail_cause, e.stage) for e in seen.of(ToolCall)] == [("fail", "bad_arguments", "before")]


@MODES
@pytest.mark.parametrize("way", ["tracker", "node", "both"])
async def test_an_id_that_the_model_repeats_in_one_message_is_two_calls(observed, mode, way):
    seen = observed()
    make, callbacks = setups(seen)[way]
    app = graph(make([find]), [ask(("find", {"x": 1}), ("find", {"x": 2}), ids=["same", "same"]), "done"])
    with seen.reach.session("s"):
        await run(app, user(), {"callbacks": callbacks}, mode)
    assert statuses(seen) == ["ok", "ok"]


@MODES
@pytest.mark.parametrize("way", ["tracker", "node", "both"])
async def test_a_nested_tool_is_a_call_of_its_own_under_the_outer_one(observed, mode, way):
    @tool
    async def aouter(x: int) -> dict:
        """Call another tool."""
        return await find.ainvoke({"x": x})

    @tool
    def outer(x: int) -> dict:
        """Call another tool."""
        return find.invoke({"x": x})

    seen = observed()
    make, callbacks = setups(seen)[way]
    chosen = outer if mode == "sync" else aouter
    app = graph(make([chosen]), [ask((chosen.name, {"x": 1})), "done"])
    with seen.reach.session("s"):
        await run(app, user(), {"callbacks": callbacks}, mode)
    calls = {e.tool: e for e in seen.of(ToolCall)}
    assert set(calls) == ({chosen.name} if way == "node" else {chosen.name, "find"})
    if way == "both":
        assert calls["find"].parent == calls[chosen.name].id


@MODES
@pytest.mark.parametrize("order", ["retry outside", "retry inside", "tracker only"])
async def test_a_retry_of_another_middleware_is_one_call_with_its_attempts(observed, mode, order):
    tries = []

    @tool
    def flaky(x: int) -> dict:
        """Fail twice."""
        tries.append(x)
        if len(tries) < 3:
            raise ConnectionError("reset")
        return {"found": x}

    seen = observed()
    retry = ToolRetryMiddleware(max_retries=3, initial_delay=0.0, jitter=False)
    middleware = {
        "retry outside": [retry, seen.reach.middleware()],
        "retry inside": [seen.reach.middleware(), retry],
        "tracker only": [retry],
    }[order]
    agent = create_agent(Script(lines=[ask(("flaky", {"x": 1})), "done"]), [flaky], middleware=middleware)
    with seen.reach.session("s"):
        await run(agent, user(), {"callbacks": [seen.reach.tracker]}, mode)
    [call] = seen.of(ToolCall)
    assert (call.status, call.attempts, call.first_status) == ("ok", 3, "fail")
    assert [e.status for e in seen.of(ToolAttempt)] == ["fail", "fail", "ok"]


@MODES
@pytest.mark.parametrize("way", ["tracker", "node", "both"])
async def test_a_node_that_is_run_again_by_its_retry_policy_counts_its_calls_once(observed, mode, way):
    tries = []

    @tool
    def flaky(x: int) -> dict:
        """Fail once."""
        tries.append(x)
        if len(tries) < 2:
            raise ConnectionError("reset")
        return {"found": x}

    seen = observed()
    make, callbacks = setups(seen)[way]
    built = StateGraph(MessagesState)
    policy = RetryPolicy(initial_interval=0.01, max_attempts=3, retry_on=ConnectionError)
    built.add_node("tools", make([flaky], handle_tool_errors=False), retry_policy=policy)
    built.add_edge(START, "tools")
    built.add_edge("tools", END)
    with seen.reach.session("s"):
        state = {"messages": [("user", "hi"), ask(("flaky", {"x": 1}))]}
        await run(built.compile(), state, {"callbacks": callbacks}, mode)
    [call] = seen.of(ToolCall)
    assert (call.status, call.attempts) == ("ok", 2)


@MODES
async def test_middleware_tracker_and_wrapped_tools_together_count_once(observed, mode):
    seen = observed()
    tools = seen.reach.wrap_tools([find, nothing])
    agent = create_agent(
        Script(lines=[ask(("find", {"x": 1}), ("nothing", {"x": 1})), "done"]), tools, middleware=[seen.reach.middleware()]
    )
    with seen.reach.session("s") as session:
        await run(agent, user(), {"callbacks": [seen.reach.tracker]}, mode)
    assert statuses(seen) == ["empty_alias", "ok"]
    assert len(seen.of(Turn)) == 1
    assert len(seen.of(Decision)) == 2
    assert session.score.tool == pytest.approx(0.3)


@MODES
async def test_the_middleware_alone_ends_the_turn_at_the_final_answer(observed, mode):
    seen = observed()
    agent = create_agent(
        Script(lines=[ask(("nothing", {"x": 1})), "done"]), [nothing], middleware=[seen.reach.middleware()], name="helper"
    )
    with seen.reach.session("s") as session:
        await run(agent, user(), {}, mode)
        assert session.score.tool == 0.0
        assert [t.outcome for t in seen.of(Turn)] == ["answered"]
    assert [(e.agent, e.offered) for e in seen.of(ToolCall)] == [("helper", ("nothing",))]


@MODES
async def test_a_lone_tool_node_settles_at_the_next_turn_and_at_the_end(observed, mode):
    seen = observed()
    app = graph(
        seen.reach.tool_node([nothing]),
        [ask(("nothing", {"x": 1})), "one", ask(("nothing", {"x": 2})), "two"],
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": "t-1"}}
    await run(app, user("first"), config, mode)
    assert seen.of(UnitClosed) == []
    await run(app, user("second"), config, mode)
    assert [u.taken for u in seen.of(UnitClosed)] == [1]
    seen.reach.shutdown()
    assert [u.taken for u in seen.of(UnitClosed)] == [1, 1]
    assert {e.session for e in seen.events} == {"t-1"}


@MODES
@pytest.mark.parametrize("way", ["tracker", "node", "both"])
async def test_the_tools_own_interrupt_counts_when_it_is_resumed(observed, mode, way):
    @tool
    def confirm(x: int) -> str:
        """Ask first."""
        return f"confirmed: {interrupt('sure?')}"

    seen = observed()
    make, callbacks = setups(seen)[way]
    app = graph(make([confirm]), [ask(("confirm", {"x": 1})), "done"], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}, "callbacks": callbacks}
    await run(app, user(), config, mode)
    assert statuses(seen) == ["interrupted"]
    await run(app, Command(resume="yes"), config, mode)
    assert statuses(seen) == ["interrupted", "ok"]
    seen.reach.shutdown()
    assert seen.reach.score("t").tool == 1.0
    assert len(seen.of(Turn)) == 1
    assert all(span.status.status_code.name != "ERROR" for span in seen.spans)


@MODES
async def test_a_cancelled_call_is_not_a_failure(observed, mode):
    @tool
    async def slow(x: int) -> str:
        """Never end."""
        await asyncio.sleep(60)
        return "x"

    seen = observed()
    app = graph(seen.reach.tool_node([slow]), [ask(("slow", {"x": 1})), "done"])
    with seen.reach.session("s"), pytest.raises((asyncio.TimeoutError, TimeoutError)):
        await asyncio.wait_for(app.ainvoke(user(), {"callbacks": [seen.reach.tracker]}), 0.2)
    assert statuses(seen) == ["cancelled"]
    assert [t.outcome for t in seen.of(Turn)] == ["abandoned"]
    assert seen.reach.score("s").tool is None


@MODES
async def test_a_stream_that_is_left_half_way_abandons_its_turn(observed, mode):
    seen = observed()
    app = graph(seen.reach.tool_node([nothing]), [ask(("nothing", {"x": 1})), ask(("nothing", {"x": 2})), "done"])
    config = {"callbacks": [seen.reach.tracker], "metadata": {"session_id": "s"}}
    if mode == "sync":
        stream = app.stream(user(), config)
        next(stream), next(stream)
        stream.close()
    else:
        stream = app.astream(user(), config)
        await stream.__anext__(), await stream.__anext__()
        await stream.aclose()
    assert [t.outcome for t in seen.of(Turn)] == ["abandoned"]
    assert seen.of(UnitClosed) == []
    assert not seen.reach.runtime.turns._by_run


@MODES
async def test_a_step_limit_abandons_the_turn(observed, mode):
    seen = observed()
    app = graph(seen.reach.tool_node([find]), [ask(("find", {"x": 1}))])
    with seen.reach.session("s"), pytest.raises(Exception, match="ecursion"):
        await run(app, user(), {"callbacks": [seen.reach.tracker], "recursion_limit": 6}, mode)
    assert [t.outcome for t in seen.of(Turn)] == ["abandoned"]


@MODES
async def test_subgraphs_that_repeat_a_call_id_count_apart(observed, mode):
    seen = observed()
    inner = [graph(seen.reach.tool_node([find]), [ask(("find", {"x": n}), ids=["same"]), "done"]) for n in range(2)]
    outer = StateGraph(MessagesState)
    for number, sub in enumerate(inner):
        outer.add_node(f"agent{number}", sub)
    outer.add_edge(START, "agent0")
    outer.add_edge("agent0", "agent1")
    with seen.reach.session("s"):
        await run(outer.compile(), user(), {"callbacks": [seen.reach.tracker]}, mode)
    assert [(e.agent, e.status) for e in seen.of(ToolCall)] == [("agent0", "ok"), ("agent1", "ok")]


async def test_two_graphs_at_once_keep_their_sessions_apart(observed):
    seen = observed()
    app = graph(seen.reach.tool_node([find]), [ask(("find", {"x": 1}))])
    state = {"messages": [("user", "hi"), ask(("find", {"x": 1}))]}
    built = StateGraph(MessagesState)
    built.add_node("tools", seen.reach.tool_node([find]))
    built.add_edge(START, "tools")
    app = built.compile()
    configs = [{"callbacks": [seen.reach.tracker], "metadata": {"session_id": f"s{n}"}} for n in range(50)]
    await asyncio.gather(*(app.ainvoke(state, c) for c in configs))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda c: app.invoke(state, c), configs))
    counts = {f"s{n}": sum(e.session == f"s{n}" for e in seen.of(ToolCall)) for n in range(50)}
    assert set(counts.values()) == {2}


@MODES
async def test_two_trackers_of_two_reaches_see_the_same_run_each_once(observed, mode):
    one, two = observed(), observed()
    app = graph(one.reach.tool_node([find]), [ask(("find", {"x": 1})), "done"])
    await run(app, user(), {"callbacks": [one.reach.tracker, two.reach.tracker], "metadata": {"session_id": "s"}}, mode)
    assert (len(one.of(ToolCall)), len(two.of(ToolCall))) == (1, 1)


@MODES
async def test_a_handled_tool_exception_is_a_failure_in_a_tool_node(observed, mode):
    @tool
    def declined(x: int) -> str:
        """Decline."""
        raise ToolException("declined: too many requests")

    declined.handle_tool_error = True
    seen = observed()
    for way, (make, callbacks) in setups(seen).items():
        app = graph(make([declined]), [ask(("declined", {"x": 1})), "done"])
        with seen.reach.session(way):
            await run(app, user(), {"callbacks": callbacks}, mode)
    assert [(e.status, e.fail_cause) for e in seen.of(ToolCall)] == [("fail", "rate_limited")] * 3


@MODES
async def test_observing_gives_the_graph_the_same_messages(observed, mode):
    lines = [ask(("find", {"x": 1}), ("nothing", {"x": 2}), ("nowhere", {"x": 3}), ids=["a", "b", "c"]), "done"]
    plain = await run(graph(ToolNode([find, nothing]), lines), user(), {}, mode)
    seen = observed()
    watched = await run(graph(seen.reach.tool_node([find, nothing]), lines), user(), {"callbacks": [seen.reach.tracker]}, mode)
    assert tool_texts(watched) == tool_texts(plain)
    assert [m.type for m in watched["messages"]] == [m.type for m in plain["messages"]]


async def test_a_tracker_works_without_anything():
    tracker = ReachTracker()
    app = graph(ToolNode([find]), [ask(("find", {"x": 1})), "done"])
    await app.ainvoke(user(), {"callbacks": [tracker], "configurable": {"thread_id": "t"}})
    assert tracker.runtime.evaluator.find("t").score.tool == 1.0


@MODES
async def test_a_dry_run_reports_what_it_would_do_and_does_nothing(observed, mode):
    seen = observed(
        {"tools": {"nothing": {"read_only": True, "alternates": ["find"]}}}, compensation=Compensation(dry_run=True, backoff=0.0)
    )
    app = graph(seen.reach.tool_node([nothing, find]), [ask(("nothing", {"x": 1})), "done"])
    with seen.reach.session("s"):
        state = await run(app, user(), {"callbacks": [seen.reach.tracker]}, mode)
    assert tool_texts(state) == ["[]"] or tool_texts(state) == [[]]
    [call] = seen.of(ToolCall)
    assert (call.status, call.attempts) == ("empty_alias", 1)
    steps = [(e.rung, e.target, e.dry_run) for e in seen.events if type(e).__name__ == "CompensationStep"]
    assert steps == [("retry", "nothing", True), ("reroute", "find", True)]
