"""A calibrated relevance: the lexical score as a probability, fitted to the desk's own labelled questions."""

from __future__ import annotations

from agent_reach.checks import Relevance, calibrated_relevance, lexical_relevance
from agent_reach.demo.world import NEAR_MISSES, POLICIES
from agent_reach.scores.logistic import fit_logistic

_LABELLED = (
    ("How many days do I have to return unused goods?", POLICIES[0]),
    ("How long is the warranty on electronics?", POLICIES[1]),
    ("What does express shipping cost?", POLICIES[2]),
    ("How long is a gift card valid?", POLICIES[3]),
)


def _pairs() -> list[tuple[float, bool]]:
    pairs = []
    for question, needed in _LABELLED:
        texts = [needed, *(p for p in POLICIES if p != needed), *NEAR_MISSES]
        pairs += [(score, text == needed) for score, text in zip(lexical_relevance(question, texts), texts, strict=True)]
    return pairs


def fit_relevance() -> Relevance:
    """Logistic regression on one number."""
    pairs = _pairs()
    slope, offset = fit_logistic([(score,) for score, _ in pairs], [needed for _, needed in pairs], ridge=0.05)
    return calibrated_relevance(slope, offset)
