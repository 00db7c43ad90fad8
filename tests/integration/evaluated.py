"""A small task and agents for it: an order is found, refunded and confirmed."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import tool

from agent_reach.contracts import Routes
from agent_reach.contracts.topology import Topology
from tests.integration.agents import ask, graph

ROUTES = Routes.model_validate(
    {
        "tools": {
            "find": {"read_only": True, "alternates": ["find_elsewhere"]},
            "find_elsewhere": {"read_only": True},
            "refund": {"side_effect": True},
            "mail": {"side_effect": True},
        }
    }
)


def refunded(state: Any, results: Any) -> bool:
    return state["refunds"] == {"A1": 39.0}


TASK = Topology(
    name="refund",
    messages=["Please refund A1."],
    nodes=[
        {"id": "look", "tools": ["find"]},
        {"id": "pay", "depends_on": ["look"], "tools": ["refund"], "verify": refunded, "effect": {"order": "A1", "amount": "*"}},
        {"id": "tell", "depends_on": ["pay"], "tools": ["mail"]},
        {"id": "no-deletion", "type": "must_not", "tools": ["delete"]},
    ],
    outputs=["39.00"],
)
LINES = [
    ask(("find", {"order": "A1"})),
    ask(("refund", {"order": "A1", "amount": 39.0})),
    ask(("mail", {"to": "x"})),
    "I paid 39.00.",
]


def tools_of(state: dict[str, Any]) -> list[Any]:
    @tool
    def find(order: str) -> dict[str, Any]:
        """Find an order."""
        return {"order": order, "amount": 39.0}

    @tool
    def find_elsewhere(order: str) -> dict[str, Any]:
        """Find an order in another place."""
        return {"order": order, "amount": 39.0}

    @tool
    def refund(order: str, amount: float) -> dict[str, Any]:
        """Pay back."""
        state["refunds"][order] = amount
        return {"paid": amount}

    @tool
    def mail(to: str) -> dict[str, Any]:
        """Send a mail."""
        return {"sent": to}

    @tool
    def delete(order: str) -> dict[str, Any]:
        """Delete an order."""
        return {"deleted": order}

    return [find, find_elsewhere, refund, mail, delete]


def agent(lines: list[Any] = LINES, **options: Any) -> Any:
    """A factory of scripted graphs."""

    def make(reach: Any) -> Any:
        state: dict[str, Any] = {"refunds": {}}
        tools = tools_of(state)
        node = reach.tool_node(tools, handle_tool_errors=True, **options)
        return graph(node, lines, tools), state

    return make
