"""Relevance of retrieved fragments, and the KnowledgeReach counts made of it (definitions, section 2)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import exp, log
from typing import Final, NamedTuple, Protocol

Relevance = Callable[[str, Sequence[str]], Sequence[float]]
"""Query and fragments in, one number from 0 to 1 per fragment out."""

_TOKEN: Final = re.compile(r"[a-z0-9]+(?:[-_'][a-z0-9]+)*|[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+", re.IGNORECASE)
_STOP: Final = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "is",
        "it",
        "its",
        "me",
        "my",
        "no",
        "not",
        "of",
        "on",
        "or",
        "our",
        "please",
        "she",
        "should",
        "so",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
        "的",
        "了",
        "吗",
        "呢",
        "是",
        "在",
        "我",
        "你",
        "他",
        "请",
        "有",
        "和",
        "与",
        "怎",
        "么",
    ]
)
_TEXT_LIMIT: Final = 20_000


class Embeddings(Protocol):
    """What is used of LangChain's class of the same name."""

    def embed_query(self, text: str) -> list[float]: ...
    def embed_documents(self, texts: list[str]) -> list[list[float]]: ...


class Knowledge(NamedTuple):
    """Counts of one retrieval."""

    retrieved: int
    relevant: int
    ideal: int


def tokens(text: str) -> list[str]:
    """Lower-case word stems of Latin script, character pairs of Chinese and Japanese, without stop words."""
    found: list[str] = []
    for match in _TOKEN.finditer(text[:_TEXT_LIMIT].lower()):
        word = match.group()
        if word.isascii():
            if word not in _STOP:
                found.append(_stem(word))
        else:
            kept = "".join(sign for sign in word if sign not in _STOP) or word
            found += [kept[i : i + 2] for i in range(max(1, len(kept) - 1))]
    return found


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    """Without the ending of a plural or a verb form; `houses` and `house`, `planning` and `plan` come to the same."""
    for suffix in ("ings", "ing", "ies", "ied", "ed", "es", "s", "e"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)] + ("y" if suffix in ("ies", "ied") else "")
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def lexical_relevance(query: str, fragments: Sequence[str]) -> list[float]:
    """Share of the query's terms that a fragment holds, terms that tell the fragments apart weighing more. Not calibrated."""
    asked = Counter(tokens(query))
    if not asked:
        return [0.0] * len(fragments)
    held = [set(tokens(fragment)) for fragment in fragments]
    weights = {term: n * log(1.5 + len(held) / (1 + sum(term in h for h in held))) for term, n in asked.items()}
    total = sum(weights.values())
    return [sum(w for term, w in weights.items() if term in h) / total for h in held]


def calibrated_relevance(slope: float, offset: float, relevance: Relevance = lexical_relevance) -> Relevance:
    """A relevance as a probability, with what `agent-reach calibrate --relevance` fitted.

    Args:
        slope, offset: of the logistic.
        relevance: that they were fitted to.
    """

    def calibrated(query: str, fragments: Sequence[str]) -> list[float]:
        return [1 / (1 + exp(-max(-500.0, min(500.0, slope * x + offset)))) for x in relevance(query, fragments)]

    return calibrated


def embedding_relevance(embeddings: Embeddings) -> Relevance:
    """Cosine similarity by any LangChain `Embeddings`, cut to 0–1. Not calibrated."""

    def relevance(query: str, fragments: Sequence[str]) -> list[float]:
        asked = embeddings.embed_query(query)
        return [cosine(asked, vector) for vector in embeddings.embed_documents(list(fragments))]

    return relevance


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """Cosine of two vectors, cut to 0–1; 0 where one is null."""
    norm = (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5
    return min(1.0, max(0.0, sum(x * y for x, y in zip(a, b, strict=True)) / norm)) if norm else 0.0


def knowledge_counts(
    relevances: Sequence[float], *, labels: Sequence[bool | None], cut: float, ideal: int
) -> tuple[Knowledge, list[bool]]:
    """Which fragments are needed: by label where there is one, else by relevance.

    Args:
        relevances: one number a fragment; NaN counts as not relevant.
        labels: True, False or None (no label) a fragment.
        cut: relevance from which a fragment is needed.
        ideal: fragments that should have come.
    """
    needed = [r >= cut if label is None else label for r, label in zip(relevances, labels, strict=True)]
    return Knowledge(len(needed), sum(needed), ideal), needed
