"""The port through which spans are made; `agent_reach.telemetry` implements it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Protocol

from agent_reach.events import Event


class Handle(Protocol):
    """An open span.

    Attributes:
        id, trace: 16 and 32 hex digits.
    """

    @property
    def id(self) -> str: ...
    @property
    def trace(self) -> str: ...


class Tracing(Protocol):
    """Spans, without saying whose."""

    def open(self, operation: str, subject: str, at: int, parent: Handle | None) -> Handle:
        """Begin a span; without a parent, under the current one."""
        ...

    def close(self, handle: Handle, event: Event) -> None:
        """End a span with all that its event says."""
        ...

    def annotate(self, handle: Handle, event: Event) -> None:
        """Add an event to an open span."""
        ...

    def describe(self, handle: Handle, attributes: dict[str, Any]) -> None:
        """Add attributes to an open span."""
        ...

    def record(self, event: Event) -> None:
        """A span that is begun and ended at once, under the parent that the event names."""
        ...

    def enter(self, handle: Handle) -> Any:
        """Make the span the current one; returns a token for `leave`."""
        ...

    def leave(self, token: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class BareHandle:
    """Ids of a span that nobody records."""

    id: str
    trace: str


class NoTracing:
    """Makes ids and no spans."""

    def open(self, operation: str, subject: str, at: int, parent: Handle | None) -> BareHandle:
        return BareHandle(os.urandom(8).hex(), parent.trace if parent else os.urandom(16).hex())

    def close(self, handle: Handle, event: Event) -> None: ...
    def annotate(self, handle: Handle, event: Event) -> None: ...
    def describe(self, handle: Handle, attributes: dict[str, Any]) -> None: ...
    def record(self, event: Event) -> None: ...
    def enter(self, handle: Handle) -> None: ...
    def leave(self, token: Any) -> None: ...
