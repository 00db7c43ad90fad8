"""Events as JSON lines in a file."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from agent_reach.errors import ReachError
from agent_reach.events import Event, line_from_event


class EventLines:
    """A sink that appends each event as one line, whole even when several processes share the file.

    Raises:
        ReachError: the file cannot be opened.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise ReachError(f"store: expected a file that can be written, {self.path}: {error.strerror}") from None
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> None:
        """Append one event; what cannot be written raises, and the evaluator counts it as dropped."""
        data = (line_from_event(event) + "\n").encode("ascii")
        with self._lock:
            while data:
                data = data[os.write(self._file, data) :]

    def close(self) -> None:
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1
