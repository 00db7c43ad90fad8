"""Logistic regression without a library."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_reach.scores.logistic import fit_logistic, logistic


def test_the_weights_of_the_model_that_made_the_data_are_found():
    dice = random.Random(5)
    rows = [(dice.gauss(0, 1), dice.gauss(0, 1)) for _ in range(20_000)]
    labels = [dice.random() < logistic(1.5 * x - 0.7 * y + 0.3) for x, y in rows]
    assert fit_logistic(rows, labels) == pytest.approx([1.5, -0.7, 0.3], abs=0.08)


def test_the_gradient_vanishes_at_the_optimum():
    rows, labels, ridge = [(0.0,), (1.0,), (2.0,), (3.0,)], [False, True, False, True], 0.5
    slope, offset = fit_logistic(rows, labels, ridge)
    errors = [logistic(slope * x + offset) - y for (x,), y in zip(rows, labels, strict=True)]
    assert sum(errors) == pytest.approx(0, abs=1e-9)
    assert sum(e * x for e, (x,) in zip(errors, rows, strict=True)) + ridge * slope == pytest.approx(0, abs=1e-9)


def test_separable_data_have_finite_weights_and_one_label_is_refused():
    assert abs(fit_logistic([(0.0,), (1.0,)], [False, True], ridge=0.1)[0]) < 100
    with pytest.raises(ValueError, match="both labels"):
        fit_logistic([(0.0,), (1.0,)], [True, True])


@given(st.floats(-1e6, 1e6))
def test_the_logistic_is_a_probability_and_turns(x):
    assert 0 <= logistic(x) <= 1
    assert logistic(x) + logistic(-x) == pytest.approx(1)
