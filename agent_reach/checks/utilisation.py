"""Which fragments of the context a reply cites (definitions, section 4: context utilisation).

Evidence that a reply cites a fragment is what both hold and neither the user's message nor most other fragments do: names, long
numbers and identifiers, a number with the word beside it, rare n-grams. What the user wrote is copied text, what most fragments
hold is a mere topic word. Evidence that explains one fragment is not used for another one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, NamedTuple

from agent_reach.checks.relevance import Embeddings, cosine, tokens

Citation = Callable[[Sequence[str], str, str], Sequence[bool]]
"""Fragments, the reply and the user's message in; for each fragment out whether the reply cites it."""


class Fragment(NamedTuple):
    """A piece of context that a model was given.

    Attributes:
        text: of it.
        source: where it came from.
        group: its declared label, such as `stock` or `customer tier`.
    """

    text: str
    source: str = ""
    group: str = ""


_LIMIT: Final = 4_000
_WIDE_RUN: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{4,}")
_CODE: Final = re.compile(r"[a-z0-9]+(?:[-_./:#][a-z0-9]+)*", re.IGNORECASE)
_DIGIT: Final = re.compile(r"\d")
_THOUSANDS: Final = re.compile(r"(?<=\d)[,\uff0c](?=\d{3}\b)")
_NAME: Final = re.compile(r"(?<=[a-z,;:\"'(] )[A-Z][A-Za-z]{2,}\b")
_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|[\u3002\uff01\uff1f\uff1b\n]+")
_LONG_NUMBER: Final = 3
_NGRAMS_ENOUGH: Final = 2
_TERMS_ENOUGH: Final = 3
_SOME: Final = 1 / 3
_MOST: Final = 1 / 2
_NEAR: Final = 0.75


class _Evidence(NamedTuple):
    hard: frozenset[str]
    ngrams: frozenset[str]
    terms: frozenset[str]

    def common(self, other: _Evidence) -> _Evidence:
        return _Evidence(self.hard & other.hard, self.ngrams & other.ngrams, self.terms & other.terms)

    def without(self, other: _Evidence) -> _Evidence:
        return _Evidence(self.hard - other.hard, self.ngrams - other.ngrams, self.terms - other.terms)

    @property
    def weight(self) -> int:
        return 3 * len(self.hard) + 2 * len(self.ngrams) + len(self.terms)

    def enough(self, own: _Evidence) -> bool:
        """It proves that a fragment is cited which alone holds `own`."""
        if self.hard or len(self.ngrams) >= _NGRAMS_ENOUGH:
            return True
        share = len(self.terms) / max(1, len(own.terms))
        return share >= _MOST if self.ngrams else share >= _SOME and len(self.terms) >= _TERMS_ENOUGH


def citations(fragments: Sequence[str], reply: str, said: str = "") -> list[bool]:
    """Whether the reply cites each fragment. Of equal fragments only the first one can be cited.

    Args:
        fragments: in the order in which they stood in the context; the first 4,000 characters of each count.
        reply: of the model; the same.
        said: by the user; what stands there proves nothing.
    """
    if not fragments or not reply:
        return [False] * len(fragments)
    first = {text: number for number, text in reversed(list(enumerate(fragments)))}
    held = {number: _evidence(text) for text, number in first.items()}
    common, asked = _topic(list(held.values())), _evidence(said)
    held = {number: evidence.without(common).without(asked) for number, evidence in held.items()}
    left = _evidence(reply)
    cited: set[int] = set()
    while held.keys() > cited:
        best = max(held.keys() - cited, key=lambda number: (held[number].common(left).weight, -number))
        if not held[best].common(left).enough(held[best]):
            break
        cited.add(best)
        left = left.without(held[best])
    return [number in cited for number in range(len(fragments))]


def embedding_citations(embeddings: Embeddings, near: float = _NEAR) -> Citation:
    """Citation by meaning: a sentence of the reply lies nearest to the fragment, by any LangChain `Embeddings`.

    Args:
        embeddings: of sentences and fragments.
        near: least cosine; a sentence that lies even nearer to the user's message proves nothing.
    """

    def cite(fragments: Sequence[str], reply: str, said: str = "") -> list[bool]:
        sentences = [sentence for sentence in _SENTENCE.split(reply[:_LIMIT]) if sentence.strip()]
        if not sentences or not fragments:
            return [False] * len(fragments)
        vectors = embeddings.embed_documents([*fragments, *sentences])
        asked = embeddings.embed_query(said) if said else []
        cited: set[int] = set()
        for sentence in vectors[len(fragments) :]:
            likeness = [cosine(sentence, fragment) for fragment in vectors[: len(fragments)]]
            best = max(range(len(fragments)), key=likeness.__getitem__)
            if likeness[best] >= near and (not asked or cosine(sentence, asked) < likeness[best]):
                cited.add(best)
        return [number in cited for number in range(len(fragments))]

    return cite


def utilised(fragments: Sequence[Fragment], cited: Sequence[bool]) -> dict[str, Any]:
    """The fields of a `Turn` that say what stood in the context and which of it the reply cites."""
    grouped = any(fragment.group for fragment in fragments)
    return {
        "context_sources": tuple(fragment.source for fragment in fragments),
        "context_groups": tuple(fragment.group for fragment in fragments) if grouped else (),
        "context_cited": tuple("1" if each else "0" for each in cited),
    }


def placed(fragments: Sequence[Fragment], texts: Sequence[str]) -> list[Fragment]:
    """The fragments that stand in a model's input, in the order in which they stand there.

    Args:
        fragments: that may have entered.
        texts: of the messages, in order.
    """
    found: list[tuple[int, int, Fragment]] = []
    for fragment in fragments:
        begin = fragment.text[:200]
        where = next(((i, at) for i, text in enumerate(texts) if begin and (at := text.find(begin)) >= 0), None)
        if where is not None:
            found.append((*where, fragment))
    return [fragment for _, _, fragment in sorted(found, key=lambda place: place[:2])]


def _topic(held: Sequence[_Evidence]) -> _Evidence:
    """What more than half of the fragments hold."""
    if len(held) < 2:
        return _Evidence(frozenset(), frozenset(), frozenset())
    kinds = []
    for kind in zip(*held, strict=True):
        counted = Counter(item for items in kind for item in items)
        kinds.append(frozenset(item for item, n in counted.items() if 2 * n > len(held)))
    return _Evidence(*kinds)


@lru_cache(maxsize=64)
def _evidence(text: str) -> _Evidence:
    text = _THOUSANDS.sub("", text[:_LIMIT])
    terms = tokens(text)
    numbered = {f"{a} {b}" for a, b in pairwise(terms) if a.isdigit() != b.isdigit()}
    ngrams = {f"{a} {b}" for a, b in pairwise(terms) if a.isascii() and b.isascii()} - numbered
    for run in _WIDE_RUN.findall(text):
        ngrams |= {run[i : i + 4] for i in range(len(run) - 3)}
    return _Evidence(frozenset(_codes(text) | _names(text) | numbered), frozenset(ngrams), frozenset(terms))


def _codes(text: str) -> set[str]:
    """Identifiers, and numbers of three digits or more."""
    words = {word.lower() for word in _CODE.findall(text) if _DIGIT.search(word)}
    return {word for word in words if not word.isdigit() or len(word) >= _LONG_NUMBER}


def _names(text: str) -> set[str]:
    """Capitalised words inside sentences; a line in title case has none."""
    found: set[str] = set()
    for line in text.splitlines():
        words = line.split()
        if 2 * sum(word[:1].isupper() for word in words) <= len(words):
            found |= {name.lower() for name in _NAME.findall(line)}
    return found
