"""Send spans and metrics to an OpenTelemetry collector: `python 08_otlp_backend.py http://localhost:4318`.

Without an argument OTEL_EXPORTER_OTLP_ENDPOINT counts. When nobody listens, it says so and ends all the same.
"""

import os
import sys

from langchain.agents import create_agent
from langchain_core.tools import tool
from scripted import ScriptedModel, call, show

from agent_reach import Reach


@tool
def orders_db(order_id: str) -> dict:
    """Look an order up."""
    return {"order_id": order_id, "arrives": "Friday"}


argument = sys.argv[1] if len(sys.argv) > 1 else None
variable = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
endpoint = argument or (None if variable else "http://localhost:4318")

reach = Reach(otlp=endpoint)  # None: as the OTEL_* variables say
model = ScriptedModel(lines=[call("orders_db", order_id="A-1001"), "It arrives on Friday."])
agent = create_agent(model, [orders_db], middleware=[reach.middleware()], name="orders")

with reach.session("customer-1") as session:
    state = agent.invoke({"messages": [("user", "Where is A-1001?")]}, {"callbacks": [reach.tracker]})
show(state["messages"])
print("score:", session.score)

if reach.shutdown(3):
    print(f"Spans and metrics were sent to {endpoint or variable}.")
else:
    print(f"No collector took the spans at {endpoint or variable}; the agent ran all the same.")
