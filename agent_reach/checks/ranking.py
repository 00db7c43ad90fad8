"""Which of many tools a request needs, by their names and descriptions alone.

BM25 (Robertson and Zaragoza, 2009) over name and description, once for the whole request and once for each of its clauses: a request
that needs two tools is mostly two clauses, and the tool of the shorter one would drown in the words of the other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from math import log
from typing import Final

from agent_reach.checks.relevance import Embeddings, cosine, tokens

_NAME_PART: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_SAYS_NOTHING: Final = frozenset({"tool", "tools", "api", "plugin"})
_BREAK: Final = re.compile(
    r"[.?!;\n\u3002\uff1f\uff01\uff1b\uff0c]+|,?\s+(?:and|also|additionally|plus|then|as well as|along with|but|while)\b"
    r"|(?:以及|并且|同时|另外|还有|还要|然后)",
    re.IGNORECASE,
)
_SATURATION: Final = 1.2  # the usual one
# Tuned on requests over 199 tools, the same for every tool.
_LENGTH: Final = 0.3
_NAME: Final = 9
_LEXICAL: Final = 0.4  # beside an embedding


class Ranker:
    """Ranks named texts for a request.

    Args:
        texts: description by name of each tool, or text by title of each document.
        embeddings: any LangChain `Embeddings`, taken in beside the words.

    Example:
        >>> Ranker({"WeatherTool": "Latest forecasts.", "JobTool": "Find positions."}).rank("Will the weather be fine?")[0]
        'WeatherTool'
    """

    def __init__(self, texts: Mapping[str, str], embeddings: Embeddings | None = None) -> None:
        self._names = list(texts)
        self._terms = [_terms(name, text) for name, text in texts.items()]
        held = Counter(term for terms in self._terms for term in terms)
        count = len(self._terms)
        self._rarity = {term: log(1 + (count - n + 0.5) / (n + 0.5)) for term, n in held.items()}
        self._lengths = [sum(terms.values()) for terms in self._terms]
        self._mean_length = sum(self._lengths) / count if count else 0.0
        self._embeddings = embeddings
        self._vectors = _vectors(embeddings, texts) if embeddings is not None else []

    def scores(self, request: str) -> dict[str, float]:
        """How well each fits, by name; comparable within one request only."""
        parts = clauses(request)
        best = map(max, zip(*(self._words(part) for part in parts), strict=True))
        words = [(w + b) / 2 for w, b in zip(self._words(request), best, strict=True)]
        if self._embeddings is None:
            return dict(zip(self._names, words, strict=True))
        meant = [self._meaning(text) for text in [request, *parts]]
        meaning = _to_one([m + b for m, b in zip(meant[0], map(max, zip(*meant[1:], strict=True)), strict=True)])
        return {name: m + _LEXICAL * w for name, m, w in zip(self._names, meaning, words, strict=True)}

    def rank(self, request: str) -> list[str]:
        """Names, the best first; equals in the order in which they were given."""
        scores = self.scores(request)
        return sorted(self._names, key=lambda name: -scores[name])

    def _words(self, request: str) -> list[float]:
        """BM25 of each, divided by the largest."""
        asked = set(tokens(request))
        return _to_one([self._bm25(asked, index) for index in range(len(self._names))])

    def _bm25(self, asked: set[str], index: int) -> float:
        terms = self._terms[index]
        damping = _SATURATION * (1 - _LENGTH + _LENGTH * self._lengths[index] / (self._mean_length or 1))
        found = asked & terms.keys()
        return sum(self._rarity[t] * terms[t] * (_SATURATION + 1) / (terms[t] + damping) for t in sorted(found))

    def _meaning(self, text: str) -> list[float]:
        assert self._embeddings is not None
        asked = self._embeddings.embed_query(text)
        return [cosine(asked, name) + cosine(asked, body) for name, body in self._vectors]


def clauses(request: str) -> list[str]:
    """The parts of a request that may need different tools, those of a single telling word left out; at least one."""
    return [part for part in _BREAK.split(request) if len(tokens(part)) > 1] or [request]


def name_words(name: str) -> list[str]:
    """Words of an identifier: `HousePurchasingTool` and `house_purchasing_tool` give the same ones, `tool` left out."""
    parts = [part.lower() for part in _NAME_PART.findall(name)]
    return [part for part in parts if part not in _SAYS_NOTHING] or parts


def _terms(name: str, text: str) -> Counter[str]:
    terms = Counter(tokens(text))
    for word in name_words(name):
        for term in tokens(word):
            terms[term] += _NAME
    return terms


def _vectors(embeddings: Embeddings, texts: Mapping[str, str]) -> list[tuple[list[float], list[float]]]:
    names = embeddings.embed_documents([" ".join(name_words(name)) for name in texts])
    return list(zip(names, embeddings.embed_documents(list(texts.values())), strict=True))


def _to_one(values: list[float]) -> list[float]:
    """Divided by the largest."""
    most = max(values, default=0.0)
    return [value / most for value in values] if most > 0 else values
