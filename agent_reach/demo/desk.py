"""The desk as a LangGraph graph: triage hands over to orders, policy and refunds."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langchain_core.tools import BaseTool, create_retriever_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from agent_reach.contracts import Routes
from agent_reach.demo.world import PolicyIndex, World, tools
from agent_reach.reach import Reach

ROUTES = Routes.model_validate(
    {
        "version": "demo-1",
        "intents": {
            "refund": {"keywords": ["refund", "money back"], "steps": [["orders_db", "orders_replica"], ["refund"]]},
            "order_status": {"patterns": [r"[A-Z]-\d{4}"], "steps": [["orders_db", "orders_replica"]]},
            "policy": {"patterns": [r"\?"], "steps": [["search_policies"]]},
        },
        "tools": {
            "orders_db": {
                "read_only": True,
                "alternates": [{"tool": "orders_replica", "arguments": {"order_id": "number"}}],
            },
            "orders_replica": {"read_only": True},
            "search_policies": {"read_only": True},
            "refund": {"side_effect": True},
        },
        "handoffs": {
            "orders": {"required": ["order_id"]},
            "policy": {},
            "refunds": {"required": {"properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}},
        },
        "knowledge": {"policies": {"ideal": 1}},
    }
)

_PROMPTS = {
    "triage": "You are triage. Hand the customer over to orders, policy or refunds; never answer yourself.",
    "orders": "You are orders. Look the order up and tell the customer its status and when it arrives.",
    "policy": "You are policy. Search the policies and answer with the rule that applies.",
    "refunds": "You are refunds. Look the order up, then refund its amount. Never refund twice.",
}


def build(reach: Reach, model: BaseChatModel, world: World) -> Any:
    """The compiled desk."""
    made = tools(world)
    index = reach.wrap_retriever(PolicyIndex(world=world), source="policies")
    search = create_retriever_tool(index, "search_policies", "Search the policies.", document_separator="\n")
    handoffs = [reach.handoff_tool(name) for name in ("orders", "policy", "refunds")]
    reach.runtime.register({"orders_replica": made["orders_replica"]})
    desk = StateGraph(MessagesState)
    desk.add_node("triage", _agent(reach, model, "triage", handoffs))
    desk.add_node("orders", _agent(reach, model, "orders", [made["orders_db"]]))
    desk.add_node("policy", _agent(reach, model, "policy", [search]))
    desk.add_node("refunds", _agent(reach, model, "refunds", [made["orders_db"], made["refund"]]))
    desk.add_edge(START, "triage")
    return desk.compile(checkpointer=InMemorySaver())


def _agent(reach: Reach, model: BaseChatModel, name: str, its_tools: list[BaseTool]) -> Any:
    bound = model.bind_tools(its_tools)
    prompt = SystemMessage(_PROMPTS[name])

    def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [bound.invoke([prompt, *state["messages"]])]}

    def next_step(state: MessagesState) -> str:
        return "tools" if getattr(state["messages"][-1], "tool_calls", None) else END

    graph = StateGraph(MessagesState)
    graph.add_node("model", think)
    graph.add_node("tools", reach.tool_node(its_tools, handle_tool_errors=True))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", next_step)
    graph.add_edge("tools", "model")
    return graph.compile()
