"""Retrievals: relevance marked, and, with a calibrated scorer and the wrapper, what does not fit kept out of the context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables.config import var_child_runnable_config
from pydantic import ConfigDict

from agent_reach.checks import Finding, Fragment, knowledge_counts
from agent_reach.contracts import Source
from agent_reach.events import Retrieval
from agent_reach.integrations.capture import clean
from agent_reach.integrations.judge import finding_of_error
from agent_reach.integrations.translate import agent_in
from agent_reach.integrations.turns import reset

if TYPE_CHECKING:
    from agent_reach.integrations.runtime import Runtime
    from agent_reach.integrations.turns import OpenTurn


COUNTED = "agent_reach_counted"
"""Metadata key of retrievers that count themselves."""


def judge_fragments(runtime: Runtime, source: str, query: str, documents: Sequence[Any]) -> tuple[list[float], list[bool], Any]:
    """Relevance, need and counts of the fragments of one retrieval; a scorer that raises is noted and gives 0."""
    declared = runtime.routes.knowledge.get(source) or Source()
    texts = [str(getattr(d, "page_content", "")) for d in documents]
    labels = [_label(d, declared.label) for d in documents]
    try:
        relevances = [float(r) for r in runtime.relevance(query, texts)] if texts else []
        if len(relevances) != len(texts):
            raise ValueError(f"expected {len(texts)} relevances, found {len(relevances)}")
    except Exception as error:  # noqa: BLE001 - a user's scorer may raise anything
        runtime.notes.add("relevance", "the relevance scorer raised; its fragments count as not relevant", error)
        relevances = [0.0] * len(texts)
    cut = runtime.routes.thresholds.relevance
    counts, needed = knowledge_counts(relevances, labels=labels, cut=cut, ideal=declared.ideal)
    return relevances, needed, counts


def _label(document: Any, key: str) -> bool | None:
    value = (getattr(document, "metadata", None) or {}).get(key) if key else None
    return bool(value) if value is not None else None


def _text_of(document: Any, key: str) -> str:
    value = (getattr(document, "metadata", None) or {}).get(key) if key else None
    return clean(str(value)) if value is not None else ""


def record_retrieval(
    runtime: Runtime, turn: OpenTurn, source: str, query: str, documents: Sequence[Any], *, agent: str, started: int,
    dropped: int = 0, error: BaseException | None = None,
) -> list[bool]:  # fmt: skip
    """Count one retrieval.

    Args:
        documents: as returned, before filtering.
        dropped: fragments that do not enter the context.

    Returns:
        for each fragment whether it is needed.
    """
    now = runtime.clock()
    relevances, needed, counts = judge_fragments(runtime, source, query, documents)
    finding = finding_of_error(error) if error is not None else Finding("ok" if documents else "empty_alias")
    outer = runtime.current.get()
    parent = outer.handle if outer is not None and outer.turn is turn else turn.handle
    handle = runtime.tracing.open("retrieval", source, started, parent)
    event = Retrieval(
        **turn.where(),
        time=started,
        latency=max(0, now - started),
        id=handle.id,
        parent=parent.id,
        agent=agent or turn.agent,
        status=finding.status,
        source=source,
        retrieved=counts.retrieved,
        relevant=counts.relevant,
        admitted=counts.relevant,
        ideal=counts.ideal,
        dropped=dropped,
        calibrated=runtime.calibrated,
        relevances=tuple(f"{r:.4f}" for r in relevances),
        fail_cause=finding.fail_cause,
        error_type=finding.error_type,
        query=runtime.payload(query),
        fragments=runtime.payload([str(getattr(d, "page_content", "")) for d in documents]) if documents else "",
    )
    group = (runtime.routes.knowledge.get(source) or Source()).group
    entered = [d for d, n in zip(documents, needed, strict=True) if n or not dropped]
    turn.keep_fragments([Fragment(d.page_content, source, _text_of(d, group)) for d in entered])
    runtime.publish(event, handle)
    return needed


class ReachRetriever(BaseRetriever):
    """A retriever that counts what another one returns, and drops what does not fit when the scorer is calibrated."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    inner: BaseRetriever
    runtime: Any
    source: str

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        started = self.runtime.clock()
        with _Owned(self.runtime):
            try:
                documents = self.inner.invoke(query, {"callbacks": run_manager.get_child()})
            except BaseException as error:
                self._count(query, [], started, run_manager, error)
                raise
        return self._count(query, documents, started, run_manager, None)

    async def _aget_relevant_documents(self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun) -> list[Document]:
        started = self.runtime.clock()
        with _Owned(self.runtime):
            try:
                documents = await self.inner.ainvoke(query, {"callbacks": run_manager.get_child()})
            except BaseException as error:
                self._count(query, [], started, run_manager, error)
                raise
        return self._count(query, documents, started, run_manager, None)

    def _count(
        self, query: str, documents: list[Document], started: int, manager: Any, error: BaseException | None
    ) -> list[Document]:
        runtime: Runtime = self.runtime
        with runtime.notes.guard("counting a retrieval"):
            config: dict[str, Any] = dict(var_child_runnable_config.get() or {})
            metadata = {**(config.get("metadata") or {}), **(manager.metadata or {})}
            turn = runtime.turns.of_run(manager.run_id) or runtime.turn_of(
                {**config, "metadata": metadata}, text=lambda: ("", 0), agent=""
            )
            drops = runtime.calibrated
            relevant = judge_fragments(runtime, self.source, query, documents)[1] if drops else []
            needed = record_retrieval(
                runtime, turn, self.source, query, documents, agent=agent_in(metadata), started=started,
                dropped=relevant.count(False), error=error,
            )  # fmt: skip
            if drops:
                return [d for d, n in zip(documents, needed, strict=True) if n]
        return documents


class _Owned:
    """Marks that a wrapped retriever counts, so that the tracker does not count the inner one again."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def __enter__(self) -> None:
        self._token = self._runtime.retrieving.set(True)

    def __exit__(self, *exc: object) -> None:
        reset(self._runtime.retrieving, self._token)


def wrap_retriever(runtime: Runtime, retriever: BaseRetriever, *, source: str = "") -> ReachRetriever:
    """The retriever, counted under the name `source` (its own name by default)."""
    name = source or retriever.name or type(retriever).__name__
    return ReachRetriever(inner=retriever, runtime=runtime, source=clean(name), name=clean(name), metadata={COUNTED: True})
