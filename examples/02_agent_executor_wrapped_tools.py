"""Let tools mend themselves in an AgentExecutor: one that times out is tried again, an empty one is replaced."""

from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import tool
from scripted import ScriptedModel, call

from agent_reach import Compensation, Reach, Routes

outages = [TimeoutError("the shop did not answer")]


@tool
def price(item: str) -> str:
    """What an item costs."""
    if outages:
        raise outages.pop()
    return f"{item}: 49 EUR"


@tool
def stock_db(item: str) -> list:
    """How many pieces there are."""
    return []


@tool
def stock_cache(name: str) -> list:
    """How many pieces there were an hour ago."""
    return [{"item": name, "pieces": 3}]


# Only tools that are declared to change nothing are run twice or replaced.
routes = Routes(
    tools={
        "price": {"read_only": True},
        "stock_db": {"read_only": True, "alternates": [{"tool": "stock_cache", "arguments": {"item": "name"}}]},
        "stock_cache": {"read_only": True},
    }
)
reach = Reach(routes, compensation=Compensation(retries=1, backoff=0.05))
events = []
reach.add_sink(events.append)

tools = reach.wrap_tools([price, stock_db, stock_cache])
model = ScriptedModel(
    lines=[
        call("price", item="headset"),
        call("stock_db", item="headset"),
        "It costs 49 EUR; 3 were left an hour ago.",
    ]
)
prompt = ChatPromptTemplate.from_messages([("human", "{input}"), ("placeholder", "{agent_scratchpad}")])
agent = create_tool_calling_agent(model, tools, prompt)
executor = AgentExecutor(agent=agent, tools=tools, return_intermediate_steps=True)

with reach.session("customer-1", agent="shop") as session:
    out = executor.invoke({"input": "Is the headset there, and for how much?"}, config={"callbacks": [reach.tracker]})

print("What the model read:")
for action, observation in out["intermediate_steps"]:
    print(f"  {action.tool} -> {observation!r}")
print("answer:", out["output"])
print("What was done:")
for event in events:
    if type(event).__name__ == "CompensationStep":
        print(f"  {event.tool} gave {event.reason}: {event.rung} with {event.target}")
score = session.score
print(f"ToolReach {score.tool:.2f} ({score.bands['tool']}); first attempts alone {score.first_tool:.2f}")
