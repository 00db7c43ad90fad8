"""A folder belongs to one process at a time, and only if it is ours."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO, Final

from agent_reach.errors import StoreError

_MARKER: Final = "agent-reach"


def claim(folder: Path) -> IO[str]:
    """The folder's lock, held as long as the file is open.

    Raises:
        StoreError: it holds something else, is in use, or cannot be written.
    """
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
