"""Put `reach.tool_node(tools)` where a LangGraph has its ToolNode: first only watching, then with compensation."""

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import tools_condition
from scripted import ScriptedModel, call, show

from agent_reach import Reach, Routes


@tool
def orders_db(order_id: str) -> dict:
    """Look an order up."""
    return {"data": None}


@tool
def orders_replica(number: str) -> dict:
    """Look an order up in the replica."""
    return {"data": {"number": number, "arrives": "Friday"}}


tools = [orders_db, orders_replica]
routes = Routes(
    intents={"order_query": {"keywords": ["order"], "steps": [["orders_db", "orders_replica"]]}},
    tools={
        "orders_db": {
            "read_only": True,
            "alternates": [{"tool": "orders_replica", "arguments": {"order_id": "number"}}],
        },
        "orders_replica": {"read_only": True},
    },
)


def build(reach: Reach, answer: str):
    model = ScriptedModel(lines=[call("orders_db", order_id="A-1001"), answer]).bind_tools(tools)
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", reach.tool_node(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile()


question = {"messages": [HumanMessage("When does my order A-1001 arrive?")]}
for title, compensation, answer in [
    ("watching", None, "It should arrive soon."),
    ("compensating", True, "It arrives on Friday."),
]:
    reach = Reach(routes, compensation=compensation)
    app = build(reach, answer)
    with reach.session("customer-1", agent="orders") as session:
        state = app.invoke(question, {"callbacks": [reach.tracker]})
    print(f"{title}:")
    show(state["messages"])
    print(f"  score: ToolReach {session.score.tool:.2f} ({session.score.band})")
