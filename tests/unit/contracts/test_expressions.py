"""Conditions in files: what holds, and what is refused."""

import pickle

import pytest

from agent_reach.contracts.expressions import Expression

RUN = {"state": {"refunds": {"A1": 1}}, "results": {"find": [{"status": "shipped", "n": 3}]}}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("results.find[-1].status == 'shipped'", True),
        ("state.refunds.A1 == `2`", False),
        ("results.nothing", False),
        ("contains(results.nothing, 'x')", False),
        ("length(results.find) >= `1`", True),
        ("$.results.find[*].status == 'shipped'", True),
        ("$.results.find[?(@.n > 2)].status contains 'ship'", True),
        ("$.results.find[0].status in ['packed', 'shipped']", False),
        ('$.results.find[0].status in ["packed", "shipped"]', True),
        ("$.results.find[0].n >= 4", False),
        ("$.results.find[0].n > 'x'", False),
        ("$.results.nothing", False),
        ("$.state.refunds.A1", True),
    ],
)
def test_a_condition_holds_of_state_and_results(text, holds):
    if text.endswith("'shipped']"):
        with pytest.raises(ValueError, match="a JSON value after the comparison"):
            Expression(text)
        return
    assert Expression(text).holds(RUN) is holds


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a condition in JMESPath"),
        ("a ==", "a JMESPath condition"),
        ("$.a ==", "a JSON value after the comparison"),
        ("$.x == foo", "found 'foo'"),
        ("$.a[", "a JSONPath"),
    ],
)
def test_what_is_no_condition_is_told(text, said):
    with pytest.raises(ValueError, match=said.replace("[", r"\[")):
        Expression(text)


def test_a_condition_travels_to_another_process():
    assert pickle.loads(pickle.dumps(Expression("results.find"))) == Expression(" results.find ")
