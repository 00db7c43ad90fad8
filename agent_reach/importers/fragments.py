"""Relevances of fragments with what is known of their need, for calibration."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent_reach.checks import lexical_relevance
from agent_reach.errors import FormatError, briefly
from agent_reach.events import Retrieval, Turn
from agent_reach.importers.events import read_events
from agent_reach.importers.files import is_event_lines, read_text


def labelled_fragments(path: Path) -> Iterator[list[tuple[float, bool]]]:
    """Of each query the relevance of its fragments, and whether they were needed.

    Args:
        path: JSON lines of `{"query": …, "fragments": [texts], "needed": [booleans]}`, judged by the lexical relevance, or of
            `{"relevance": 0.4, "needed": true}`; or this package's events: fragments that a reply later cites count as needed.

    Raises:
        FormatError: names file, line and key.
    """
    if is_event_lines(path):
        yield from _cited_later(path)
        return
    for number, line in enumerate(read_text(path).splitlines()):
        if line.strip():
            yield _labelled(line, str(path), number)


def _labelled(line: str, file: str, number: int) -> list[tuple[float, bool]]:
    try:
        record: Any = json.loads(line)
        if "relevance" in record:
            return [(float(record["relevance"]), bool(record["needed"]))]
        texts, needed = list(record["fragments"]), list(record["needed"])
        if len(texts) != len(needed):
            raise FormatError(file, number, "needed", f"{len(texts)} booleans, one a fragment, found {len(needed)}")
        return list(zip(lexical_relevance(record["query"], texts), map(bool, needed), strict=True))
    except (ValueError, KeyError, TypeError) as error:
        keys = "`query`, `fragments` and `needed`, or `relevance` and `needed`"
        raise FormatError(file, number, "", f"an object with {keys} ({briefly(error)})") from None


def _cited_later(path: Path) -> Iterator[list[tuple[float, bool]]]:
    """Of turns in which a source was asked once and all that it returned stood in the context, in its order."""
    asked: dict[tuple[str, int], dict[str, list[Retrieval]]] = defaultdict(lambda: defaultdict(list))
    for event in read_events(path):
        if isinstance(event, Retrieval):
            asked[event.session, event.turn][event.source].append(event)
        elif isinstance(event, Turn):
            sources = asked.pop((event.session, event.turn), {})
            for source, retrievals in sources.items():
                cited = [c == "1" for s, c in zip(event.context_sources, event.context_cited, strict=True) if s == source]
                if len(retrievals) == 1 and len(retrievals[0].relevances) == len(cited):
                    yield list(zip(map(float, retrievals[0].relevances), cited, strict=True))
