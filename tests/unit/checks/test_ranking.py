"""Which of many tools a request needs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_reach.checks.ranking import Ranker, clauses, name_words
from agent_reach.checks.relevance import tokens
from tests.conftest import SHARED

TOOLS = {
    "WeatherTool": "Provides the latest weather information.",
    "HousePurchasingTool": "All sorts of information about buying property.",
    "orders_db": "Look up an order by its number.",
    "查询物流": "查询包裹的物流状态。",
}


class _Letters:
    """Embeddings that only count letters: deterministic, and the same for texts of the same letters."""

    def embed_query(self, text: str) -> list[float]:
        return [float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


@pytest.mark.parametrize(
    ("request_", "best"),
    [
        ("Will the weather be fine?", "WeatherTool"),
        ("houses for sale", "HousePurchasingTool"),
        ("Where are my orders?", "orders_db"),
        ("我的物流状态如何", "查询物流"),
    ],
)
def test_the_tool_whose_name_or_description_shares_rare_words_comes_first(request_: str, best: str) -> None:
    assert Ranker(TOOLS).rank(request_)[0] == best


def test_both_tools_of_a_request_of_two_clauses_come_first() -> None:
    asked = "I am planning to buy a house in a quiet area with a garden and good schools, and what is the weather there?"
    assert set(Ranker(TOOLS).rank(asked)[:2]) == {"WeatherTool", "HousePurchasingTool"}


@pytest.mark.parametrize(
    ("request_", "parts"),
    [
        ("Is my parcel here, and will the weather forecast be fine?", 2),
        ("red, green, blue paint", 1),
        ("帮我查询订单\uff0c另外看看明天天气\u3002", 2),
    ],
)
def test_a_request_is_parted_where_another_wish_begins(request_: str, parts: int) -> None:
    assert len(clauses(request_)) == parts


def test_an_embedding_is_taken_in_beside_the_words() -> None:
    plain, with_meaning = Ranker(TOOLS).scores("wether"), Ranker(TOOLS, _Letters()).scores("wether")
    assert plain["WeatherTool"] == 0 < with_meaning["WeatherTool"]


def test_identifiers_of_every_style_give_the_same_words() -> None:
    assert name_words("HousePurchasingTool") == name_words("house_purchasing_tool") == ["house", "purchasing"]
    assert name_words("tool") == ["tool"]


@pytest.mark.parametrize(("a", "b"), [("houses", "house"), ("courses", "course"), ("planning", "plan"), ("policies", "policy")])
def test_plurals_and_verb_forms_have_the_stem_of_their_word(a: str, b: str) -> None:
    assert tokens(a) == tokens(b)


@given(st.text(max_size=80), st.dictionaries(st.text(min_size=1, max_size=12), st.text(max_size=40), max_size=6))
def test_any_request_ranks_every_tool_once_and_scores_are_finite(request_: str, tools: dict[str, str]) -> None:
    ranker = Ranker(tools)
    assert sorted(ranker.rank(request_)) == sorted(tools)
    assert all(0 <= score < float("inf") for score in ranker.scores(request_).values())
    assert clauses(request_)


@pytest.mark.skipif(not (SHARED / "metatool").exists(), reason="needs the shared data")
def test_half_of_the_real_two_tool_requests_have_both_tools_among_the_first_five_of_199() -> None:
    folder = SHARED / "metatool"
    tools, queries = (json.loads((folder / name).read_text("utf-8")) for name in ("tools.json", "two_tool_queries.json"))
    ranker = Ranker(tools)
    found = sum(set(q["tool"]) <= set(ranker.rank(q["query"])[:5]) for q in queries)
    assert found / len(queries) >= 0.5
