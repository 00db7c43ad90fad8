import pytest

from agent_reach.checks.instructions import Act, TurnRecord, verdict_of
from agent_reach.contracts.instructions import Atom, Instructions
from agent_reach.errors import ContractError
from agent_reach.scores.coverage import Coverage


def turn(user="Refund order A-1", *acts, intent="refund", earlier="", before=()):
    """Acts: `!tool` for a call, anything else is said."""
    return TurnRecord(user, intent, _acts(acts), earlier, {}, _acts(before))


def _acts(texts):
    return tuple(Act(tool=text[1:]) if text.startswith("!") else Act(text=text) for text in texts)


def verdict(then, record, when=None):
    return verdict_of(Atom(id="a", when=when or {}, then=then), record)


@pytest.mark.parametrize(
    ("when", "triggered"),
    [({}, True), ({"user": "refund"}, True), ({"user": "cancel"}, False), ({"intent": "refund"}, True), ({"intent": "order"}, False),
     ({"called": "pay"}, True), ({"called": "db"}, False), ({"user": "refund", "called": "db"}, False)],
)  # fmt: skip
def test_an_atom_counts_only_where_all_of_its_condition_holds(when, triggered):
    assert (verdict({"call": "pay"}, turn("Refund order A-1", "!pay"), when) is not None) is triggered


@pytest.mark.parametrize(
    ("then", "acts", "expected"),
    [
        ({"call": "db"}, ["!db"], "obeyed"),
        ({"call": "db"}, ["!pay"], "disobeyed"),
        ({"call": "db", "before": "pay"}, ["!db", "!pay"], "obeyed"),
        ({"call": "db", "before": "pay"}, ["!pay", "!db"], "disobeyed"),
        ({"call": "db", "before": "pay"}, ["!db"], None),
        ({"not_call": "delete"}, ["!db"], "obeyed"),
        ({"not_call": "delete"}, ["!delete"], "disobeyed"),
        ({"say": "5 days"}, ["It takes 5 days."], "obeyed"),
        ({"say": "5 days"}, ["Soon."], "disobeyed"),
        ({"not_say": "guarantee"}, ["We GUARANTEE it."], "disobeyed"),
        ({"not_say": "guarantee"}, ["Perhaps."], "obeyed"),
        ({"ask": "confirm", "before": "pay"}, ["Do you confirm?", "!pay"], "disobeyed"),
        ({"ask": "confirm", "before": "pay"}, ["I confirm this.", "!pay"], "disobeyed"),
        ({"ask": "confirm", "before": "pay"}, ["!pay", "Do you confirm?"], "disobeyed"),
        ({"order": ["a", "b", "c"]}, ["!a", "!c"], "obeyed"),
        ({"order": ["a", "b", "c"]}, ["!c", "!a"], "disobeyed"),
        ({"max_chars": 5}, ["too long by far", "short"], "obeyed"),
        ({"max_chars": 4}, ["short"], "disobeyed"),
        ({"format": "json"}, ['{"a": 1}'], "obeyed"),
        ({"format": "json"}, ["a: 1"], "disobeyed"),
        ({"format": "list"}, ["- one\n2. two"], "obeyed"),
        ({"format": "list"}, ["- one\nand two"], "disobeyed"),
        ({"format": "sentence"}, ["It has shipped."], "obeyed"),
        ({"format": "sentence"}, ["已发货。请查收。"], "disobeyed"),
    ],
)
def test_each_kind_of_demand(then, acts, expected):
    assert verdict(then, turn("Refund order A-1", *acts)) == expected


def test_asking_for_what_was_given_is_over_obeyed_and_not_asking_is_not_counted():
    then = {"ask": "order number", "given": r"A-\d+"}
    assert verdict(then, turn("Refund A-1", "What is your order number?")) == "over_obeyed"
    assert verdict(then, turn("Refund it", "What is your order number?", earlier="about A-1")) == "over_obeyed"
    assert verdict(then, turn("Refund A-1", "Done.")) is None
    assert verdict(then, turn("Refund it", "What is your order number?")) == "obeyed"
    assert verdict(then, turn("Refund it", "Done.")) == "disobeyed"


def test_a_function_may_judge_and_one_that_raises_leaves_the_atom_out():
    instructions = Instructions(
        atoms=[
            {"id": "polite", "then": {"check": lambda user, calls, replies: "please" in replies[-1]}},
            {"id": "broken", "then": {"check": lambda user, calls, replies: 1 / 0}},
        ]
    )
    coverage = Coverage(instructions)
    coverage.observe("c", [turn("x", "please"), turn("x", "no")])
    assert (coverage.rate("polite").hits, coverage.rate("polite").n, coverage.rate("broken").n) == (1, 2, 0)
    assert "ZeroDivisionError" in coverage.failed["broken"]
    assert coverage.broken["polite"] == [("c", 2)]


def test_coverage_of_parts_adds_up():
    instructions = Instructions(atoms=[{"id": "look", "then": {"call": "db", "before": "pay"}}])
    one, two = Coverage(instructions), Coverage(instructions)
    one.observe("a", [turn("x", "!db", "!pay"), turn("x")])
    two.observe("b", [turn("x", "!pay")])
    both = one + two
    assert (both.rate().hits, both.rate().n, both.rate().value) == (1, 2, 0.5)
    assert both.to_record()["atoms"]["look"]["broken"] == [["b", 1]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("atoms:\n- id: a\n  then: {}\n", r":3: .*exactly one of call"),
        ("atoms:\n- id: a\n  then: {call: x, say: y}\n", "found call, say"),
        ("atoms:\n- id: a\n  then: {say: '('}\n", "a regular expression"),
        ("atoms:\n- id: a\n  then: {not_say: x, before: y}\n", "`before` goes with"),
        ("atoms:\n- id: a\n  then: {call: x, given: y}\n", "`given` goes with"),
        ("atoms:\n- id: a\n  when: {usr: x}\n  then: {call: x}\n", r":3: atoms\[0\].when.usr: expected a known key"),
        ("atoms:\n- {id: a, then: {call: x}}\n- {id: a, then: {call: y}}\n", "each id once, found a again"),
        ("atoms: 7\n", "atoms"),
    ],
)
def test_a_wrong_declaration_names_its_place(tmp_path, text, said):
    file = tmp_path / "atoms.yaml"
    file.write_text(text)
    with pytest.raises(ContractError, match=said) as caught:
        Instructions.load(file)
    assert "atoms.yaml" in str(caught.value)


CONFIRM = {"ask": "confirm|sure", "before": "pay"}


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (["Do you confirm?"], "obeyed"),
        (["!db"], "disobeyed"),
        (["Do you confirm?", "!pay"], "disobeyed"),
        (["!pay", "Are you sure?"], "obeyed"),
    ],
)
def test_a_confirmation_is_asked_for_in_an_earlier_turn_and_for_one_call(before, expected):
    """The user's yes ends the turn in which it was asked for; the wish for it may be older, too."""
    record = turn("Yes, please.", "!pay", earlier="I want a refund.", before=before)
    assert verdict(CONFIRM, record, {"user": "refund"}) == expected
