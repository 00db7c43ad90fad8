"""`create_agent` of LangChain 1.x with `middleware=[reach.middleware()]`, async.

When a tool is down, its earlier result stands in, and the model is told how old it is.
"""

import asyncio

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from scripted import ScriptedModel, call, show

from agent_reach import Compensation, Reach, Routes

answers = [{"rate": 1.09}]


@tool
async def exchange_rate(currency: str) -> dict:
    """The exchange rate of the euro."""
    if not answers:
        raise ConnectionError("the bank does not answer")
    return answers.pop()


routes = Routes(
    intents={"rate": {"keywords": ["rate"], "steps": [["exchange_rate"]]}},
    tools={"exchange_rate": {"read_only": True}},
)
reach = Reach(routes, compensation=Compensation(retries=1, backoff=0.05, snapshot_age=600))
events = []
reach.add_sink(events.append)

model = ScriptedModel(
    lines=[
        call("exchange_rate", currency="USD"),
        "1.09 dollars.",
        call("exchange_rate", currency="USD"),
        "The bank does not answer; a moment ago it was 1.09 dollars.",
    ]
)
agent = create_agent(model, [exchange_rate], middleware=[reach.middleware()], checkpointer=InMemorySaver(), name="bank")


async def main() -> None:
    # Without `reach.session`, the `thread_id` names the session.
    config = {"configurable": {"thread_id": "customer-1"}, "callbacks": [reach.tracker]}
    for question in ["What is the rate of the dollar?", "And what is the rate now?"]:
        state = await agent.ainvoke({"messages": [("user", question)]}, config)
    show(state["messages"])
    for event in events:
        if type(event).__name__ == "ToolCall":
            print(f"{event.tool}: {event.status}, attempts {event.attempts}, {event.compensation or 'no'} compensation")
    print("score:", reach.score("customer-1"))


asyncio.run(main())
