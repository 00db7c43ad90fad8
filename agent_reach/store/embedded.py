"""The store in the process: chDB, which is ClickHouse as a library, in a folder of its own."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from agent_reach.errors import StoreError
from agent_reach.store.claim import claim
from agent_reach.store.convert import first_line, new_session, quoted, segment_error
from agent_reach.store.migrate import migrate
from agent_reach.store.named import query
from agent_reach.store.otlp import COLUMNS, format_schema, select_spans
from agent_reach.store.port import Row
from agent_reach.store.schema import DATABASE, TTL_DAYS

_READERS: Final = 3
_SETTINGS: Final = "output_format_json_quote_64bit_integers = 0, output_format_json_quote_denormals = 0"
_INSERT: Final = f"""
INSERT INTO {DATABASE}.otel_traces ({", ".join(f"`{column}`" for column in COLUMNS)}) {{select}}
SETTINGS format_schema = '{format_schema()}', insert_deduplication_token = '{{token}}', max_insert_threads = 1,
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
            self._writer = new_session(str(folder / "chdb"))
            self._writing = threading.Lock()
            self._readers: queue.LifoQueue[Any] = queue.LifoQueue()
            migrate(self._run, lambda database: self._writer.query(f"USE {database}"), ttl_days=ttl_days)
            for _ in range(_READERS):
                self._readers.put(new_session(str(folder / "chdb")))
        except StoreError:
            self._lock.close()
            raise
        except Exception as error:
            self._lock.close()
            raise StoreError(f"cannot open the store in {folder}: {first_line(error)}") from error

    def _run(self, statement: str) -> list[Row]:
        with self._writing:
            return _rows(self._writer.query(statement, "JSON"))

    def write_segment(self, segment: Path) -> None:
        """Store the spans of a segment file; the same segment again changes nothing."""
        statement = _INSERT.format(select=select_spans(quoted(segment)), token=segment.stem)
        try:
            with self._writing:
                self._writer.query(statement)
        except RuntimeError as error:
            raise segment_error(segment, error) from error

    def select(self, name: str, /, **parameters: Any) -> list[Row]:
        """Rows of a named query."""
        statement, values = query(name, parameters)
        with self._reader() as reader:
            try:
                return _rows(reader.query(f"{statement}\nSETTINGS {_SETTINGS}", "JSON", params=values))
            except RuntimeError as error:
                raise StoreError(f"query {name!r}: {first_line(error)}") from error

    def execute(self, name: str, /, **parameters: Any) -> None:
        """Run a named statement that gives no rows."""
        statement, values = query(name, parameters)
        try:
            with self._writing:
                self._writer.query(statement, params=values)
        except RuntimeError as error:
            raise StoreError(f"statement {name!r}: {first_line(error)}") from error

    def insert(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add a few rows to one of our own tables."""
        lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        if not lines:
            return
        try:
            with self._writing:
                self._writer.query(f"INSERT INTO {DATABASE}.{table} FORMAT JSONEachRow {lines}")
        except RuntimeError as error:
            raise StoreError(f"table {table}: {first_line(error)}") from error

    @contextlib.contextmanager
    def _reader(self) -> Iterator[Any]:
        reader = self._readers.get()
        try:
            yield reader
        finally:
            self._readers.put(reader)

    def close(self) -> None:
        """Let the folder go; chDB finishes what it merges."""
        while not self._readers.empty():
            self._readers.get().close()
        self._writer.close()
        self._lock.close()


def _rows(result: Any) -> list[Row]:
    text = str(result)
    rows: list[Row] = json.loads(text)["data"] if text.strip() else []
    return rows
