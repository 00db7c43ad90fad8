"""What customers want of the desk, and how one tells that they got it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from langgraph.types import Command

from agent_reach.demo.world import Fault, World


@dataclass(frozen=True)
class Task:
    """A conversation with the desk.

    Attributes:
        name, fault: what is told of it.
        messages: of the customer; the fault begins with the last one.
        done: whether the customer got what they wanted, from the world and the last reply.
        facts: what the web form already knows.
    """

    name: str
    fault: Fault
    messages: tuple[str, ...]
    done: Callable[[World, str], bool]
    facts: dict[str, Any] = field(default_factory=dict)


def _says(*words: str) -> Callable[[World, str], bool]:
    return lambda world, reply: all(word in reply for word in words)


def _refunded(order: str) -> Callable[[World, str], bool]:
    return lambda world, reply: world.refunds.get(order) == 1


TASKS = (
    Task("order, all well", "", ("Where is my order A-1001?",), _says("shipped", "Thursday")),
    Task("order, rate limited", "rate_limit", ("Where is my order A-1002?",), _says("packed", "Friday")),
    Task("order, slow service", "slow", ("When does A-1004 arrive?",), _says("delayed", "next Tuesday")),
    Task("order, empty 200", "empty", ("Where is my order A-1002?",), _says("packed", "Friday")),
    Task("order, outage after a look", "outage", ("Where is A-1004?", "And now, where is A-1004?"), _says("next Tuesday")),
    Task("rule, all well", "", ("How long is a gift card valid?",), _says("three years")),
    Task("rule, near-miss documents", "near_miss", ("How many days do I have to return unused goods?",), _says("Returns:")),
    Task("warranty, near-miss documents", "near_miss", ("How long is the warranty on electronics?",), _says("Warranty:")),
    Task("refund, all well", "", ("I want a refund for A-1003.",), _refunded("A-1003")),
    Task("refund, order lookup empty", "empty", ("Please refund A-1005, it is broken.",), _refunded("A-1005")),
    Task("refund, number lost on the way", "lost_parameter", ("The headset broke, I want my money back.",), _refunded("A-1003"),
         {"order_id": "A-1003"}),
    Task("refund, outcome uncertain", "uncertain_refund", ("Please refund A-1005.",), _refunded("A-1005")),
)  # fmt: skip


def run_task(desk: Any, reach: Any, world: World, task: Task, session_id: str) -> tuple[bool, str, int]:
    """Hold the conversation.

    Returns:
        whether the customer got what they wanted, the last reply, and how often a person was asked.
    """
    config = {"configurable": {"thread_id": session_id}, "callbacks": [reach.tracker], "recursion_limit": 30}
    reply, asked = "", 0
    with reach.session(session_id) as session:
        session.share(**task.facts)
        for number, text in enumerate(task.messages, 1):
            world.fault = task.fault if number == len(task.messages) else ""
            state = desk.invoke({"messages": [("user", text)]}, config)
            while "__interrupt__" in state and asked < 5:
                asked += 1
                state = desk.invoke(Command(resume=_clerk(world, state["__interrupt__"][0].value)), config)
            reply = str(state["messages"][-1].content)
    return task.done(world, reply), reply, asked


def _clerk(world: World, request: dict[str, Any]) -> str:
    """The person on call: looks into the books and does by hand what is left to do."""
    order = request["arguments"].get("order_id", "")
    if request["tool"] == "refund":
        world.refunds.setdefault(order, 1)
        return f"The clerk checked the books and booked the refund of {order} by hand."
    return f"The clerk could not find out more about {order}."
