"""The ladder on real graphs: what runs, what the model is told, and that nothing with a side effect runs twice."""

import pytest
from langchain.agents import create_agent
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command

from agent_reach import Compensation
from agent_reach.events import CompensationStep, Thought, ToolAttempt, ToolCall, Turn
from tests.integration.agents import Script, ask, graph, run, tool_texts, user

MODES = pytest.mark.parametrize("mode", ["sync", "async"])
FAST = Compensation(backoff=0.0, backoff_max=0.0)


class Shop:
    """Tools that count how often their bodies run."""

    def __init__(self):
        self.ran = []

    def tools(self):
        ran = self.ran

        @tool
        def db(order: str) -> dict:
            """Look up."""
            ran.append("db")
            return {"data": None}

        @tool
        def replica(id: str) -> dict:
            """Look up elsewhere."""
            ran.append("replica")
            return {"data": {"id": id}}

        @tool
        def charge(amount: int) -> str:
            """Charge a card."""
            ran.append(f"charge {amount}")
            raise TimeoutError("no answer")

        @tool
        def notify(text: str) -> dict:
            """Send a message."""
            ran.append(f"notify {text}")
            return {"sent": True}

        return [db, replica, charge, notify]


ROUTES = {
    "tools": {
        "db": {"read_only": True, "alternates": [{"tool": "replica", "arguments": {"order": "id"}}]},
        "replica": {"read_only": True},
        "charge": {"side_effect": True},
        "notify": {"side_effect": True},
    }
}


def build(seen, way, tools, lines, **options):
    if way == "node":
        return graph(seen.reach.tool_node(tools, handle_tool_errors=True), lines, tools, **options)
    return create_agent(Script(lines=lines), tools, middleware=[seen.reach.middleware()], **options)


WAYS = pytest.mark.parametrize("way", ["node", "middleware"])


@MODES
@WAYS
async def test_an_empty_result_is_retried_then_rerouted_and_the_model_is_told(observed, mode, way):
    shop, seen = Shop(), observed(ROUTES, compensation=FAST)
    app = build(seen, way, shop.tools(), [ask(("db", {"order": "A"})), "done"])
    with seen.reach.session("s") as session:
        state = await run(app, user(), {"callbacks": [seen.reach.tracker]}, mode)
    assert shop.ran == ["db", "db", "replica"]
    [text] = tool_texts(state)
    assert text.startswith('{"data": {"id": "A"}}')
    assert "`db` gave empty (no_data) (2 times); this comes from `replica` instead" in text
    assert [m.name for m in state["messages"] if m.type == "tool"] == ["db"]
    assert (session.score.tool, session.score.first_tool) == (1.0, 0.0)
    assert [(e.rung, e.tool) for e in seen.of(ToolAttempt)] == [("first", "db"), ("retry", "db"), ("reroute", "replica")]
    assert [e.rung for e in seen.of(CompensationStep)] == ["retry", "reroute"]
    attempts = [s for s in seen.spans if s.attributes.get("agent_reach.event") == "tool_attempt"]
    [call] = [s for s in seen.spans if s.attributes.get("agent_reach.event") == "tool_call"]
    assert {s.parent.span_id for s in attempts} == {call.context.span_id}


@MODES
@WAYS
async def test_an_exhausted_empty_result_is_told_to_be_none(observed, mode, way):
    shop, seen = Shop(), observed({"tools": {"db": {"read_only": True}}}, compensation=FAST)
    app = build(seen, way, shop.tools(), [ask(("db", {"order": "A"})), "done"])
    state = await run(app, user(), {}, mode)
    assert "does not mean that nothing exists" in tool_texts(state)[0]


@MODES
@WAYS
async def test_a_snapshot_of_the_same_session_stands_in_with_its_age(observed, mode, way):
    answers = [{"data": 1}, ConnectionError("down")]

    @tool
    def price(item: str) -> dict:
        """Price."""
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    seen = observed({"tools": {"price": {"read_only": True}}}, compensation=FAST)
    lines = [ask(("price", {"item": "tea"})), "one", ask(("price", {"item": "tea"})), "two"]
    app = build(seen, way, [price], lines, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}, "callbacks": [seen.reach.tracker]}
    await run(app, user("price?"), config, mode)
    state = await run(app, user("again?"), config, mode)
    assert "earlier result of the same call, 0 s old" in tool_texts(state)[-1]
    assert [(e.status, e.stale_seconds, e.compensation) for e in seen.of(ToolCall)] == [("ok", -1, ""), ("ok", 0, "snapshot")]
    assert {m.tool_call_id for m in state["messages"] if m.type == "tool"} == {e.call_id for e in seen.of(ToolCall)}


