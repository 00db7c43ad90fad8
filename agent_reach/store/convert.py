"""Segments to ClickHouse's Native format, by a chDB that keeps nothing."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from agent_reach.errors import StoreError, UnreadableSegment
from agent_reach.store.otlp import format_schema, select_spans


class Converter:
    """Thread-safe.

    Raises:
        StoreError: chDB is not installed.
    """

    def __init__(self) -> None:
        self._session = new_session()
        self._lock = threading.Lock()

    def native(self, segment: Path) -> bytes:
        """The rows of a segment.

        Raises:
            UnreadableSegment: it is no such file.
        """
        statement = f"{select_spans(segment)} SETTINGS format_schema = '{format_schema()}'"
        try:
            with self._lock:
                rows: bytes = self._session.query(statement, "Native").bytes()
        except RuntimeError as error:
            raise segment_error(segment, error) from error
        return rows

    def close(self) -> None:
        self._session.close()


def new_session(path: str = "") -> Any:
    """A chDB session, in a folder or in memory.

    Raises:
        StoreError: chDB is not installed.
    """
    try:
        from chdb.session import Session
    except ImportError as error:
        raise StoreError("the store needs chDB: pip install 'agent-reach-sdk[serve]'") from error
    make: Any = Session
    return make(path) if path else make()


def segment_error(segment: Path, error: Exception) -> StoreError:
    """Whether trying again is of any use."""
    broken = any(word in str(error) for word in ("PROTOBUF", "Protobuf", "CANNOT_PARSE", "INCORRECT_DATA", "CANNOT_READ", "EOF"))
    return (UnreadableSegment if broken else StoreError)(f"{segment.name}: {first_line(error)}")


def first_line(error: Exception) -> str:
    """Enough of a database's error for a log."""
    return str(error).strip().splitlines()[0][:500] if str(error).strip() else type(error).__name__
