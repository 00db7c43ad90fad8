"""Serve in the foreground until a signal comes."""

from __future__ import annotations

import logging
import signal
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from agent_reach.server.service import Options, Service


def serve_until_stopped(options: Options, console: Console) -> None:
    """Start, say where it listens, wait for SIGINT or SIGTERM, and stop with nothing accepted lost.

    Raises:
        ReachError: it cannot start.
    """
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    service = Service(options)
    stopped = _stop_signal()
    service.start()
    where = options.store.rpartition("@")[2] if options.store else str(options.data)
    console.print(f"panel      {service.url}")
    console.print(f"OTLP/HTTP  http://{options.host}:{service.http_port}")
    console.print(f"OTLP/gRPC  {options.host}:{service.grpc_port}")
    console.print(f"store      {escape(where)}", highlight=False)
    console.print(f"alerts     {'; '.join(map(str, options.rules.rules)) or 'none'}", highlight=False)
    if options.token:
        console.print("token      required: Authorization: Bearer $AGENT_REACH_TOKEN", highlight=False)
    console.print("stop with Ctrl-C")
    stopped.wait()
    console.print("stopping; what was accepted is being stored")
    service.stop()


def serve_beside(work: Callable[[str], object], console: Console) -> None:
    """Run `work` with the address of a server that forgets everything at its end, and leave its panel open until a signal comes.

    Raises:
        ReachError: it cannot start.
    """
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="agent-reach-") as folder:
        service = Service(Options(data=Path(folder), store="memory:", port=0, http_port=0, grpc_port=0))
        service.start()
        try:
            work(f"http://127.0.0.1:{service.http_port}")
            service.ingest.flush(30)
            service.jobs.snapshot()
            console.print(f"\nThe panel shows all of it at [bold]{service.url}[/] (Ctrl-C ends it).")
            _stop_signal().wait()
        finally:
            service.stop()


def _stop_signal() -> threading.Event:
    """Set when SIGINT or SIGTERM comes."""
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    return stopped
