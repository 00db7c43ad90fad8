"""Earlier good results, to stand in for a tool that is down."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Final

_MAX_SIZE: Final = 65_536

Key = tuple[str, str, str]
"""Session, tool, hash of the arguments: never shared between sessions, since a tool may answer by who asks."""


class Snapshots:
    """The newest good result per key, bounded in number and size. Thread-safe.

    Args:
        capacity: results kept.
    """

    def __init__(self, capacity: int = 512) -> None:
        self._kept: OrderedDict[Key, tuple[Any, float]] = OrderedDict()
        self._capacity = capacity
        self._lock = threading.Lock()

    def keep(self, key: Key, value: Any, size: int, now: float) -> None:
        """Remember a good result; one over 64 Ki characters is not kept."""
        if not key[2] or size > _MAX_SIZE:
            return
        with self._lock:
            self._kept[key] = (value, now)
            self._kept.move_to_end(key)
            if len(self._kept) > self._capacity:
                self._kept.popitem(last=False)

    def find(self, key: Key, now: float) -> tuple[Any, float] | None:
        """The result and its age in seconds."""
        found = self._kept.get(key)
        return None if found is None else (found[0], now - found[1])
