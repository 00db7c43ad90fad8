"""Through a real collector into a real backend and back: nothing is lost, doubled or changed on the way."""

from dataclasses import replace

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import create_retriever_tool, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from agent_reach import Compensation, Reach
from agent_reach.events import (
    CompensationStep,
    Decision,
    Handoff,
    Retrieval,
    ToolAttempt,
    ToolCall,
    Turn,
    UnitClosed,
    span_name,
)
from tests.integration.agents import Script, ask, user
from tests.integration.backend import Delivered, foreign_settings, read_back, running_backend, running_collector

pytestmark = [pytest.mark.backend, pytest.mark.long]

SPANS = (ToolCall, ToolAttempt, Turn, Retrieval, Handoff)
SPAN_EVENTS = (Decision, CompensationStep)
ROUTES = {
    "intents": {"refund": {"keywords": ["refund"], "steps": [["orders_db", "orders_cache"], ["pay_back"]]}},
    "tools": {
        "orders_db": {"read_only": True, "alternates": [{"tool": "orders_cache", "arguments": {"order_id": "id"}}]},
        "pay_back": {"side_effect": True},
        "rules": {"read_only": True},
    },
    "knowledge": {"Rules": {"ideal": 1}},
    "handoffs": {"billing": {"required": {"properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}}},
}


@tool
def orders_db(order_id: str) -> dict:
    """Look up an order."""
    return {"data": None}


@tool
def orders_cache(id: str) -> dict:
    """Look up an order elsewhere."""
    return {"data": [{"id": id, "buyer": "Zoë 😀"}]}


@tool
def pay_back(order_id: str) -> str:
    """Pay back."""
    raise PermissionError("not allowed")


class Rules(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [Document("Refunds take 14 days."), Document("Our offices are in Lyon.")]


def build(reach):
    """model ↔ tools, then a handoff to billing; the first turn needs no tool, the second calls three."""
    tools = [orders_db, orders_cache, pay_back, create_retriever_tool(Rules(), "rules", "Search the rules.")]
    lookup, search = ("orders_db", {"order_id": "A-1"}), ("rules", {"query": "how long do refunds take"})
    lines = ["Over to billing.", ask(lookup, search), ask(("pay_back", {"order_id": "A-1"})), "Over to billing."]
    model = Script(lines=lines).bind_tools(tools)

    def think(state: MessagesState) -> Command:
        answer = model.invoke(state["messages"])
        return Command(goto="tools" if answer.tool_calls else "billing", update={"messages": [answer]})

    built = StateGraph(MessagesState)
    built.add_node("model", think, destinations=("tools", "billing"))
    built.add_node("tools", reach.tool_node(tools, handle_tool_errors=True))
    built.add_node("billing", lambda state: {"messages": [("assistant", "Refunds take 14 days.")]})
    built.add_edge(START, "model")
    built.add_edge("tools", "model")
    return built.compile(name="refunds")


def emit(endpoint):
    """Two turns of a session, sent to a collector; returns what a sink saw, what `shutdown` said and what was noted."""
    reach = Reach(ROUTES, compensation=Compensation(backoff=0.01), otlp=endpoint, capture_payloads=True)
    events = []
    reach.add_sink(events.append)
    app = build(reach)
    with reach.session("s-1"):
        for text in ("Grüß Gott 😀", "refund my order, order_id: A-1"):
            app.invoke(user(text), {"callbacks": [reach.tracker]})
    return events, reach.shutdown(10), dict(reach.notes.counts)


@pytest.fixture(scope="module")
def backend(tmp_path_factory):
    with running_backend(tmp_path_factory.mktemp("phoenix")) as backend:
        yield backend


@pytest.fixture(scope="module")
def collector(tmp_path_factory, backend):
    with running_collector(tmp_path_factory.mktemp("rotel"), backend) as collector:
        yield collector


@pytest.fixture(scope="module", params=["http", "grpc"])
def delivered(request, backend, collector):
    """A run over OTLP/HTTP or gRPC, in a project of its own, as it was and as it arrived."""
    project = f"over-{request.param}"
    with pytest.MonkeyPatch.context() as patch:
        for name in foreign_settings():
            patch.delenv(name)
        patch.setenv("OTEL_RESOURCE_ATTRIBUTES", f"openinference.project.name={project}")
        events, sent, faults = emit(getattr(collector, request.param))
    spans = backend.spans_once_arrived(project, {e.id for e in events})
    return Delivered(events, sent, faults, spans, collector.received({e.trace for e in events}))


def unit_at_the_end(delivered):
    """The one that no turn closed: it has a span of its own."""
    [unit] = [e for e in delivered.of(UnitClosed) if e.reason == "session"]
    return unit


def test_the_run_emits_every_kind_of_event_that_a_graph_can(delivered):
    assert {type(e) for e in delivered.events} == {*SPANS, *SPAN_EVENTS, UnitClosed}
    assert len({e.trace for e in delivered.events}) == 2
    assert len({e.id for e in delivered.events}) == len(delivered.events)


def test_shutdown_says_that_all_was_sent(delivered):
    assert delivered.sent
    assert not delivered.faults


def test_the_collector_takes_in_every_span_exactly_once(delivered):
    expected = {e.id for e in delivered.events if isinstance(e, SPANS)}
    assert set(delivered.received.values()) == {1}
    assert expected < set(delivered.received)
    assert len(delivered.received) == len(expected) + len([unit_at_the_end(delivered)])


def test_the_backend_has_every_span_exactly_once_and_no_other(delivered):
    in_backend = [span["context"]["span_id"] for span in delivered.spans]
    assert sorted(in_backend) == sorted(delivered.received)


def test_every_event_reads_back_from_the_backend_as_it_was(delivered):
    by_id = {event.id: event for event in delivered.events}
    read = read_back(delivered.spans)
    assert sorted(event.id for event in read) == sorted(by_id)
    for event in read:
        original = by_id[event.id]
        assert replace(event, time=original.time, latency=original.latency) == original


def test_times_survive_to_the_microsecond(delivered):
    by_id = {event.id: event for event in delivered.events}
    for event in read_back(delivered.spans):
        original = by_id[event.id]
        assert abs(event.time - original.time) <= 1_000
        assert abs(event.latency - original.latency) <= 2_000


def test_a_rerouted_empty_result_shows_in_the_backend_as_one_call_with_its_attempts(delivered):
    [call] = [c for c in delivered.of(ToolCall) if c.tool == "orders_db"]
    span = delivered.span_of(call)
    inner = [s["attributes"] for s in delivered.spans if s["parent_id"] == call.id]
    attempts = sorted(inner, key=lambda attributes: attributes["agent_reach.attempt"])
    shown = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "orders_db",
        "gen_ai.conversation.id": "s-1",
        "agent_reach.status": "ok",
        "agent_reach.first_status": "empty_alias",
        "agent_reach.attempts": 3,
        "agent_reach.served_by": "orders_cache",
        "agent_reach.compensation": "reroute",
        "agent_reach.tools.expected": ["orders_db", "orders_cache"],
        "agent_reach.verdict": "hit",
    }
    assert {key: span["attributes"].get(key) for key in shown} == shown
    assert [a["agent_reach.rung"] for a in attempts] == ["first", "retry", "reroute"]
    assert [a["agent_reach.status"] for a in attempts] == ["empty_alias", "empty_alias", "ok"]
    assert [a.get("agent_reach.empty.kind") for a in attempts] == ["no_data", "no_data", None]
    assert [a["gen_ai.tool.name"] for a in attempts] == ["orders_db", "orders_db", "orders_cache"]
    assert [e["name"] for e in span["events"]] == ["agent_reach.compensation"] * 2


def test_calls_hang_under_their_turn_and_turns_are_roots(delivered):
    turns = {turn.turn: delivered.span_of(turn) for turn in delivered.of(Turn)}
    assert [turns[number]["parent_id"] for number in (1, 2)] == [None, None]
    parents = {delivered.span_of(call)["parent_id"] for call in delivered.of(ToolCall)}
    assert parents == {turns[2]["context"]["span_id"]}


def test_only_a_failed_call_is_an_error(delivered):
    failed = [s for s in delivered.spans if s["status_code"] == "ERROR"]
    assert [s["attributes"]["gen_ai.tool.name"] for s in failed] == ["pay_back"]
    assert {s["status_code"] for s in delivered.spans} == {"ERROR", "UNSET"}
    assert failed[0]["attributes"]["error.type"] == "PermissionError"


def test_spans_have_the_names_of_the_conventions(delivered):
    named = {e.id: span_name(e) for e in delivered.events if isinstance(e, SPANS)}
    shown = {s["context"]["span_id"]: s["name"] for s in delivered.spans}
    assert named.items() <= shown.items()
    assert set(shown.values()) >= {
        "execute_tool orders_db",
        "retrieval Rules",
        "handoff billing",
        "invoke_agent refunds",
    }


def test_a_turn_carries_its_scores_as_evaluations(delivered):
    last = delivered.of(Turn)[-1]
    results = [e["attributes"] for e in delivered.span_of(last)["events"] if e["name"] == "gen_ai.evaluation.result"]
    scores = {
        "ReachScore": last.score,
        "ToolReach": last.tool,
        "KnowledgeReach": last.knowledge,
        "TaskReach": last.task,
    }
    assert {r["gen_ai.evaluation.name"]: r["gen_ai.evaluation.score.value"] for r in results} == scores
    assert results[0]["gen_ai.evaluation.score.label"] == last.band


def test_a_unit_that_outlives_its_turn_has_a_span_under_that_turn(delivered):
    unit = unit_at_the_end(delivered)
    [span] = [s for s in delivered.spans if s["attributes"]["agent_reach.event"] == "unit"]
    assert (span["name"], span["attributes"]["agent_reach.id"]) == ("task_unit refund", unit.id)
    assert (span["parent_id"], span["context"]["trace_id"]) == (delivered.of(Turn)[-1].id, unit.trace)
    assert (unit.needs, unit.reached) == (2, 1)
