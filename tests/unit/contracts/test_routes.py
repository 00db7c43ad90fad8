import pytest
from pydantic import BaseModel

from agent_reach import ContractError, HandoffContract, Reach, Routes, ToolContract

TABLE = """\
version: 2026-12-01
intents:
  order_query:
    keywords: [order, 订单]
    patterns: ["where is .* parcel"]
    steps:
      - [orders_db, orders_cache]
      - tools: [notify]
tools:
  orders_db:
    read_only: true
    data_path: data.items
    baseline_ms: 200
    timeout_s: 5
    alternates:
      - tool: orders_replica
        arguments: {order_id: id}
        drop: [verbose]
        constants: {source: replica}
  notify: {side_effect: true, empty: answer}
handoffs:
  refunds:
    required: {type: object, properties: {order_id: {type: string}}, required: [order_id]}
    conclusions: true
compensation: {retries: 1, human: "node:clerk"}
"""


def write(tmp_path, text):
    path = tmp_path / "routes.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_route_table_is_read_from_yaml(tmp_path):
    routes = Routes.load(write(tmp_path, TABLE))
    assert routes.version == "2026-12-01"
    assert [step.tools for step in routes.steps("order_query")] == [("orders_db", "orders_cache"), ("notify",)]
    assert routes.contract("orders_db").data_path == "data.items"
    assert routes.handoffs["refunds"].receiver == "refunds"
    assert routes.compensation.human_node == "clerk"
    assert Reach(write(tmp_path, TABLE)).runtime.policy.retries == 1


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("Where is my ORDER?", "order_query"),
        ("我的订单在哪里", "order_query"),
        ("where is the parcel", "order_query"),
        ("I want to reorder", None),
        ("", None),
    ],
)
def test_keywords_and_patterns_tell_the_intent(tmp_path, text, intent):
    assert Routes.load(write(tmp_path, TABLE)).classify(text) == intent


def test_a_classifier_comes_before_keywords(tmp_path):
    routes = Routes.load(write(tmp_path, TABLE), classifier=lambda text: "vip" if "gold" in text else None)
    assert routes.classify("gold order") == "vip"
    assert routes.classify("order") == "order_query"


def test_substitutes_are_the_other_tools_of_the_step_then_declared_alternates(tmp_path):
    routes = Routes.load(write(tmp_path, TABLE))
    found = routes.substitutes("order_query", "orders_db")
    assert [alternate.tool for alternate in found] == ["orders_cache", "orders_replica"]
    assert found[1].map({"order_id": 7, "verbose": True}) == {"id": 7, "source": "replica"}


@pytest.mark.parametrize(
    ("change", "line", "said"),
    [
        (("read_only: true", "read_only: maybe"), 11, "tools.orders_db.read_only"),
        (("- tools: [notify]", "- tools: []"), 8, r"intents.order_query.steps\[1\].tools"),
        (("retries: 1", "retries: 9"), 25, "compensation.retries"),
        (("empty: answer", "empty: nothing"), 20, "tools.notify.empty"),
        (("side_effect: true", "side_effect: true, read_only: true"), 20, "not both"),
        (("baseline_ms", "base_line"), 13, "tools.orders_db.base_line: expected a known key"),
        (('"where is .* parcel"', '"where is ("'), 5, "regular expression"),
        (("required: [order_id]", "required: 3"), 23, "JSON Schema"),
        (("  notify:", "  orders_db:"), 20, "each key once"),
        (("version: 2026-12-01", "version: [1"), None, "valid YAML"),
    ],
)
def test_a_mistake_is_told_with_file_line_key_and_what_was_expected(tmp_path, change, line, said):
    assert change[0] in TABLE
    path = write(tmp_path, TABLE.replace(*change, 1))
    with pytest.raises(ContractError, match=said) as caught:
        Routes.load(path)
    assert caught.value.file == str(path)
    assert line is None or caught.value.line == line


def test_a_route_that_names_an_unknown_tool_is_told_with_its_line(tmp_path):
    path = write(tmp_path, TABLE)
    with pytest.raises(ContractError, match=r"steps\[0\].*orders_cache") as caught:
        Routes.load(path, tools=["orders_db", "notify", "orders_replica"])
    assert caught.value.line == 7
    routes = Routes.load(path, tools=["orders_db", "orders_cache", "notify", "orders_replica", "weather"])
    assert routes.check_tools(["orders_db", "orders_cache", "notify", "orders_replica", "weather"]) == ["weather"]


def test_a_missing_file_and_a_list_are_told(tmp_path):
    with pytest.raises(ContractError, match="readable"):
        Routes.load(tmp_path / "nowhere.yaml")
    with pytest.raises(ContractError, match="a mapping"):
        Routes.load(write(tmp_path, "- 1"))


def test_python_objects_say_the_same_as_yaml():
    with pytest.raises(ContractError, match=r"intents.a.steps\[0\].tools\[1\]"):
        Reach({"intents": {"a": {"steps": [["x", 3]]}}})
    with pytest.raises(ContractError, match="retries"):
        Reach(compensation={"retries": 9})
    with pytest.raises(ContractError, match="otlp"):
        Reach(otlp="localhost")


def test_a_pydantic_model_declares_the_parameters_of_a_handoff():
    class Refund(BaseModel):
        order_id: str
        note: str = ""

    contract = HandoffContract(receiver="refunds", required=Refund)
    assert contract.parameters == {"order_id": {"title": "Order Id", "type": "string"}}
    assert HandoffContract(required=["a", "b"]).parameters == {"a": {}, "b": {}}


def test_think_answers_with_nothing_by_nature_unless_declared_otherwise():
    assert Routes().contract("think").empty == "answer"
    assert Routes(tools={"think": ToolContract()}).contract("think").empty == "alias"
