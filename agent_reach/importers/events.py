"""Events that were recorded as JSON lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from agent_reach.errors import FormatError, ReachError, SchemaVersionError
from agent_reach.events import Event, event_from_line


def read_events(path: str | Path, takes: Callable[[str], bool] | None = None) -> Iterator[Event]:
    """The events of a file, one at a time.

    Args:
        path: the file.
        takes: says of a line whether to read it; by default all are.

    Raises:
        FormatError: a line is no event; names file, line (0-based record) and key.
        SchemaVersionError: a newer version wrote it.
    """
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if not line.strip() or (takes is not None and not takes(line)):
                continue
            try:
                yield event_from_line(line)
            except SchemaVersionError:
                raise
            except ReachError as error:
                raise FormatError(str(path), number, "", f"an event ({error})") from None
