"""A Chromium: the system's, else the distribution's package, else Playwright's own. Never none."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from playwright.sync_api import sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
          "--disable-component-update", "--disable-sync"]  # fmt: skip
_INSTALL_SECONDS = 600


def chromium() -> str | None:
    """Path of a Chromium, installed if need be; None for Playwright's own."""
    with FileLock(Path(tempfile.gettempdir()) / "agent-reach-chromium.lock"):
        if found := _installed():
            return found
        tried = [_run("apt-get", "update", "-q"), _run("apt-get", "install", "-y", "-q", "chromium")]
        if found := _installed():
            return found
        tried.append(_run(sys.executable, "-m", "playwright", "install", "--with-deps", "chromium"))
        if tried[-1] == "":
            return None
        pytest.fail("no Chromium here, and none could be installed:\n" + "\n".join(tried))


def _installed() -> str | None:
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


def _run(*command: str) -> str:
    """What went wrong, `""` when nothing did."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{' '.join(command)}: {error}"
    return "" if done.returncode == 0 else f"{' '.join(command)}: {(done.stderr or done.stdout)[-500:]}"


@contextmanager
def browsing() -> Iterator[Any]:
    """A headless browser."""
    path = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_QUIET)
        yield browser
        browser.close()
