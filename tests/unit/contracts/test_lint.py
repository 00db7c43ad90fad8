"""What is likely wrong in a route table."""

import pytest

from agent_reach.contracts import Routes
from agent_reach.contracts.lint import findings

GOOD = Routes(version="1", intents={"order": {"keywords": ["order"], "steps": [["orders_db"]]}})


def table(**intents):
    return Routes(version="2", intents=intents)


@pytest.mark.parametrize(
    ("routes", "registered", "before", "said"),
    [
        (Routes(), (), None, "intents: none"),
        (table(a={"keywords": ["x"]}), (), None, "intents.a: no steps"),
        (table(a={"steps": [["t"]]}), (), None, "intents.a: no keywords"),
        (
            table(a={"keywords": ["X"], "steps": [["t"]]}, b={"keywords": ["x"], "steps": [["u"]]}),
            (),
            None,
            "intents.b: 'x' also belongs to 'a'",
        ),
        (
            table(a={"keywords": ["order"], "steps": [["t"]]}, b={"keywords": ["order refund"], "steps": [["u"]]}),
            (),
            None,
            "intents.b: a message that only says 'order refund' is taken for 'a'",
        ),
        (
            Routes(intents=GOOD.intents, tools={"a": {"alternates": ["b"]}, "b": {"alternates": ["a"]}}),
            (),
            None,
            "alternates of each other",
        ),
        (Routes(intents=GOOD.intents, tools={"a": {"alternates": ["a"]}}), (), None, "tools.a: is its own alternate"),
        (GOOD, ("order_db",), None, "intents.order.steps.0: 'orders_db' is not registered (renamed to 'order_db'?)"),
        (GOOD, ("orders_db", "faq"), None, "'faq' is registered and in no route"),
        (
            table(order={"keywords": ["order"], "steps": [["order_db"]]}),
            (),
            GOOD,
            "'orders_db' of version 1 is gone (renamed to 'order_db'?)",
        ),
    ],
)
def test_likely_mistakes_are_named_with_their_place(routes, registered, before, said):
    assert any(said in line for line in findings(routes, registered, before)), findings(routes, registered, before)


def test_a_good_table_has_no_findings():
    assert findings(GOOD, ["orders_db"], GOOD) == []
