"""Why best tools were not called, and what to change."""

from hypothesis import given
from hypothesis import strategies as st

from agent_reach.contracts import Routes
from agent_reach.events import UnitClosed
from agent_reach.scores.misses import causes, place_effect
from agent_reach.scores.rate import RateTally
from agent_reach.scores.steps import StepOutcome

ROUTES = Routes(intents={"order": {"steps": [["orders_db", "orders_cache"]]}})
TOOLS = {
    "orders_db": "Look up an order and its parcel by the order number.",
    "parcels": "Look up a parcel by the order number of its order.",
    "faq": "Answers to frequent questions on warranty and returns.",
}


def closed(n=1, called=(), **step):
    outcome = StepOutcome("orders_db", "1–2", **{"calls": 0, **step}).to_text()
    return [UnitClosed(session=f"s{i}", unit=1, intent="order", steps=(outcome,), called=tuple(called)) for i in range(n)]


def tally(*groups):
    counted = RateTally()
    for event in (event for group in groups for event in group):
        counted.observe(event)
    return counted


GOOD = closed(20, ["orders_db"], candidate=True, precise=True, first=True, calls=1, ok=1, place=0, offered=10)


def told(counted, descriptions=None):
    return [(cause.reason, cause.n) for cause in causes(counted, ROUTES, descriptions)]


def test_what_the_unit_tells_stands():
    counted = tally(GOOD, closed(3, reason="never_offered"), closed(2, reason="earlier_step"), closed(1, reason="no_call"))
    assert told(counted) == [("never_offered", 3), ("earlier_step", 2), ("no_call", 1)]


def test_a_tool_that_stands_late_and_is_chosen_less_often_there_was_offered_late():
    missed = closed(12, ["faq"], reason="other_tool", place=9, offered=10)
    assert told(tally(GOOD, missed)) == [("offered_late", 12)]
    assert told(tally(GOOD, closed(12, ["faq"], reason="other_tool", place=0, offered=10))) == [("other_tool", 12)]


def test_descriptions_that_overlap_are_named_with_their_common_words():
    found = causes(tally(GOOD, closed(2, ["faq", "parcels"], reason="other_tool")), ROUTES, TOOLS)
    assert [(cause.reason, cause.n) for cause in found] == [("overlap", 2)]
    assert "`orders_db` and `parcels`" in found[0].suggestion
    assert "parcel" in found[0].suggestion
    assert told(tally(GOOD, closed(2, ["faq"], reason="other_tool")), TOOLS) == [("other_tool", 2)]


def test_an_expectation_that_hardly_any_unit_meets_may_be_wrong():
    found = causes(tally(closed(30, ["faq"], reason="other_tool")), ROUTES)
    assert found[0].reason == "expectation"
    assert "intents.order.steps[0] may be wrong: 0 of 30" in found[0].suggestion


def test_the_line_of_the_route_table_is_named(tmp_path):
    path = tmp_path / "routes.yaml"
    path.write_text("version: 1\nintents:\n  order:\n    steps:\n      - [orders_db]\n")
    found = causes(tally(closed(30, reason="no_call")), Routes.load(path))
    assert f"{path}:5 intents.order.steps[0]" in found[0].suggestion


COUNTS = st.dictionaries(st.tuples(st.just("t"), st.booleans(), st.integers(0, 9)), st.integers(0, 40))


@given(COUNTS)
def test_the_place_effect_is_a_probability_and_turns_with_the_sides(places):
    p = place_effect(places, "t")
    turned = place_effect({(tool, not called, tenth): n for (tool, called, tenth), n in places.items()}, "t")
    assert 0 <= p <= 1
    assert p == turned == 1.0 or abs(p + turned - 1) < 1e-9


def test_the_place_effect_is_that_of_the_mann_whitney_test():
    """Twelve against fifteen, no ties across tenths but within: U = 0, so p is the tail at z of the tie-corrected variance."""
    places = {("t", True, 1): 12, ("t", False, 8): 15}
    assert place_effect(places, "t") < 1e-6
    assert place_effect({("t", True, 4): 20, ("t", False, 4): 20}, "t") == 1.0
    assert place_effect({("t", True, 1): 9, ("t", False, 8): 15}, "t") == 1.0
