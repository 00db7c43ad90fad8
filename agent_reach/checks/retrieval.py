"""Which documents a long request needs, by their words alone.

Cosine of TF-IDF vectors (G. Salton and C. Buckley, 1988) over words and pairs of near words, titles weighing more. Documents that stand
together, such as those of one product, are mostly needed together: the best document of a group lifts the others.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from math import log, sqrt
from typing import Final

from agent_reach.checks.relevance import tokens

# Tuned on requests over one collection of documents, the same for every document.
_TITLE: Final = 3
_NEAR: Final = 2

_NUMBER: Final = re.compile(r"[\W_]*\d+$")


class DocumentRanker:
    """Ranks documents for a request.

    Args:
        texts: by id.
        titles: by id; where there is none, the document has only its text.
        groups: by id, which documents belong together; by default those whose ids differ in the number at their end alone.

    Example:
        >>> DocumentRanker({"a_1": "Cards for students.", "b_1": "Loans for farmers."}).rank("a loan for a farmer")[0]
        'b_1'
    """

    def __init__(
        self, texts: Mapping[str, str], titles: Mapping[str, str] | None = None, groups: Mapping[str, str] | None = None
    ) -> None:
        self._ids = list(texts)
        counted = [_counted(text, (titles or {}).get(id, "")) for id, text in texts.items()]
        held = Counter(term for terms in counted for term in terms)
        self._rarity = {term: log(len(counted) / n) for term, n in held.items()}
        self._postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for number, terms in enumerate(counted):
            weights = {term: n * self._rarity[term] for term, n in terms.items()}
            norm = sqrt(sum(weight * weight for weight in weights.values())) or 1.0
            for term, weight in weights.items():
                self._postings[term].append((number, weight / norm))
        self._groups = [(groups or {}).get(id) or _NUMBER.sub("", id) for id in self._ids]

    def scores(self, request: str) -> dict[str, float]:
        """How well each fits, by id; the best is 1 where any term is shared. Comparable within one request only."""
        own = self._own(request)
        most = max(own, default=0.0) or 1.0
        best: dict[str, float] = defaultdict(float)
        for group, score in zip(self._groups, own, strict=True):
            best[group] = max(best[group], score)
        rows = zip(self._ids, self._groups, own, strict=True)
        return {id: (score + best[group]) / (2 * most) for id, group, score in rows}

    def rank(self, request: str) -> list[str]:
        """Ids, the best first; equals in the order in which they were given."""
        scores = self.scores(request)
        return sorted(self._ids, key=lambda id: -scores[id])

    def _own(self, request: str) -> list[float]:
        found = [0.0] * len(self._ids)
        for term, n in _counted(request, "").items():
            for number, weight in self._postings.get(term, ()):
                found[number] += n * self._rarity[term] * weight
        return found


def _counted(text: str, title: str) -> Counter[str]:
    """Words and pairs of words at most two apart, in either order; a term of the title counts three more times."""
    counted: Counter[str] = Counter()
    for part, times in ((text, 1), (title, _TITLE)):
        terms = tokens(part)
        pairs = (sorted((a, terms[at])) for i, a in enumerate(terms) for at in range(i + 1, min(i + 1 + _NEAR, len(terms))))
        for term in (*terms, *map(" ".join, pairs)):
            counted[term] += times
    return counted
