"""A folder belongs to one process at a time, and only if it is ours."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO, Final

from agent_reach.errors import StoreError

_MARKER: Final = "agent-reach"
_MEANINGFUL: Final = frozenset("*?{}'\\")
"""Signs that are more than themselves in the name of a file that ClickHouse is to read."""


def claim(folder: Path) -> IO[str]:
    """The folder's lock, held as long as the file is open.

    Raises:
        StoreError: it holds something else, is in use, cannot be written, or has a name that ClickHouse cannot read.
    """
    if found := sorted(set(str(folder.absolute())) & _MEANINGFUL):
        raise StoreError(f"{folder}: ClickHouse cannot read from a folder with {' '.join(found)} in its name; give another one")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        marker = folder / _MARKER
        if not marker.exists() and any(folder.iterdir()):
            raise StoreError(f"{folder} holds something else; give an empty folder, or one that agent-reach made")
        lock = marker.open("a+")
    except OSError as error:
        raise StoreError(f"cannot use {folder}: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.seek(0)
        holder = lock.read().strip()
        lock.close()
        raise StoreError(f"{folder} is in use by process {holder or '?'}; stop it, or give another --data folder") from error
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    return lock
