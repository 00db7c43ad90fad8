"""Pure judgements about single results, fragments, handoffs and replies."""

from agent_reach.checks.failures import finding_of_exception
from agent_reach.checks.finding import OK, Finding, failed
from agent_reach.checks.fingerprint import fingerprint
from agent_reach.checks.handoffs import Said, find_parameter, missing_from_handoff
from agent_reach.checks.relevance import (
    Embeddings,
    Knowledge,
    Relevance,
    calibrated_relevance,
    embedding_relevance,
    knowledge_counts,
    lexical_relevance,
)
from agent_reach.checks.replies import asks_user, is_step_limit
from agent_reach.checks.results import finding_of_result
from agent_reach.checks.routing import NO_RESULT, Routing, routing_of_call
from agent_reach.checks.utilisation import Citation, Fragment, citations, embedding_citations, placed, utilised

__all__ = [
    "NO_RESULT",
    "OK",
    "Citation",
    "Embeddings",
    "Finding",
    "Fragment",
    "Knowledge",
    "Relevance",
    "Routing",
    "Said",
    "asks_user",
    "calibrated_relevance",
    "citations",
    "embedding_citations",
    "embedding_relevance",
    "failed",
    "find_parameter",
    "finding_of_exception",
    "finding_of_result",
    "fingerprint",
    "is_step_limit",
    "knowledge_counts",
    "lexical_relevance",
    "missing_from_handoff",
    "placed",
    "routing_of_call",
    "utilised",
]
