"""A calibrated relevance: the lexical score as a probability, fitted to the desk's own labelled questions."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

from agent_reach.checks import Relevance, lexical_relevance
from agent_reach.demo.world import NEAR_MISSES, POLICIES

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


def fit_relevance(steps: int = 4_000, rate: float = 0.5) -> Relevance:
    """Logistic regression on one number."""
    slope, offset, pairs = 1.0, 0.0, _pairs()
    for _ in range(steps):
        errors = [(1 / (1 + exp(-(slope * x + offset))) - y, x) for x, y in pairs]
        slope -= rate * sum(e * x for e, x in errors) / len(pairs)
        offset -= rate * sum(e for e, _ in errors) / len(pairs)

    def relevance(query: str, fragments: Sequence[str]) -> list[float]:
        return [1 / (1 + exp(-(slope * x + offset))) for x in lexical_relevance(query, fragments)]

    return relevance
