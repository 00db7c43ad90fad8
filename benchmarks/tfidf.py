"""The plain baseline of the ranking benchmarks."""

from __future__ import annotations

from collections import Counter
from math import log

from agent_reach.checks.relevance import tokens


def plain_tfidf(texts):
    """Ranks named texts for a request by the cosine of TF-IDF vectors."""
    docs = {name: Counter(tokens(text)) for name, text in texts.items()}
    held = Counter(term for terms in docs.values() for term in terms)
    weight = {term: log(len(docs) / n) + 1 for term, n in held.items()}
    norms = {name: sum((n * weight[t]) ** 2 for t, n in terms.items()) ** 0.5 or 1 for name, terms in docs.items()}

    def rank(request):
        asked = Counter(tokens(request))
        scores = {n: sum(c * d[t] * weight[t] ** 2 for t, c in asked.items() if t in d) / norms[n] for n, d in docs.items()}
        return sorted(docs, key=lambda name: -scores[name])

    return rank
