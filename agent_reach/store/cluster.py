"""The same store on a ClickHouse server or cluster, over its HTTP interface."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agent_reach.errors import StoreError, UnreadableSegment
from agent_reach.store.claim import claim
from agent_reach.store.convert import Converter
from agent_reach.store.migrate import migrate
from agent_reach.store.named import query
from agent_reach.store.otlp import COLUMNS
from agent_reach.store.port import Row
from agent_reach.store.schema import DATABASE, TTL_DAYS

_SETTINGS = {"output_format_json_quote_64bit_integers": 0, "output_format_json_quote_denormals": 0}
_PORTS = {"clickhouse": 8123, "clickhouses": 8443}


class ClusterStore:
    """Spans on a server. Segments are turned into ClickHouse's own format here, by chDB, and sent as they are.

    Args:
        address: `clickhouse://user:password@host:port/`, or `clickhouses://` for TLS.
        folder: holds the spool of this process.
        ttl_days: after which spans are dropped; counts when the schema is made here.

    Raises:
        StoreError: the client is not installed, the address is none, or the server does not answer.
    """

    def __init__(self, address: str, folder: Path, *, ttl_days: int = TTL_DAYS) -> None:
        try:
            import clickhouse_connect
        except ImportError as error:
            raise StoreError("a ClickHouse server needs its client: pip install 'agent-reach-sdk[clickhouse]'") from error
        where = urlsplit(address)
        if where.scheme not in _PORTS or not where.hostname:
            raise StoreError(f"store: expected clickhouse://user@host:8123/ or clickhouses://…, found scheme {where.scheme!r}")
        self._errors: Any = clickhouse_connect.driver.exceptions.ClickHouseError
        self._name = f"{where.hostname}:{where.port or _PORTS[where.scheme]}"
        self._writing = threading.Lock()
        self._lock = claim(folder)
        try:
            with self._faults("cannot connect"):
                self._client: Any = clickhouse_connect.get_client(
                    host=where.hostname,
                    port=where.port or _PORTS[where.scheme],
                    username=where.username or "default",
                    password=where.password or "",
                    secure=where.scheme == "clickhouses",
                    autogenerate_session_id=False,
                )
                migrate(self._run, self._use, ttl_days=ttl_days)
            self._converter = Converter()
        except BaseException:
            self._lock.close()
            raise

    def _use(self, database: str) -> None:
        self._client.database = database

    def _run(self, statement: str) -> list[Row]:
        if statement.lstrip().upper().startswith("SELECT"):
            return self._rows(statement, {})
        self._client.command(statement)
        return []

    def _rows(self, statement: str, parameters: Mapping[str, Any]) -> list[Row]:
        answer = self._client.raw_query(statement, parameters=parameters, settings=_SETTINGS, fmt="JSON")
        rows: list[Row] = json.loads(answer)["data"]
        return rows

    def write_segment(self, segment: Path) -> None:
        """Store the spans of a segment file; the same segment again changes nothing."""
        block = self._converter.native(segment)
        settings = {"insert_deduplication_token": segment.stem, "deduplicate_blocks_in_dependent_materialized_views": 1}
        with self._faults("cannot store spans"), self._writing:
            table = f"{DATABASE}.otel_traces"
            self._client.raw_insert(table, column_names=COLUMNS, insert_block=block, settings=settings, fmt="Native")

    def select(self, name: str, /, **parameters: Any) -> list[Row]:
        """Rows of a named query."""
        statement, values = query(name, parameters)
        with self._faults(f"query {name!r}"):
            return self._rows(statement, values)

    def execute(self, name: str, /, **parameters: Any) -> None:
        """Run a named statement that gives no rows."""
        statement, values = query(name, parameters)
        with self._faults(f"statement {name!r}"), self._writing:
            self._client.command(statement, parameters=values)

    def insert(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add a few rows to one of our own tables."""
        lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        if not lines:
            return
        with self._faults(f"table {table}"), self._writing:
            self._client.raw_insert(f"{DATABASE}.{table}", insert_block=lines.encode(), fmt="JSONEachRow")

    @contextlib.contextmanager
    def _faults(self, doing: str) -> Iterator[None]:
        """Errors of the client as ours, without the address's password."""
        try:
            yield
        except UnreadableSegment:
            raise
        except (self._errors, OSError) as error:
            raise StoreError(f"{self._name}: {doing}: {str(error).splitlines()[0][:500]}") from error

    def close(self) -> None:
        """End the connection."""
        self._client.close()
        self._converter.close()
        self._lock.close()
