"""Verdicts on a chosen tool, alternative paths among them."""

import pytest
from pydantic import BaseModel, ValidationError

from agent_reach.checks import routing_of_call
from agent_reach.contracts import Routes

SCHEMA = {"type": "object", "required": ["status"], "properties": {"status": {"enum": ["shipped", "open"]}}}


def table(outcome):
    return Routes(intents={"order": {"steps": [{"tools": ["db", "cache"], "outcome": outcome}]}})


@pytest.mark.parametrize(
    ("tool", "result", "verdict"),
    [
        ("db", {"status": "lost"}, "hit"),
        ("cache", None, "hit"),
        ("crm", {"status": "shipped"}, "alternative"),
        ("crm", '{"status": "open"}', "alternative"),
        ("crm", {"status": "lost"}, "unneeded"),
        ("crm", "shipped", "unneeded"),
        ("crm", '{"status": ', "unneeded"),
    ],
)
def test_another_tool_whose_result_passes_the_outcome_check_is_an_alternative_path(tool, result, verdict):
    routing = routing_of_call(table(SCHEMA), "order", tool, result)
    assert routing.verdict == verdict
    assert routing.expected == (() if verdict == "unneeded" else ("db", "cache"))


def test_a_call_without_a_result_is_no_alternative():
    assert routing_of_call(table(SCHEMA), "order", "crm").verdict == "unneeded"
    assert routing_of_call(table(SCHEMA), "chat", "crm", {"status": "open"}).verdict == ""


def test_a_function_or_a_model_may_be_the_check():
    class Order(BaseModel):
        status: str

    assert routing_of_call(table(Order), "order", "crm", {"status": "x"}).verdict == "alternative"
    assert routing_of_call(table(lambda result: result == 7), "order", "crm", 7).verdict == "alternative"
    assert routing_of_call(table(lambda result: False), "order", "crm", 7).verdict == "unneeded"


def test_what_is_no_schema_is_refused():
    with pytest.raises(ValidationError, match="JSON Schema"):
        table({"type": 7})
