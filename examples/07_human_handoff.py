"""Ask a person when nothing else helps: the graph pauses with an interrupt, and goes on with what the person says.

The tool has a side effect, so it is run once only: never retried, and not run again when the graph goes on.
"""

from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import tools_condition
from langgraph.types import Command
from scripted import ScriptedModel, call, show

from agent_reach import Compensation, Reach, Routes

runs = []


@tool
def refund(order_id: str, amount: int) -> str:
    """Pay a customer back."""
    runs.append(order_id)
    raise TimeoutError("the bank did not answer")


routes = Routes(
    intents={"refund": {"keywords": ["refund"], "steps": [["refund"]]}},
    tools={"refund": {"side_effect": True}},
)
reach = Reach(routes, compensation=Compensation(human="interrupt"))
events = []
reach.add_sink(events.append)

model = ScriptedModel(lines=[call("refund", order_id="A-1001", amount=49), "Your refund of 49 EUR is booked."])
model_with_tools = model.bind_tools([refund])
graph = StateGraph(MessagesState)
graph.add_node("model", lambda state: {"messages": [model_with_tools.invoke(state["messages"])]})
graph.add_node("tools", reach.tool_node([refund]))
graph.add_edge(START, "model")
graph.add_conditional_edges("model", tools_condition)
graph.add_edge("tools", "model")
app = graph.compile(checkpointer=InMemorySaver())  # a graph can only wait when it has one

config = {"configurable": {"thread_id": "customer-1"}, "callbacks": [reach.tracker]}
state = app.invoke({"messages": [("user", "Please refund order A-1001.")]}, config)
request = state["__interrupt__"][0].value
print("paused:", request["question"])
print("  tried:", request["tried"])

# … a person looks at the bank's page, minutes or days later …
state = app.invoke(Command(resume="I checked with the bank: 49 EUR were paid back."), config)
show(state["messages"])
print(f"the tool ran {len(runs)} time(s)")
for event in events:
    if type(event).__name__ == "ToolCall":  # it stays a failure: asking a person does not raise the score
        print(f"{event.tool}: {event.status} ({event.fail_cause}), settled by: {event.compensation}")
score = reach.score("customer-1")
print(f"ToolReach {score.tool:.2f} ({score.band})")
