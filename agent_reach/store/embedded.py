"""The store in the process: chDB, which is ClickHouse as a library, in a folder of its own."""

from __future__ import annotations

import contextlib
import json
import queue
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from agent_reach.errors import StoreError
from agent_reach.store.claim import claim
from agent_reach.store.convert import first_line, new_session, segment_error
from agent_reach.store.migrate import migrate
from agent_reach.store.named import as_text, query
from agent_reach.store.otlp import COLUMNS, format_schema, select_spans
from agent_reach.store.port import WRITERS, Row
from agent_reach.store.schema import DATABASE, TTL_DAYS

_READERS: Final = 3
_MERGE_LATE: Final = "min_parts_to_merge_at_once = 10"
"""On the two cores of a small machine, merging often costs more than storing."""

_SETTINGS: Final = "output_format_json_quote_64bit_integers = 0, output_format_json_quote_denormals = 0"
_INSERT: Final = f"""
INSERT INTO {DATABASE}.otel_traces ({", ".join(f"`{column}`" for column in COLUMNS)}) {{select}}
SETTINGS format_schema = '{format_schema()}', insert_deduplication_token = '{{token}}', max_insert_threads = 1, max_threads = 1,
    deduplicate_blocks_in_dependent_materialized_views = 1, max_partitions_per_insert_block = 0"""


class EmbeddedStore:
    """Spans in a folder. One process at a time; in a process, one folder at a time (chDB's limit).

    Args:
        folder: holds the database; made if need be.
        ttl_days: after which spans are dropped.

    Raises:
        StoreError: chDB is not installed, the folder belongs to something else, or another process has it open.
    """

    def __init__(self, folder: Path, *, ttl_days: int = TTL_DAYS) -> None:
        self._lock = claim(folder)
        try:
            first = new_session(str(folder / "chdb"))
            migrate(
                lambda statement: _rows(first.query(statement, "JSON")), lambda name: first.query(f"USE {name}"), ttl_days=ttl_days
            )
            for table in ("otel_traces", "reach_events", "reach_session_events", "otel_traces_trace_id_ts"):
                first.query(f"ALTER TABLE {DATABASE}.{table} MODIFY SETTING {_MERGE_LATE}")
            self._writers, self._readers = _Pool([first]), _Pool([])
            for pool, size in ((self._writers, WRITERS), (self._readers, _READERS)):
                pool.fill(size, lambda: new_session(str(folder / "chdb")))
        except StoreError:
            self._lock.close()
            raise
        except Exception as error:
            self._lock.close()
            raise StoreError(f"cannot open the store in {folder}: {first_line(error)}") from error

    def write_segment(self, segment: Path) -> None:
        """Store the spans of a segment file; the same segment again changes nothing."""
        statement = _INSERT.format(select=select_spans(segment), token=segment.stem)
        try:
            with self._writers.one() as writer:
                writer.query(statement)
        except RuntimeError as error:
            raise segment_error(segment, error) from error

    def select(self, name: str, /, **parameters: Any) -> list[Row]:
        """Rows of a named query."""
        statement, values = query(name, parameters)
        with self._readers.one() as reader:
            try:
                return _rows(reader.query(f"{statement}\nSETTINGS {_SETTINGS}", "JSON", params=_texts(values)))
            except RuntimeError as error:
                raise StoreError(f"query {name!r}: {first_line(error)}") from error

    def execute(self, name: str, /, **parameters: Any) -> None:
        """Run a named statement that gives no rows."""
        statement, values = query(name, parameters)
        try:
            with self._writers.one() as writer:
                writer.query(statement, params=_texts(values))
        except RuntimeError as error:
            raise StoreError(f"statement {name!r}: {first_line(error)}") from error

    def insert(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add a few rows to one of our own tables."""
        lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        if not lines:
            return
        try:
            with self._writers.one() as writer:
                writer.query(f"INSERT INTO {DATABASE}.{table} FORMAT JSONEachRow {lines}")
        except RuntimeError as error:
            raise StoreError(f"table {table}: {first_line(error)}") from error

    def close(self) -> None:
        """Let the folder go; chDB finishes what it merges."""
        self._readers.close()
        self._writers.close()
        self._lock.close()


class MemoryStore(EmbeddedStore):
    """The same in a temporary folder, which is gone when the store is closed."""

    def __init__(self, *, ttl_days: int = TTL_DAYS) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="agent-reach-")
        super().__init__(Path(self._temporary.name), ttl_days=ttl_days)

    def close(self) -> None:
        """Forget everything."""
        super().close()
        self._temporary.cleanup()


class _Pool:
    """Sessions; each does one thing at a time."""

    def __init__(self, sessions: list[Any]) -> None:
        self._free: queue.LifoQueue[Any] = queue.LifoQueue()
        self._all = sessions
        for session in sessions:
            self._free.put(session)

    def fill(self, size: int, make: Callable[[], Any]) -> None:
        while len(self._all) < size:
            self._all.append(make())
            self._free.put(self._all[-1])

    @contextlib.contextmanager
    def one(self) -> Iterator[Any]:
        session = self._free.get()
        try:
            yield session
        finally:
            self._free.put(session)

    def close(self) -> None:
        for session in self._all:
            session.close()


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {key: as_text(value) for key, value in values.items()}


def _rows(result: Any) -> list[Row]:
    text = str(result)
    rows: list[Row] = json.loads(text)["data"] if text.strip() else []
    return rows
