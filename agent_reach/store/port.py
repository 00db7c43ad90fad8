"""What a store of spans can do, whoever keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

Row = dict[str, Any]

WRITERS: Final = 2
"""Segments that are stored at the same time."""


class Store(Protocol):
    """Spans in, rows of named queries out. Thread-safe."""

    def write_segment(self, segment: Path) -> None:
        """Store the spans of a segment file; the same segment again changes nothing.

        Raises:
            UnreadableSegment: it is no such file; trying again is no use.
            StoreError: not now.
        """
        ...

    def select(self, name: str, /, **parameters: Any) -> list[Row]:
        """Rows of a named query.

        Raises:
            StoreError: the query fails.
        """
        ...

    def execute(self, name: str, /, **parameters: Any) -> None:
        """Run a named statement that gives no rows."""
        ...

    def insert(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add a few rows to one of our own tables."""
        ...

    def close(self) -> None: ...
