"""Serve in the foreground until a signal comes."""

from __future__ import annotations

import logging
import signal
import threading

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
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    service.start()
    where = options.store.rpartition("@")[2] if options.store else str(options.data)
    console.print(f"panel      {service.url}")
    console.print(f"OTLP/HTTP  http://{options.host}:{service.http_port}")
    console.print(f"OTLP/gRPC  {options.host}:{service.grpc_port}")
    console.print(f"store      {escape(where)}    (stop with Ctrl-C)", highlight=False)
    stopped.wait()
    console.print("stopping; what was accepted is being stored")
    service.stop()
