"""The review queue and what is written back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_reach import ContractError, ReachError, Routes
from agent_reach.evaluation.review import Item, corrected, decide, is_doubtful, load, next_version, renewed, save

ITEM = Item("s1", 2, "refund", "money back\nplease: now", (("db", "cache"),), ("faq",), "crm", "ambiguous")
TABLE = {"version": 3, "intents": {"refund": {"keywords": ["refund"], "steps": [["db", "cache"], "pay"]}, "chat": None}}


def test_a_queue_is_the_same_after_a_file(tmp_path):
    items = [ITEM, decide(ITEM, "correct", tool="crm", step=0)]
    save(items, tmp_path / "q.yaml")
    assert load(tmp_path / "q.yaml") == items
    save([], tmp_path / "q.yaml")
    assert load(tmp_path / "q.yaml") == []


def test_corrections_go_into_the_table_under_a_new_version():
    items = [
        ITEM,
        decide(ITEM, "correct", tool="crm", step=0),
        decide(ITEM, "correct", tool="audit", step=2),
        decide(ITEM, "accept"),
    ]
    document, changed = corrected(TABLE, items)
    assert changed == 2
    routes = Routes.model_validate(document)
    assert [step.tools for step in routes.steps("refund")] == [("db", "cache", "crm"), ("pay",), ("audit",)]
    assert routes.version == "4"
    assert TABLE["intents"]["refund"]["steps"] == [["db", "cache"], "pay"]


def test_a_correction_that_stands_already_changes_nothing():
    document, changed = corrected(TABLE, [decide(ITEM, "correct", tool="db", step=0), decide(ITEM, "drop")])
    assert (document, changed) == (TABLE, 0)


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (Item("s", 1, "unknown", "", (), (), "", "miss", "correct", "x"), "not in the route table"),
        (Item("s", 1, "refund", "", (), (), "", "miss", "correct", "x", 7), "has 2 steps"),
    ],
)
def test_a_correction_that_fits_nowhere_is_told(item, said):
    with pytest.raises(ReachError, match=said):
        corrected(TABLE, [item])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("7", "a list of items"),
        ("- 7", "an item with the keys"),
        ("- {session: s, unit: 1}", "an item with the keys"),
        ("- {session: s, unit: 1, intent: i, colour: red}", "an item with the keys"),
        ("- {session: s, unit: 1, intent: i, decision: maybe}", "accept, correct, drop"),
        ("- {session: s, unit: 1, intent: i, decision: correct}", "`tool` beside"),
    ],
)
def test_a_file_that_is_no_queue_is_told_with_its_line(tmp_path, text, said):
    path = tmp_path / "q.yaml"
    path.write_text(text)
    with pytest.raises(ContractError, match=said) as caught:
        load(path)
    assert "q.yaml:1" in str(caught.value)


@pytest.mark.parametrize(
    ("judged", "doubt"), [("db", False), ("cache", False), ("pay", False), ("crm", True), ("", True), (None, False)]
)
def test_a_unit_is_in_doubt_when_the_judge_names_what_no_step_lists(judged, doubt):
    assert (
        is_doubtful(Routes.model_validate(TABLE | {"intents": {"refund": TABLE["intents"]["refund"]}}), "refund", judged) == doubt
    )


@pytest.mark.parametrize(
    ("version", "following"), [("3", "4"), ("1.9", "1.10"), ("2026-12-01", "2026-12-01.1"), ("shop", "shop.1"), ("a.b", "a.b.1")]
)
def test_versions_go_up_at_their_end(version, following):
    assert next_version(version) == following


@given(st.text(max_size=12))
def test_a_next_version_is_another_one(version):
    assert next_version(version) != version


def test_a_new_queue_keeps_what_was_decided():
    one, two = Item("s", 1, "i", "", (), (), "", "miss"), Item("s", 2, "i", "", (), (), "", "miss")
    decided = decide(one, "drop")
    assert renewed([one, two], [decided]) == [decided, two]
    assert renewed([two], [decided]) == [decided, two]
