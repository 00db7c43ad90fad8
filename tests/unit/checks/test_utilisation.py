"""Which fragments a reply cites."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_reach.checks import Fragment, citations, embedding_citations, placed

RULES = ["Headsets carry a warranty of 24 months.", "Our offices are in Lyon.", "Tea is shipped on Mondays."]
RULES_ZH = ["耳机保修期为24个月，从购买之日起计算。", "VIP客户享有专属售后通道。", "茶叶每周一发货。"]


@pytest.mark.parametrize(
    ("fragments", "reply", "said", "cited"),
    [
        (RULES, "24 months of warranty for headsets", "warranty of headsets", [True, False, False]),
        (RULES, "We are based in Lyon, and ship tea on Mondays.", "where are you", [False, True, True]),
        (RULES, "Thank you for asking about the warranty of headsets.", "warranty of headsets", [False, False, False]),
        (RULES_ZH, "您的耳机保修24个月。", "耳机保修多久", [True, False, False]),
        (RULES_ZH, "作为VIP客户您可以走专属售后通道。", "我要退货", [False, True, False]),
        (RULES_ZH, "好的，耳机已登记。", "耳机保修多久", [False, False, False]),
        (
            ["Order A-77 is in Lyon.", "The kettle has a copper bottom and a wooden handle.", "Our tea is fine."],
            "A-77 left; it has a copper bottom with wooden handle.",
            "",
            [True, True, False],
        ),
        (["The balance is 1,250.00 euros."], "You have 1250.00 left.", "", [True]),
    ],
    ids=["number", "name", "topic words", "zh number", "zh phrase", "zh topic words", "identifier and phrase", "thousands"],
)
def test_names_numbers_and_rare_phrases_cite_and_topic_words_do_not(fragments, reply, said, cited):
    assert citations(fragments, reply, said) == cited


def test_what_the_user_wrote_proves_nothing():
    assert citations(RULES, "You said that headsets carry a warranty of 24 months.", said=RULES[0]) == [False] * 3


def test_what_most_fragments_hold_proves_nothing():
    fragments = [f"Order 4711 of Miller: {what}." for what in ("paid by card", "sent by train", "packed in paper")]
    assert citations(fragments, "Order 4711 of Miller is fine.") == [False] * 3
    assert citations(fragments, "Order 4711 was sent by train.") == [False, True, False]


def test_evidence_counts_once_and_of_equal_fragments_the_first():
    fragments = ["Returns within 30 days of purchase.", "The warranty ends 30 days later.", "Returns within 30 days of purchase."]
    assert citations(fragments, "Returns are taken within 30 days of purchase.") == [True, False, False]


WORDS = st.lists(st.sampled_from("abcdefghijklmnop"), min_size=0, max_size=12).map(lambda w: " ".join(s * 4 for s in w))


@given(st.lists(WORDS, max_size=6), WORDS, WORDS)
def test_there_is_one_answer_a_fragment_and_an_empty_or_repeated_reply_cites_nothing(fragments, reply, said):
    assert len(citations(fragments, reply, said)) == len(fragments)
    assert not any(citations(fragments, "", said))
    assert not any(citations(fragments, said, said))


@given(st.permutations([*RULES, "Gift cards last 18 months.", "Call Berta at 555-0199."]))
def test_the_order_of_different_fragments_changes_nothing(order):
    cited = {text for text, yes in zip(order, citations(order, "It is 24 months; call Berta at 555-0199."), strict=True) if yes}
    assert cited == {RULES[0], "Call Berta at 555-0199."}


def test_embeddings_judge_by_the_nearest_sentence():
    class Axes:
        def embed_query(self, text):
            return [float(word in text.lower()) for word in ("warranty", "lyon", "tea")]

        def embed_documents(self, texts):
            return [self.embed_query(text) for text in texts]

    cite = embedding_citations(Axes())
    assert cite(RULES, "We sit in Lyon. Hello.", "where?") == [False, True, False]
    assert cite(RULES, "We sit in Lyon.", "Are you in Lyon?") == [False] * 3
    assert cite(RULES, "", "") == [False] * 3


def test_fragments_are_placed_where_they_stand_in_the_input():
    fragments = [Fragment("tea"), Fragment("warranty"), Fragment("absent"), Fragment("")]
    assert [f.text for f in placed(fragments, ["the warranty", "now tea"])] == ["warranty", "tea"]
