"""The record that a tool ran, so that nothing with a side effect runs twice after a resume or a crash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one call.

    Attributes:
        state: `intent` before it runs, `done` with its response, `pending` with its response while a person is asked.
        response: what the graph gets, opaque here.
        request: what the person is asked, for `pending`.
    """

    state: Literal["intent", "done", "pending"]
    response: Any = None
    request: dict[str, Any] | None = None


class Ledger(Protocol):
    """Entries by call key, durable beyond this process. `arecord` and `record` return once the entry is stored."""

    def read(self) -> dict[str, Entry]: ...
    async def aread(self) -> dict[str, Entry]: ...
    def record(self, key: str, entry: Entry) -> None: ...
    async def arecord(self, key: str, entry: Entry) -> None: ...
