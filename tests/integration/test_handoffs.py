"""Handoffs of langgraph-supervisor, langgraph-swarm, deepagents and `Command(goto=…)`."""

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from langgraph_supervisor import create_supervisor
from langgraph_swarm import create_handoff_tool, create_swarm

from agent_reach import Compensation, HandoffContract, Reach, ReachError
from agent_reach.events import CompensationStep, Handoff, ToolCall
from tests.integration.agents import Script, ask, run, tool_texts, user

MODES = pytest.mark.parametrize("mode", ["sync", "async"])
ROUTES = {"handoffs": {"orders": {"required": {"properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}}}}


@tool
def find(x: int) -> dict:
    """Find."""
    return {"found": x}


def spans_are_clean(seen):
    return all(span.status.status_code.name != "ERROR" for span in seen.spans)


@MODES
@pytest.mark.parametrize("text", ["order_id: A-1 please", "my order"])
async def test_a_supervisor_hands_over_and_completeness_is_looked_for_in_the_history(observed, mode, text):
    seen = observed(ROUTES)
    orders = create_agent(
        Script(lines=[ask(("find", {"x": 1})), "found"]), [find], name="orders", middleware=[seen.reach.middleware()]
    )
    boss = create_supervisor([orders], model=Script(lines=[ask(("transfer_to_orders", {})), "done"])).compile()
    with seen.reach.session("s") as session:
        await run(boss, user(text), {"callbacks": [seen.reach.tracker]}, mode)
    [handoff] = seen.of(Handoff)
    assert (handoff.sender, handoff.receiver) == ("supervisor", "orders")
    assert handoff.missing == (() if "A-1" in text else ("order_id",))
    assert session.score.task == (1.0 if "A-1" in text else 0.0)
    assert sorted((e.tool, e.status) for e in seen.of(ToolCall)) == [("find", "ok"), ("transfer_to_orders", "handoff")]
    assert spans_are_clean(seen)


@MODES
async def test_a_swarm_hands_over(observed, mode):
    seen = observed(ROUTES)
    to_orders = create_handoff_tool(agent_name="orders")
    triage = create_agent(
        Script(lines=[ask(("transfer_to_orders", {}))]), [to_orders], name="triage", middleware=[seen.reach.middleware()]
    )
    orders = create_agent(Script(lines=["done"]), [find], name="orders")
    app = create_swarm([triage, orders], default_active_agent="triage").compile(checkpointer=InMemorySaver())
    await run(app, user("order_id is A-1"), {"callbacks": [seen.reach.tracker], "configurable": {"thread_id": "t"}}, mode)
    [handoff] = seen.of(Handoff)
    assert (handoff.sender, handoff.receiver, handoff.missing) == ("triage", "orders", ())
    assert spans_are_clean(seen)


@MODES
async def test_a_deep_agents_subagent_is_a_handoff_and_its_tools_count(observed, mode):
    seen = observed(ROUTES)
    sub = {
        "name": "orders",
        "description": "d",
        "system_prompt": "p",
        "tools": [find],
        "model": Script(lines=[ask(("find", {"x": 1})), "sub done"]),
    }
    call = ask(("task", {"description": "look up order_id A-1", "subagent_type": "orders"}))
    agent = create_deep_agent(model=Script(lines=[call, "done"]), tools=[], subagents=[sub])
    with seen.reach.session("s"):
        await run(agent, user(), {"callbacks": [seen.reach.tracker]}, mode)
    [handoff] = seen.of(Handoff)
    assert (handoff.receiver, handoff.missing) == ("orders", ("order_id",))
    calls = {e.tool: e for e in seen.of(ToolCall)}
    assert (calls["task"].status, calls["find"].status) == ("ok", "ok")
    assert spans_are_clean(seen)


@MODES
async def test_a_node_that_goes_to_a_declared_agent_hands_over_and_mere_routing_does_not(observed, mode):
    seen = observed(ROUTES)

    def triage(state) -> Command:
        return Command(goto="orders", update={"messages": [("assistant", "order_id: A-1")]})

    def orders(state) -> Command:
        return Command(goto="closing")

    built = StateGraph(MessagesState)
    built.add_node("triage", triage, destinations=("orders",))
    built.add_node("orders", orders, destinations=("closing",))
    built.add_node("closing", lambda state: {"messages": [("assistant", "done")]})
    built.add_edge(START, "triage")
    with seen.reach.session("s"):
        await run(built.compile(), user(), {"callbacks": [seen.reach.tracker]}, mode)
    assert [(h.sender, h.receiver) for h in seen.of(Handoff)] == [("triage", "orders")]


def desk(seen, lines, told):
    """triage → orders with a contracted handoff tool; `told` keeps what the receiver reads."""
    hand_over = seen.reach.handoff_tool("orders")
    triage = create_agent(Script(lines=lines), [hand_over], name="triage", middleware=[seen.reach.middleware()])

    def orders(state):
        told.extend(tool_texts(state))
        return {"messages": [("assistant", "done")]}

    built = StateGraph(MessagesState)
    built.add_node("triage", triage)
    built.add_node("orders", orders)
    built.add_edge(START, "triage")
    return built.compile()


@MODES
async def test_a_missing_parameter_is_supplied_from_shared_facts(observed, mode):
    seen, told = observed(ROUTES, compensation=Compensation()), []
    app = desk(seen, [ask(("transfer_to_orders", {"goal": "look"}))], told)
    with seen.reach.session("s") as session:
        session.share(order_id="A-7")
        await run(app, user(), {"callbacks": [seen.reach.tracker]}, mode)
    [handoff] = seen.of(Handoff)
    assert (handoff.missing, handoff.supplied) == ((), ("order_id",))
    assert 'supplied {"order_id": "A-7"}' in told[0]
    assert [(e.rung, e.target) for e in seen.of(CompensationStep)] == [("supply", "orders")]


@MODES
async def test_the_sender_is_asked_once_for_what_nobody_knows(observed, mode):
    seen, told = observed(ROUTES, compensation=Compensation()), []
    lines = [ask(("transfer_to_orders", {"goal": "look"})), ask(("transfer_to_orders", {"goal": "look, order_id: A-9"}))]
    app = desk(seen, lines, told)
    with seen.reach.session("s"):
        await run(app, user(), {"callbacks": [seen.reach.tracker]}, mode)
    assert "the handoff lacks order_id" in told[0]
    [handoff] = seen.of(Handoff)
    assert handoff.receiver == "orders"
    assert [(e.rung, e.target) for e in seen.of(CompensationStep)] == [("supply", "triage")]


def test_a_handoff_tool_has_the_arguments_that_its_contract_requires(observed):
    seen = observed(ROUTES)
    made = seen.reach.handoff_tool("orders")
    assert made.name == "transfer_to_orders"
    assert set(made.tool_call_schema["required"]) == {"goal", "order_id"}
    with pytest.raises(Exception, match=r"handoffs\.nobody"):
        seen.reach.handoff_tool("nobody")


@MODES
async def test_a_contract_given_to_the_tool_alone_is_judged_too(observed, mode):
    seen, told = observed(), []
    hand_over = seen.reach.handoff_tool(HandoffContract(receiver="orders", required=["order_id"]))
    triage = create_agent(
        Script(lines=[ask((hand_over.name, {"goal": "g"}))]), [hand_over], name="triage", middleware=[seen.reach.middleware()]
    )
    built = StateGraph(MessagesState)
    built.add_node("triage", triage)
    built.add_node("orders", lambda state: told.extend(tool_texts(state)))
    built.add_edge(START, "triage")
    with seen.reach.session("s") as session:
        await run(built.compile(), user(), {"callbacks": [seen.reach.tracker]}, mode)
    assert seen.of(Handoff)[0].missing == ("order_id",)
    assert (session.score.tool, session.score.task) == (None, 0.0)
    assert told == ['Handed over to orders: {"goal": "g"}']


def test_a_handoff_tool_needs_a_receiver():
    with pytest.raises(ReachError, match="receiver"):
        Reach().handoff_tool(HandoffContract())


@MODES
@pytest.mark.parametrize("text", ["refund, order_id: A-1", "refund"])
async def test_within_one_graph_the_receiver_also_reads_the_senders_state(observed, mode, text):
    seen = observed(ROUTES)
    built = StateGraph(MessagesState)
    built.add_node(
        "model", lambda state: Command(goto="orders", update={"messages": [("assistant", "over")]}), destinations=("orders",)
    )
    built.add_node("orders", lambda state: {"messages": [("assistant", "done")]})
    built.add_edge(START, "model")
    with seen.reach.session("s") as session:
        await run(built.compile(), user(text), {"callbacks": [seen.reach.tracker]}, mode)
    assert seen.of(Handoff)[0].missing == (() if "A-1" in text else ("order_id",))
    assert session.score.task == (1.0 if "A-1" in text else 0.0)
