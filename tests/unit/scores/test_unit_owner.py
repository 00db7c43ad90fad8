"""Whose a task unit is: who made the calls that its needs depend on."""

import pytest

from agent_reach.contracts import Routes
from agent_reach.events import ToolCall
from agent_reach.scores import OpenUnit

ROUTES = Routes(intents={"refund": {"steps": [["look"], ["pay"]]}})


def owner(*calls, intent="refund"):
    """Each call: agent, tool, status."""
    made = [
        ToolCall(
            session="s", turn=1, unit=1, intent=intent, time=10 * n, agent=agent, tool=tool, status=status, first_status=status
        )
        for n, (agent, tool, status) in enumerate(calls)
    ]
    unit = OpenUnit.begin(made[0], ROUTES)
    for call in made:
        unit.observe(call, ROUTES)
    again = OpenUnit.from_record(unit.to_record())
    closed = unit.close("session", time=99, session="s", route_version="")
    assert again.close("session", time=99, session="s", route_version="") == closed
    return closed.agent


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([("triage", "transfer", "handoff"), ("orders", "look", "ok"), ("refunds", "pay", "fail")], "refunds"),
        ([("triage", "transfer", "handoff"), ("orders", "look", "fail"), ("refunds", "pay", "ok")], "orders"),
        ([("triage", "transfer", "handoff"), ("orders", "look", "ok"), ("refunds", "pay", "ok")], "refunds"),
        ([("triage", "transfer", "handoff")], "triage"),
    ],
    ids=["the first that was not reached", "even an earlier one", "else the last that was", "else who opened it"],
)
def test_a_unit_belongs_to(calls, expected):
    assert owner(*calls) == expected


def test_without_a_route_it_is_the_agent_whose_call_failed():
    assert owner(("a", "x", "ok"), ("b", "y", "empty_alias"), ("c", "z", "ok"), intent="") == "b"
