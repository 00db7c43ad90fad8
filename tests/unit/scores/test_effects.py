"""Side effects made against side effects wanted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_reach.scores.effects import Effect, compare, effect

PAY, SHIP = effect("pay", {"order": "A", "amount": 20}), effect("ship", {"order": "A"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": "x "}, {"b": "x", "a": 1.0}),
        ({"ids": "['1', '2']"}, {"ids": ["2", "1"]}),
        ({"old": ["1", "2"], "new": ["8", "9"]}, {"old": ["2", "1"], "new": ["9", "8"]}),
        ({"old": ["1", "2"], "new": ["1", "9"]}, {"old": ["2"], "new": ["9"]}),
        ({"o": '{"k": [1]}'}, {"o": {"k": [1]}}),
    ],
)
def test_arguments_that_mean_the_same_are_the_same_effect(one, other):
    assert effect("t", one) == effect("t", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"a": True}),
        ({"old": ["1", "2"], "new": ["8", "9"]}, {"old": ["2", "1"], "new": ["8", "9"]}),
        ({"a": "[1"}, {"a": [1]}),
    ],
)
def test_arguments_that_mean_something_else_are_another_effect(one, other):
    assert effect("t", one) != effect("t", other)


@pytest.mark.parametrize(
    ("made", "wanted", "figures", "gate"),
    [
        ([PAY, SHIP], [SHIP, PAY], (1.0, 1.0, 1.0), True),
        ([], [], (1.0, 1.0, 1.0), True),
        ([PAY], [], (0.0, 1.0, 0.0), False),
        ([], [PAY], (1.0, 0.0, 0.0), False),
        ([PAY, PAY], [PAY], (0.5, 1.0, 2 / 3), False),
        ([PAY], [PAY, SHIP], (1.0, 0.5, 2 / 3), False),
    ],
)
def test_effects_are_matched_one_to_one(made, wanted, figures, gate):
    found = compare(made, wanted)
    assert (found.precision, found.recall, found.f1) == pytest.approx(figures)
    assert found.gate is gate
    assert (found.score == 1.0) is gate


def test_what_is_forbidden_or_not_said_closes_the_gate():
    assert compare([PAY], [PAY], outputs=["$1,200"], said="That is 1200 in total.").gate
    assert not compare([PAY], [PAY], outputs=["1300"], said="That is 1200 in total.").gate
    banned = compare([PAY, SHIP], [PAY, SHIP], forbidden=["ship"])
    assert (banned.gate, banned.forbidden) == (False, 1)


EFFECTS = st.lists(st.sampled_from([PAY, SHIP, Effect("x", "{}")]), max_size=6)


@given(EFFECTS, EFFECTS)
def test_shares_are_shares_and_turn_with_the_sides(made, wanted):
    found, turned = compare(made, wanted), compare(wanted, made)
    assert 0 <= found.f1 <= 1
    assert (found.precision, found.recall) == (turned.recall, turned.precision)
    assert found.score <= 1.0
    assert found.gate == (sorted(made) == sorted(wanted))
