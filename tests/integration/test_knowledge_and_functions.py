"""Retrievers and plain functions."""

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import create_retriever_tool

from agent_reach import Compensation, ContractError, Reach, track_reach
from agent_reach.events import Retrieval, ToolCall, Turn
from tests.integration.agents import ask, graph, run, tool_texts, user

MODES = pytest.mark.parametrize("mode", ["sync", "async"])
TEXTS = ["Headsets carry a warranty of 24 months.", "Our offices are in Lyon.", "Tea is shipped on Mondays."]


class Index(BaseRetriever):
    texts: list = TEXTS

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [Document(page_content=t, metadata={"needed": t.startswith("Head")}) for t in self.texts]


def agent(seen, retriever):
    search = create_retriever_tool(retriever, "search", "Search.")
    return graph(
        seen.reach.tool_node([search]), [ask(("search", {"query": "warranty of headsets"})), "24 months of warranty for headsets"]
    )


@MODES
async def test_a_retriever_used_as_a_tool_counts_once_as_a_call_and_once_as_a_retrieval(observed, mode):
    seen = observed({"knowledge": {"Index": {"ideal": 1}}})
    with seen.reach.session("s") as session:
        await run(agent(seen, Index()), user(), {"callbacks": [seen.reach.tracker]}, mode)
    [retrieval], [call] = seen.of(Retrieval), seen.of(ToolCall)
    assert (retrieval.source, retrieval.retrieved, retrieval.relevant, retrieval.ideal) == ("Index", 3, 1, 1)
    assert retrieval.parent == call.id
    assert session.score.knowledge == pytest.approx(0.5 + 0.5 / 3)
    [turn] = seen.of(Turn)
    assert (turn.context_sources, turn.context_cited) == (("Index",) * 3, ("1", "0", "0"))


def test_fragments_count_in_the_order_of_the_models_input_by_their_declared_label(observed):
    class Labelled(Index):
        def _get_relevant_documents(self, query, *, run_manager):
            return [
                Document(page_content=text, metadata={"kind": kind})
                for text, kind in zip(TEXTS, ["rule", "place", ""], strict=True)
            ]

    seen = observed({"knowledge": {"Index": {"group": "kind"}}})
    search = create_retriever_tool(Labelled(name="Index"), "search", "Search.")
    app = graph(
        seen.reach.tool_node([search]), [ask(("search", {"query": "warranty of headsets"})), "24 months; and VIP line 4711"]
    )
    with seen.reach.session("s") as session:
        session.context("VIP customers call 4711.", "Nobody reads this.", source="system", group="tier")
        app.invoke(
            {"messages": [("system", "VIP customers call 4711."), ("user", "warranty?")]}, {"callbacks": [seen.reach.tracker]}
        )
    [turn] = seen.of(Turn)
    assert turn.context_sources == ("system", "Index", "Index", "Index")
    assert turn.context_groups == ("tier", "rule", "place", "")
    assert turn.context_cited == ("1", "1", "0", "0")
    assert {label: (rate.hits, rate.n) for label, rate in session.utilisation.by("label").items()} == {
        "": (0, 1), "place": (0, 1), "rule": (1, 1), "tier": (1, 1),
    }  # fmt: skip


def test_another_judge_of_citations_is_asked_and_may_raise(observed):
    def judge(fragments, reply, said):
        assert (reply, said) == ("24 months of warranty for headsets", "hi")
        return [text.startswith("Tea") for text in fragments]

    def broken(fragments, reply, said):
        raise RuntimeError("no model")

    for citation, cited in ((judge, ("0", "0", "1")), (broken, ())):
        seen = observed(citation=citation)
        agent(seen, Index()).invoke(user(), {"callbacks": [seen.reach.tracker]})
        assert seen.of(Turn)[0].context_cited == cited
        assert seen.reach.notes.counts["citation"] == (not cited)


def test_a_citation_judge_that_is_none_is_refused():
    with pytest.raises(ContractError, match="citation"):
        Reach(citation="model")


@MODES
async def test_a_wrapped_retriever_counts_once_and_drops_nothing_uncalibrated(observed, mode):
    seen = observed({"knowledge": {"rules": {"ideal": 1}}})
    app = agent(seen, seen.reach.wrap_retriever(Index(), source="rules"))
    with seen.reach.session("s"):
        state = await run(app, user(), {"callbacks": [seen.reach.tracker]}, mode)
    assert [(r.source, r.retrieved, r.dropped) for r in seen.of(Retrieval)] == [("rules", 3, 0)]
    assert all(text in tool_texts(state)[0] for text in TEXTS)


@MODES
async def test_a_calibrated_scorer_keeps_what_does_not_fit_out_of_the_context(observed, mode):
    def fits(query, fragments):
        return [0.9 if "warranty" in f else 0.1 for f in fragments]

    seen = observed({"knowledge": {"rules": {"ideal": 1}}}, relevance=fits, calibrated=True)
    app = agent(seen, seen.reach.wrap_retriever(Index(), source="rules"))
    with seen.reach.session("s") as session:
        state = await run(app, user(), {"callbacks": [seen.reach.tracker]}, mode)
    assert tool_texts(state) == [TEXTS[0]]
    assert [(r.retrieved, r.relevant, r.dropped) for r in seen.of(Retrieval)] == [(3, 1, 2)]
    assert session.score.knowledge == pytest.approx(0.5 + 0.5 / 3)


@MODES
async def test_labels_come_before_relevance(observed, mode):
    seen = observed({"knowledge": {"Index": {"ideal": 1, "label": "needed"}}}, relevance=lambda q, f: [1.0] * len(f))
    with seen.reach.session("s"):
        await run(agent(seen, Index()), user(), {"callbacks": [seen.reach.tracker]}, mode)
    assert seen.of(Retrieval)[0].relevant == 1


@MODES
async def test_no_documents_are_an_empty_retrieval_and_an_empty_call(observed, mode):
    seen = observed()
    with seen.reach.session("s") as session:
        await run(agent(seen, Index(texts=[])), user(), {"callbacks": [seen.reach.tracker]}, mode)
    assert (seen.of(Retrieval)[0].status, seen.of(ToolCall)[0].status) == ("empty_alias", "empty_alias")
    assert session.score.knowledge == 0.0


def test_a_scorer_that_raises_is_counted_and_changes_nothing(observed):
    def broken(query, fragments):
        raise RuntimeError("no model")

    seen = observed(relevance=broken)
    with seen.reach.session("s"):
        documents = seen.reach.wrap_retriever(Index()).invoke("q")
    assert len(documents) == 3
    assert seen.reach.notes.counts["relevance"] == 1


async def test_plain_functions_sync_and_async_are_tracked(observed):
    seen = observed({"tools": {"look": {"read_only": True}}}, compensation=Compensation(backoff=0.0))
    answers = [[], {"x": 1}]

    @track_reach(reach=seen.reach)
    def look(x: int, *, deep: bool = False):
        """Look."""
        return answers.pop(0)

    @track_reach(name="alook", reach=seen.reach)
    async def other(x):
        raise ConnectionError("down")

    with seen.reach.session("s"):
        assert look(1, deep=True) == {"x": 1}
        with pytest.raises(ConnectionError):
            await other(2)
        with pytest.raises(TypeError):
            look(1, 2, 3)
    calls = seen.of(ToolCall)
    assert [(c.tool, c.status, c.attempts, c.argument_names) for c in calls[:2]] == [
        ("look", "ok", 2, ("x", "deep")),
        ("alook", "fail", 1, ("x",)),
    ]
    assert look.__doc__ == "Look."
