"""What is told live as turns and units end: reach rates, alternative paths, instructions."""

from langgraph.checkpoint.memory import InMemorySaver

from agent_reach.events import ToolCall, Turn
from tests.integration.agents import ask, graph, run, user
from tests.integration.test_counting import MODES, find, nothing

# routing --------------------------------------------------------------------------------------------------------------


async def test_reach_rates_are_live_on_the_session_and_over_all(observed):
    routes = {"intents": {"q": {"keywords": ["find"], "steps": [["find"], ["nothing"]]}}}
    seen = observed(routes)
    for tools in ((find,), (find, nothing)):
        asked = [ask(*((t.name, {"x": 1}) for t in tools)), "done"]
        app = graph(seen.reach.tool_node([find, nothing]), asked, [find, nothing])
        with seen.reach.session(f"s{len(tools)}") as session:
            app.invoke(user("find it"), {"callbacks": [seen.reach.tracker]})
        assert session.rates.overall("precise").hits == len(tools)
    assert (seen.reach.rates.overall("precise").hits, seen.reach.rates.overall("precise").n) == (3, 4)
    [miss] = seen.reach.rates.misses
    assert (miss.session, miss.cell.tool, miss.reason, miss.place, miss.offered) == ("s1", "nothing", "no_call", 1, 2)


async def test_a_result_that_passes_the_outcome_check_is_an_alternative_path(observed):
    def broken_check(result):
        raise RuntimeError("no")

    for outcome, verdict in ({"required": ["found"]}, "alternative"), (broken_check, "unneeded"):
        seen = observed({"intents": {"q": {"keywords": ["hi"], "steps": [{"tools": ["other"], "outcome": outcome}]}}})
        app = graph(seen.reach.tool_node([find]), [ask(("find", {"x": 1})), "done"], [find])
        with seen.reach.session("s") as session:
            app.invoke(user(), {"callbacks": [seen.reach.tracker]})
        assert seen.of(ToolCall)[0].verdict == verdict
        assert session.rates.overall("candidate").hits == 0
        assert session.rates.overall("reach").hits == (verdict == "alternative")
        assert seen.reach.notes.counts["outcome_check"] == (verdict == "unneeded")


# instructions ---------------------------------------------------------------------------------------------------------

ATOMS = [
    {"id": "confirm first", "when": {"user": "refund"}, "then": {"ask": "sure", "before": "find"}},
    {"id": "ask-number", "when": {"user": "order"}, "then": {"ask": "number", "given": "A-\\d"}},
    {"id": "no-promises", "then": {"not_say": "guarantee"}},
]


@MODES
async def test_instructions_are_checked_as_turns_end(observed, mode):
    seen = observed(instructions={"atoms": ATOMS})
    said = [ask(("find", {"x": 1})), "I guarantee it.", "Which order number is it, please?"]
    app = graph(seen.reach.tool_node([find]), said, [find], checkpointer=InMemorySaver())
    config = {"callbacks": [seen.reach.tracker], "configurable": {"thread_id": "s"}}
    for text in ("a refund for A-1", "what of my order"):
        await run(app, user(text), config, mode)
    told = [turn.instructions for turn in seen.of(Turn)]
    assert told == [("disobeyed confirm first", "disobeyed no-promises"), ("over_obeyed ask-number", "obeyed no-promises")]
    coverage = seen.reach.coverage
    assert (coverage.rate("no-promises").hits, coverage.rate("no-promises").n) == (1, 2)
    assert coverage.over_obeyed["ask-number"] == 1
    assert coverage.broken["confirm first"] == [("s", 1)]


def test_an_instruction_may_depend_on_what_the_session_knows(observed):
    atoms = [{"id": "vip-line", "when": {"state": {"tier": "vip"}}, "then": {"say": "4711"}}]
    seen = observed(instructions={"atoms": atoms})
    for tier in ("vip", "basic"):
        with seen.reach.session(tier) as session:
            session.share(tier=tier)
            graph(seen.reach.tool_node([find]), ["Call 4711."]).invoke(user(), {"callbacks": [seen.reach.tracker]})
    assert [turn.instructions for turn in seen.of(Turn)] == [("obeyed vip-line",), ()]


def test_an_instruction_whose_check_raises_is_noted_and_not_counted(observed):
    def broken(user, calls, replies):
        raise RuntimeError("no")

    seen = observed(instructions={"atoms": [{"id": "x", "then": {"check": broken}}]})
    graph(seen.reach.tool_node([find]), ["hello"]).invoke(user(), {"callbacks": [seen.reach.tracker]})
    assert (seen.of(Turn)[0].instructions, seen.reach.notes.counts["instruction"]) == ((), 1)
