"""Watch an AgentExecutor with one callback: an empty tool result that the agent takes for an answer breaks the score.

Nothing about the agent changes; `reach.tracker` only looks.
"""

from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import tool
from scripted import ScriptedModel, call

from agent_reach import Reach, Routes

ORDERS = {"A-1001": {"item": "headset", "arrives": "Friday"}}


@tool
def orders_db(order_id: str) -> dict:
    """Look an order up."""
    return {"data": ORDERS.get(order_id)}


model = ScriptedModel(
    lines=[
        call("orders_db", order_id="A-1001"),
        "Your headset arrives on Friday.",
        call("orders_db", order_id="A-9999"),
        "Your order is on its way.",  # a guess: the tool gave {"data": None}
    ]
)
prompt = ChatPromptTemplate.from_messages([("human", "{input}"), ("placeholder", "{agent_scratchpad}")])
executor = AgentExecutor(agent=create_tool_calling_agent(model, [orders_db], prompt), tools=[orders_db])

# What should happen: a message about an order needs the tool `orders_db`.
reach = Reach(Routes(intents={"order_query": {"keywords": ["order"], "steps": [["orders_db"]]}}))
events = []
reach.add_sink(events.append)
reach.on_band(lambda change: print(f"  alert: {change}"))

for number, question in enumerate(["Where is order A-1001?", "Where is order A-9999?"], 1):
    print(f"{question}")
    with reach.session(f"customer-{number}", agent="desk") as session:
        answer = executor.invoke({"input": question}, config={"callbacks": [reach.tracker]})
    print(f"  answer: {answer['output']}")
    print(f"  ToolReach {session.score.tool:.2f}, total {session.score.total:.2f} ({session.score.band})")

print("All events:")
for event in events:
    print(f"  {event.session} {type(event).__name__:<12} {event.status}")
