"""How turns end, whose they are, and that runs without a name stay bounded."""

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph

from agent_reach import track_reach
from agent_reach.events import ToolCall, Turn, UnitClosed
from tests.integration.agents import Script, ask, user


@tool
def find(x: int) -> dict:
    """Find."""
    return {"found": x}


def test_the_final_text_of_a_direct_answer_ends_the_turn(observed):
    @tool(return_direct=True)
    def direct(x: int) -> str:
        """Answer."""
        return "direct answer"

    seen = observed()
    agent = create_agent(Script(lines=[ask(("direct", {"x": 1}))]), [direct])
    with seen.reach.session("s"):
        agent.invoke(user(), {"callbacks": [seen.reach.tracker]})
    assert [t.outcome for t in seen.of(Turn)] == ["answered"]


def test_runs_without_a_name_and_functions_without_a_session_stay_bounded(observed):
    seen = observed()
    built = StateGraph(MessagesState)
    built.add_node("tools", seen.reach.tool_node([find]))
    built.add_edge(START, "tools")
    app = built.compile()
    for _ in range(300):
        app.invoke({"messages": [("user", "hi"), ask(("find", {"x": 1}))]})
    assert len(seen.reach.runtime.evaluator._sessions) <= 130
    assert not seen.reach.notes.counts

    @track_reach(reach=seen.reach)
    def look(x):
        return x

    for number in range(2_500):
        look(number)
    assert len(seen.reach.runtime.evaluator.find("default").open[3].needs) == 500
    seen.reach.shutdown()
    assert sum(u.needs for u in seen.of(UnitClosed)) == 300 + 2_500


def test_the_turn_of_a_root_without_a_name_takes_that_of_the_agent_that_acts_in_it(observed):
    seen = observed()
    agent = create_agent(
        Script(lines=[ask(("find", {"x": 1})), "Done."]), [find], name="orders", middleware=[seen.reach.middleware()]
    )
    outer = StateGraph(MessagesState)
    outer.add_node("orders", agent)
    outer.add_edge(START, "orders")
    outer.compile().invoke(user(), {"callbacks": [seen.reach.tracker]})
    assert [call.agent for call in seen.of(ToolCall)] == ["orders"]
    assert [turn.agent for turn in seen.of(Turn)] == ["orders"]
    assert "invoke_agent orders" in [span.name for span in seen.spans]
