"""RAG: `reach.wrap_retriever` scores what a retriever brings; a calibrated scorer also keeps out what does not fit."""

from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough
from scripted import ScriptedModel

from agent_reach import Reach, Routes

POLICIES = [
    "Headsets carry a warranty of 24 months.",
    "A warranty claim for headsets needs the receipt.",
    "Our offices are in Lyon.",
    "Tea is shipped on Mondays.",
    "Parcels are left with a neighbour.",
]


class Index(BaseRetriever):
    """Stands for your vector store: the four policies that share most words with the query."""

    def _get_relevant_documents(self, query, *, run_manager):  # noqa: ARG002
        asked = set(query.lower().split())
        best = sorted(POLICIES, key=lambda text: len(asked & set(text.lower().split())), reverse=True)
        return [Document(text) for text in best[:4]]


def relevance(query: str, fragments: list[str]) -> list[float]:
    """Stands for a scorer whose numbers are probabilities, such as a trained cross-encoder."""
    return [0.9 if "warranty" in fragment else 0.1 for fragment in fragments]


def as_text(documents: list[Document]) -> str:
    return "\n".join(document.page_content for document in documents)


def ask(reach: Reach, name: str) -> None:
    retriever = reach.wrap_retriever(Index(), source="policies")
    chain = (
        {"context": retriever | as_text, "question": RunnablePassthrough()}
        | ChatPromptTemplate.from_template("Answer from these rules:\n{context}\n\nQuestion: {question}")
        | ScriptedModel(lines=["24 months; keep the receipt."])
        | StrOutputParser()
    )
    events = []
    reach.add_sink(events.append)
    with reach.session("customer-1", agent="policy") as session:
        answer = chain.invoke("What warranty do headsets carry?", {"callbacks": [reach.tracker]})
    print(f"{name}: {answer}")
    for event in events:
        if type(event).__name__ == "Retrieval":
            print(f"  {event.source}: {event.retrieved} retrieved, {event.relevant} relevant, {event.dropped} kept out")
            print(f"  relevances: {', '.join(event.relevances)}")
    print(f"  KnowledgeReach {session.score.knowledge:.2f} ({session.score.bands['knowledge']})")


# A question should bring two fragments of `policies`.
routes = Routes(knowledge={"policies": {"ideal": 2}})
ask(Reach(routes), "by words")
ask(Reach(routes, relevance=relevance, calibrated=True), "calibrated")
