import pytest

from agent_reach.checks import (
    Said,
    asks_user,
    embedding_relevance,
    is_step_limit,
    knowledge_counts,
    lexical_relevance,
    missing_from_handoff,
    routing_of_call,
)
from agent_reach.contracts import HandoffContract, Routes


@pytest.mark.parametrize(
    ("query", "fitting", "other"),
    [
        ("How long is the warranty on headsets?", "Headsets carry a warranty of two years.", "Our offices are in Lyon."),
        ("退货需要几天", "退货须在三十天内办理。", "公司成立于一九九八年。"),
        ("refund policy", "Policy for refunds: within 30 days.", "Careers at our company"),
    ],
)
def test_the_fragment_that_fits_is_more_relevant_in_english_and_chinese(query, fitting, other):
    good, bad = lexical_relevance(query, [fitting, other])
    assert 0 <= bad < good <= 1


def test_relevance_of_nothing_is_zero():
    assert lexical_relevance("", ["a"]) == [0.0]
    assert lexical_relevance("query", []) == []


def test_any_embeddings_can_be_used():
    class Embeddings:
        def embed_query(self, text):
            return [1.0, 0.0]

        def embed_documents(self, texts):
            return [[1.0, 0.0] if t == "same" else [0.0, 1.0] for t in texts]

    assert embedding_relevance(Embeddings())("q", ["same", "other"]) == [1.0, 0.0]


def test_a_label_comes_before_relevance_and_nan_is_not_relevant():
    counts, needed = knowledge_counts([0.9, 0.1, float("nan")], labels=[False, True, None], cut=0.35, ideal=2)
    assert needed == [False, True, False]
    assert counts == (3, 1, 2)


CONTRACT = HandoffContract(
    receiver="refunds",
    required={"properties": {"order_id": {"type": "string"}, "amount": {"type": "number"}}, "required": ["order_id", "amount"]},
    conclusions=True,
)


@pytest.mark.parametrize(
    ("given", "history", "missing"),
    [
        ([], [], ("goal", "order_id", "amount", "conclusions")),
        ([{"goal": "refund", "order_id": "A", "amount": 1.5, "conclusions": "broken"}], [], ()),
        ([{"goal": " ", "order_id": "", "amount": "much", "conclusions": []}], [], ("goal", "order_id", "amount", "conclusions")),
        ([{"task": "refund", "state": {"order_id": "A", "amount": 2}}], [Said("assistant", "it is broken")], ()),
        ([], [Said("user", "refund please"), Said("tool", '{"order_id": "A", "amount": 3}')], ()),
        ([], [Said("user", "order id: A, amount is 3.5"), Said("assistant", "ok")], ()),
        ([], [Said("user", "hi"), Said("assistant", "", {"order_id": "A", "amount": 1}), Said("tool", "broken")], ()),
    ],
)
def test_a_handoff_is_complete_when_goal_parameters_and_conclusions_are_there(given, history, missing):
    assert missing_from_handoff(CONTRACT, given, history) == missing


def test_the_verdict_on_a_call_compares_it_with_its_step():
    routes = Routes(intents={"q": {"steps": [["a", "b"]]}})
    assert routing_of_call(routes, "q", "a") == ("hit", True, ("a", "b"))
    assert routing_of_call(routes, "q", "b") == ("hit", False, ("a", "b"))
    assert routing_of_call(routes, "q", "c") == ("unneeded", False, ())
    assert routing_of_call(routes, "other", "a") == ("", False, ())


@pytest.mark.parametrize(
    ("reply", "asks"),
    [
        ("Could you please tell me the order number?", True),
        ("I found two. Which one do you mean?", True),
        ("To go on I need your e-mail. Please provide it.", True),
        ("请提供订单号", True),
        ("Your order has shipped.", False),
        ("Your order has shipped. Is there anything else I can help you with?", False),
        ("", False),
    ],
)
def test_a_reply_that_only_asks_is_told_from_an_answer(reply, asks):
    assert asks_user(reply) is asks


def test_the_text_of_a_step_limit_is_known():
    assert is_step_limit("Agent stopped due to max iterations.")
    assert not is_step_limit("Your agent stopped by.")
