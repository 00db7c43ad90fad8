"""Which documents a request needs."""

import json

from hypothesis import given
from hypothesis import strategies as st

from agent_reach.checks.retrieval import DocumentRanker

TEXTS = {
    "gold_card_1": "The card costs 90 a year.",
    "gold_card_2": "Travel insurance is included with the gold card.",
    "green_loan_1": "Loans for solar panels and heat pumps.",
    "green_loan_2": "The rate is fixed for five years.",
}
TITLES = {"gold_card_1": "Gold card: fees", "gold_card_2": "Gold card: insurance", "green_loan_1": "Green loan"}


def test_documents_that_share_words_come_first_and_lift_those_of_their_group():
    order = DocumentRanker(TEXTS, TITLES).rank("I want a loan for a heat pump and solar panels")
    assert order[:2] == ["green_loan_1", "green_loan_2"]
    alone = DocumentRanker(TEXTS, TITLES, groups={id: id for id in TEXTS}).rank("I want a loan for a heat pump and solar panels")
    assert (alone[0], alone[1] != "green_loan_2") == ("green_loan_1", True)


def test_a_pair_of_words_weighs_more_than_the_two_apart():
    texts = {"a": "fixed rate", "b": "rate of exchange that is not fixed"}
    assert DocumentRanker(texts).rank("a fixed rate")[0] == "a"


def test_chinese_is_ranked_too():
    assert DocumentRanker({"a": "信用卡年费说明", "b": "贷款利率说明"}).rank("我想了解贷款利率")[0] == "b"


TEXT = st.lists(st.sampled_from(["card", "loan", "rate", "fee", "gold"]), max_size=8).map(" ".join)


@given(st.dictionaries(st.text("ab_1", min_size=1, max_size=4), TEXT, max_size=8), TEXT)
def test_every_document_is_ranked_once_with_a_score_up_to_one(texts, request_):
    ranker = DocumentRanker(texts)
    assert sorted(ranker.rank(request_)) == sorted(texts)
    assert all(0 <= score <= 1 + 1e-9 for score in ranker.scores(request_).values())


def test_real_requests_find_their_documents(data):
    documents = json.loads((data / "tau2_banking" / "documents.json").read_text())
    tasks = json.loads((data / "tau2_banking" / "tasks.json").read_text())[::4]
    ranker = DocumentRanker({d["id"]: d["content"] for d in documents}, {d["id"]: d["title"] for d in documents})
    recalls = []
    for task in tasks:
        needed = set(task["required_documents"])
        recalls.append(len(needed & set(ranker.rank(task["user_scenario"]["instructions"])[:10])) / len(needed))
    assert sum(recalls) / len(recalls) > 0.25
