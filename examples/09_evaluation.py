"""Evaluate an agent over the topology of a task: five runs, a fault in the first stage of each, without and with compensation.

`agent-reach eval` does the same from a file and writes reports.
"""

from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from scripted import ScriptedModel, call

from agent_reach import Evaluation, Reach, Topology
from agent_reach.evaluation.summary import summary

TASK = Topology(
    name="refund A-1001",
    messages=["Please refund A-1001."],
    nodes=[
        {"id": "find the order", "tools": ["orders_db"]},
        {
            "id": "pay back",
            "depends_on": ["find the order"],
            "tools": ["refund"],
            "effect": {"order_id": "A-1001"},
            "verify": lambda state, _results: state["refunds"] == ["A-1001"],
        },
        {"id": "no deletion", "type": "must_not", "tools": ["delete_order"]},
    ],
    outputs=["39.00"],
)
ROUTES = {"tools": {"orders_db": {"read_only": True}, "refund": {"side_effect": True}}}


def make_agent(reach: Reach) -> tuple[Any, dict[str, list[str]]]:
    """A fresh agent, and the state that its tools change."""
    state: dict[str, list[str]] = {"refunds": []}

    @tool
    def orders_db(order_id: str) -> dict:
        """Look an order up."""
        return {"order_id": order_id, "amount": 39.0}

    @tool
    def refund(order_id: str) -> dict:
        """Pay an order back."""
        state["refunds"].append(order_id)
        return {"paid": 39.0}

    lines = [call("orders_db", order_id="A-1001"), call("refund", order_id="A-1001"), "I paid 39.00 back."]
    return create_agent(ScriptedModel(lines=lines), [orders_db, refund], middleware=[reach.middleware()]), state


faults = {"kinds": ["error", "empty", "rate_limit"], "stages": ["early"], "retry_after_s": 0.05}
for compensation in (False, True):
    results = Evaluation(TASK, make_agent, 5, faults=faults, routes=ROUTES, compensation=compensation).run()
    found = summary(results)
    task = found["by_task"][0]
    print(f"compensation {'on' if compensation else 'off'}: {found['gate']['passed']} of {found['runs']} runs pass")
    print(
        f"  depth {task['depth']['mean']:.2f}, faults landed {task['faults']['landed']}, digested {task['obstacles']['digested']}"
    )
    for cause, times in task["causes"].items():
        print(f"  {times} × {cause}")
