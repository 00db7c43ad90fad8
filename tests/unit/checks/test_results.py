"""Section 1 of the definitions."""

import dataclasses
import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from agent_reach.checks import finding_of_result
from agent_reach.contracts import ToolContract

PLAIN = ToolContract()


def status(result, contract=PLAIN):
    return finding_of_result(result, contract).status


@dataclasses.dataclass
class Rows:
    rows: list


class Page(BaseModel):
    items: list = []
    note: str | None = None


EMPTY = [
    None, "", "  \n", "null", "[]", "{}", [], {}, (), set(), b"", {"data": None},
    {"code": 0, "data": {"items": [], "total": 0}}, {"success": True, "message": "ok", "data": []},
    [{}], [[], [None]], [{"type": "text", "text": ""}], '[{"type": "text", "text": "[]"}]', '{"data": null}', {"data": "null"},
    {"result": {"success": True, "rows": []}}, Rows([]), Page(), pd.DataFrame(), pd.Series([], dtype=float), pd.DataFrame().to_numpy(),
    "No results found.", "no matching orders found", "未找到相关订单", "没有找到符合条件的结果", "查无此订单", "暂无数据。", "Nothing found", "N/A",
]  # fmt: skip
OK = [
    0, False, "0", 1.5, "text", {"error": None, "data": [1]}, {"error": False, "data": [1]}, {"code": "518000", "city": "Shenzhen"},
    {"success": True}, {"count": 0}, {"code": 200, "message": "success"}, {"found": False}, {"value": 0}, Rows([0]), Page(items=[1]),
    pd.DataFrame({"a": [1]}), object(), "Error rate: 5% last week", "No results found in May, but June has three: a, b and c, see below.",
    "The error was fixed", {"status": "shipped", "message": "on its way"}, "NaN", float("nan"), [{"type": "image", "data": "…"}],
    {"errors": []}, {"ok": True, "data": {"n": 0}}, "failed", {"code": 1, "message": "ok"},
]  # fmt: skip
FAIL = [
    ({"code": 500, "data": None}, "server_error"),
    ({"code": "404", "message": "no such order"}, "other"),
    ({"status": 429}, "rate_limited"),
    ({"status_code": 504, "data": [1]}, "timeout"),
    ({"status_code": "401"}, "auth"),
    ({"code": 422, "message": "x"}, "bad_arguments"),
    ({"error": "rate limit exceeded"}, "rate_limited"),
    ({"errors": [{"message": "boom"}]}, "other"),
    ({"success": False}, "other"),
    ({"ok": 0}, "other"),
    ({"success": "false", "message": "connection refused"}, "network"),
    ({"isError": True, "content": []}, "other"),
    ({"code": 10001, "message": "boom"}, "other"),
    ({"error": {"message": "Read timed out"}}, "timeout"),
    ({"code": 504, "message": "429 Too Many Requests"}, "rate_limited"),
    ('{"error": "token expired", "data": null}', "other"),
    ("Error: payment amount does not add up", "other"),
    ("Traceback (most recent call last):\n  File", "other"),
    ("错误：参数缺失", "bad_arguments"),
    ("ValueError: bad", "other"),
    ("Error executing tool: 503 Service Unavailable", "server_error"),
]


@pytest.mark.parametrize("result", EMPTY, ids=range(len(EMPTY)))
def test_a_result_that_holds_nothing_is_an_empty_alias(result):
    assert status(result) == "empty_alias"


@pytest.mark.parametrize("result", OK, ids=range(len(OK)))
def test_a_result_that_holds_something_is_ok(result):
    assert status(result) == "ok"


@pytest.mark.parametrize(("result", "cause"), FAIL, ids=range(len(FAIL)))
def test_an_error_envelope_or_error_prose_is_a_failure_with_its_cause(result, cause):
    found = finding_of_result(result, PLAIN)
    assert (found.status, found.fail_cause) == ("fail", cause)


def test_failure_takes_precedence_over_emptiness():
    assert status({"code": 500, "data": []}) == "fail"


@given(st.recursive(st.sampled_from([None, "", " ", "null"]), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=12))  # fmt: skip
def test_anything_built_of_empty_values_is_empty_as_object_and_as_json(value):
    assert status(value) == "empty_alias"
    assert status(json.dumps(value)) == "empty_alias"


@given(st.dictionaries(st.sampled_from("abc"), st.none(), max_size=3), st.integers())
def test_one_number_anywhere_is_enough(nothing, number):
    assert status({**nothing, "x": [{"y": number}]}) == "ok"


def test_a_contract_says_what_counts():
    assert status([], ToolContract(empty="answer")) == "ok"
    assert status({"data": {"items": []}, "note": "x"}, ToolContract(data_path="data.items")) == "empty_alias"
    assert status({"data": {"items": [1]}}, ToolContract(data_path="data.items.0")) == "ok"
    assert status({"data": None}, ToolContract(data_path="data.items")) == "empty_alias"
    assert finding_of_result({"dato": 1}, ToolContract(data_path="data")).fail_cause == "unparseable"
    assert status("Error: x", ToolContract(error_prose=False)) == "ok"
    assert status("No results found", ToolContract(empty_prose=False)) == "ok"
    assert status({"state": "broken"}, ToolContract(envelope=lambda r: r["state"] == "broken")) == "fail"
    assert status({"error": "x"}, ToolContract(envelope=lambda r: False)) == "ok"


class Hostile:
    def __repr__(self):
        raise RuntimeError("no repr")

    def __len__(self):
        raise RuntimeError("no length")

    def __getattr__(self, name):
        raise RuntimeError("no attributes")


def test_hostile_values_are_values():
    cyclic = []
    cyclic.append(cyclic)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    for value in (
        cyclic,
        deep,
        Hostile(),
        [Hostile()],
        {"a": Hostile()},
        "[" * 5_000 + "]" * 5_000,
        "\ud800",
        "\ud800[]",
        iter([]),
    ):
        assert status(value) == "ok"


def test_a_huge_result_is_judged_by_its_beginning():
    rows = '{"id": 1, "text": "' + "x" * 1_000 + '"},'
    assert status('{"data": [' + rows * 20_000 + "null]}") == "ok"
    assert status('{"error": "boom", "data": [' + rows * 20_000 + "null]}") == "fail"
    assert status(" " * 20_000_000) == "empty_alias"
    assert status([None] * 2_000_000) == "empty_alias"