@MODES
async def test_a_person_is_asked_after_all_calls_ran_once_and_no_tool_runs_again(observed, mode):
    shop, seen = Shop(), observed(ROUTES, compensation=Compensation(human="interrupt", backoff=0.0, reroute=False))
    lines = [ask(("notify", {"text": "a"}), ("charge", {"amount": 1}), ("charge", {"amount": 2})), "done"]
    app = build(seen, "node", shop.tools(), lines, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}, "callbacks": [seen.reach.tracker]}
    state = await run(app, user(), config, mode)
    first = state["__interrupt__"][0].value
    assert first["uncertain"]
    assert "Whether it took effect is not known" in first["question"]
    assert (first["tool"], first["arguments"], first["tried"]) == (
        "charge",
        {"amount": 1},
        [{"tool": "charge", "reason": "timeout"}],
    )
    state = await run(app, Command(resume="booked one"), config, mode)
    assert state["__interrupt__"][0].value["arguments"] == {"amount": 2}
    state = await run(app, Command(resume={"content": "booked two"}), config, mode)
    assert tool_texts(state) == ['{"sent": true}', "booked one", "booked two"]
    assert sorted(shop.ran) == ["charge 1", "charge 2", "notify a"]
    assert sorted(e.status for e in seen.of(ToolCall)) == ["fail", "fail", "ok"]
    assert {e.compensation for e in seen.of(ToolCall)} == {"", "human"}
    assert len(seen.of(Turn)) == 1


@MODES
async def test_create_agent_asks_a_person_between_its_steps(observed, mode):
    shop, seen = Shop(), observed(ROUTES, compensation=Compensation(human="interrupt", backoff=0.0))
    lines = [ask(("notify", {"text": "a"}), ("charge", {"amount": 1})), "done"]
    app = build(seen, "middleware", shop.tools(), lines, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}, "callbacks": [seen.reach.tracker]}
    state = await run(app, user(), config, mode)
    assert state["__interrupt__"][0].value["tool"] == "charge"
    state = await run(app, Command(resume="booked"), config, mode)
    assert tool_texts(state) == ['{"sent": true}', "booked"]
    assert sorted(shop.ran) == ["charge 1", "notify a"]


