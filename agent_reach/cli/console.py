"""Where commands print, and whether they may write."""

from __future__ import annotations

import os
from pathlib import Path

from rich.console import Console

from agent_reach.errors import ReachError

output = Console()
errors = Console(stderr=True)


def check_writable(path: Path | None) -> None:
    """What takes long or costs money begins only when its result can be kept.

    Raises:
        ReachError: the file, or a new one in its folder, cannot be written.
    """
    if path is None:
        return
    there = path if path.exists() else path.parent
    if path.is_dir() or not there.exists() or not os.access(there, os.W_OK):
        raise ReachError(f"{path}: cannot be written")
