"""A supervisor hands a task over: TaskReach falls when the receiver is not told what it needs, here an order number.

Three ways: stock handoff tools watched; a handoff tool that asks for the number; one that gets it from shared facts.
"""

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph_supervisor import create_handoff_tool, create_supervisor
from scripted import ScriptedModel, call, show

from agent_reach import Reach, Routes


@tool
def orders_db(order_id: str) -> dict:
    """Look an order up."""
    return {"order_id": order_id, "arrives": "Friday"}


routes = Routes(handoffs={"orders": {"required": ["order_id"]}})


def run(title: str, reach: Reach, tools, supervisor_says: list, orders_says: list, **known: str) -> None:
    model = ScriptedModel(lines=orders_says)
    orders = create_agent(model, [orders_db], name="orders", middleware=[reach.middleware()])
    app = create_supervisor([orders], model=ScriptedModel(lines=supervisor_says), tools=tools).compile()
    events = []
    reach.add_sink(events.append)
    with reach.session("customer-1") as session:
        session.share(**known)
        state = app.invoke({"messages": [("user", "When does my order come?")]}, {"callbacks": [reach.tracker]})
    print(f"{title}:")
    show(state["messages"])
    for event in events:
        if type(event).__name__ == "Handoff":
            missing, supplied = ", ".join(event.missing) or "nothing", ", ".join(event.supplied) or "nothing"
            print(f"  {event.sender} -> {event.receiver}: {missing} missing, {supplied} supplied")
    print(f"  TaskReach {session.score.task:.2f} ({session.score.bands['task']})")


look_up = [call("orders_db", order_id="A-1001"), "A-1001 comes on Friday."]

reach = Reach(routes)
run(
    "stock handoff tool",
    reach,
    tools=None,
    supervisor_says=[call("transfer_to_orders"), "It should come soon."],
    orders_says=["Some orders take a week."],
)

reach = Reach(routes)
run(
    "handoff tool with a contract",
    reach,
    tools=[reach.handoff_tool("orders")],
    supervisor_says=[call("transfer_to_orders", goal="When does it come?", order_id="A-1001"), "On Friday."],
    orders_says=list(look_up),
)

reach = Reach(routes, compensation=True)
run(
    "stock handoff tool, compensated",
    reach,
    tools=reach.tool_node([create_handoff_tool(agent_name="orders")]),
    supervisor_says=[call("transfer_to_orders"), "On Friday."],
    orders_says=list(look_up),
    order_id="A-1001",  # what your application knows of the customer
)