@MODES
async def test_a_direct_answer_that_failed_is_asked_about_after_the_agent(observed, mode):
    @tool(return_direct=True)
    def lookup(x: int) -> list:
        """Answer directly."""
        return []

    seen = observed({"tools": {"lookup": {}}}, compensation=Compensation(human="interrupt"))
    app = build(seen, "middleware", [lookup], [ask(("lookup", {"x": 1}))], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    assert "__interrupt__" in await run(app, user(), config, mode)
    state = await run(app, Command(resume="from a person"), config, mode)
    assert tool_texts(state) == ["from a person"]


@MODES
async def test_a_human_node_gets_the_message_by_command(observed, mode):
    shop, seen = Shop(), observed(ROUTES, compensation=Compensation(human="node:clerk"))

    def clerk(state):
        return {"messages": [("assistant", "a clerk will write to you")]}

    built = StateGraph(MessagesState)
    built.add_node("tools", seen.reach.tool_node(shop.tools(), handle_tool_errors=True))
    built.add_node("clerk", clerk)
    built.add_edge(START, "tools")
    built.add_edge("clerk", END)
    state = await run(built.compile(), {"messages": [("user", "hi"), ask(("charge", {"amount": 1}))]}, {}, mode)
    assert state["messages"][-1].content == "a clerk will write to you"
    assert state["messages"][-2].additional_kwargs["agent_reach_human"]["tool"] == "charge"


async def test_without_a_checkpointer_nobody_is_asked_and_that_is_noted(observed):
    shop, seen = Shop(), observed(ROUTES, compensation=Compensation(human="interrupt"))
    app = build(seen, "node", shop.tools(), [ask(("charge", {"amount": 1})), "done"])
    state = await run(app, user(), {}, "sync")
    assert "TimeoutError" in tool_texts(state)[0]
    assert seen.reach.notes.counts["human"] == 1


def executor(tools, lines, **options):
    prompt = ChatPromptTemplate.from_messages([("human", "{input}"), ("placeholder", "{agent_scratchpad}")])
    return AgentExecutor(agent=create_tool_calling_agent(Script(lines=lines), tools, prompt), tools=tools, **options)


@MODES
async def test_wrapped_tools_compensate_in_an_agent_executor(observed, mode):
    shop, seen = Shop(), observed(ROUTES, compensation=FAST)
    tools = seen.reach.wrap_tools(shop.tools())
    agent = executor(tools, [ask(("db", {"order": "A"})), "done"], return_intermediate_steps=True)
    with seen.reach.session("s", agent="desk"):
        out = await run(agent, {"input": "hi"}, {"callbacks": [seen.reach.tracker]}, mode)
    assert shop.ran == ["db", "db", "replica"]
    assert "this comes from `replica` instead" in out["intermediate_steps"][0][1]
    [call] = seen.of(ToolCall)
    assert (call.status, call.attempts, call.served_by, call.agent) == ("ok", 3, "replica", "desk")
    assert [t.tool for t in seen.of(Thought)] == ["db"]
    assert [t.outcome for t in seen.of(Turn)] == ["answered"]


@MODES
async def test_an_agent_executor_is_watched_by_callbacks_alone(observed, mode):
    shop, seen = Shop(), observed()
    agent = executor(shop.tools(), [ask(("db", {"order": "A"})), ask(("nowhere", {"x": 1})), "done"])
    await run(agent, {"input": "hi"}, {"callbacks": [seen.reach.tracker], "metadata": {"session_id": "s"}}, mode)
    assert [(e.tool, e.status, e.fail_cause) for e in seen.of(ToolCall)] == [
        ("db", "empty_alias", ""),
        ("nowhere", "fail", "unknown_tool"),
    ]
    assert {e.session for e in seen.events} == {"s"}


@MODES
async def test_an_iteration_limit_is_no_answer(observed, mode):
    shop, seen = Shop(), observed()
    agent = executor(shop.tools(), [ask(("db", {"order": "A"}))], max_iterations=2)
    await run(agent, {"input": "hi"}, {"callbacks": [seen.reach.tracker]}, mode)
    assert [t.outcome for t in seen.of(Turn)] == ["abandoned"]


@MODES
async def test_a_wrapped_tool_keeps_its_face(observed, mode):
    shop, seen = Shop(), observed()
    for original, wrapped in zip(shop.tools(), seen.reach.wrap_tools(shop.tools()), strict=True):
        assert type(wrapped) is type(original)
        assert (wrapped.name, wrapped.description, wrapped.args) == (original.name, original.description, original.args)
        assert wrapped.tool_call_schema.model_json_schema() == original.tool_call_schema.model_json_schema()


async def test_an_attempt_over_its_timeout_is_given_up(observed):
    import asyncio

    @tool
    async def slow(x: int) -> str:
        """Take long."""
        await asyncio.sleep(30)
        return "x"

    seen = observed({"tools": {"slow": {"timeout_s": 0.05}}}, compensation=FAST)
    app = build(seen, "node", [slow], [ask(("slow", {"x": 1})), "done"])
    state = await run(app, user(), {}, "async")
    assert "TimeoutError" in tool_texts(state)[0]
    seen.reach.shutdown()
    assert [e.fail_cause for e in seen.of(ToolCall)] == ["timeout"]


async def test_a_session_has_a_budget_for_what_compensation_costs(observed):
    shop, seen = Shop(), observed(ROUTES, compensation=Compensation(backoff=0.0, cost_budget=1.0))
    app = build(seen, "node", shop.tools(), [ask(("db", {"order": "A"})), "done"])
    await run(app, user(), {}, "sync")
    assert shop.ran == ["db", "db"]
    assert seen.reach.notes.counts["cost_budget"] == 1


@MODES
@pytest.mark.parametrize("static_edge", [True, False])
async def test_a_static_edge_beside_the_human_node_is_warned_of(observed, mode, static_edge):
    shop, seen = Shop(), observed(ROUTES, compensation=Compensation(human="node:clerk"))
    built = StateGraph(MessagesState)
    built.add_node("tools", seen.reach.tool_node(shop.tools(), handle_tool_errors=True))
    built.add_node("clerk", lambda state: {"messages": [("assistant", "wait")]})
    built.add_node("model", lambda state: {"messages": [("assistant", "done")]})
    built.add_edge(START, "tools")
    if static_edge:
        built.add_edge("tools", "model")
    state = {"messages": [("user", "hi"), ask(("charge", {"amount": 1}))]}
    await run(built.compile(), state, {"callbacks": [seen.reach.tracker]}, mode)
    assert (seen.reach.notes.counts["human_node"] > 0) is static_edge
