"""Everything that `agent-reach serve` runs, put together."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn

from agent_reach.contracts import Routes
from agent_reach.errors import ReachError
from agent_reach.server.access import access_for, is_loopback
from agent_reach.server.alerts import Alerts, Rules
from agent_reach.server.ingest import Ingest
from agent_reach.server.jobs import Jobs
from agent_reach.server.meters import Meters
from agent_reach.server.otlp_grpc import grpc_receiver
from agent_reach.server.otlp_http import receiver
from agent_reach.server.panel.app import panel
from agent_reach.store import open_store
from agent_reach.store.port import Store
from agent_reach.store.spool import Spool

log = logging.getLogger("agent_reach.server")


@dataclass(frozen=True, slots=True)
class Options:
    """What can be set.

    Attributes:
        data: folder of the database and the spool.
        store: `""` for chDB in that folder, or `clickhouse://user:password@host:port/`.
        host: to listen on; off loopback a token is required.
        port, http_port, grpc_port: of the panel, of OTLP/HTTP and of OTLP/gRPC; 0 takes a free one.
        token: what clients have to know.
        ttl_days: after which spans are dropped.
        routes: gives the weights and thresholds of the scores.
        rules: when to alert, and where.
        otlp: endpoint that gets alerts and the server's own counters as metrics.
        max_spool_bytes: accepted and not stored yet; beyond it senders are asked to wait.
    """

    data: Path
    store: str = ""
    host: str = "127.0.0.1"
    port: int = 4319
    http_port: int = 4318
    grpc_port: int = 4317
    token: str = field(default="", repr=False)
    ttl_days: int = 30
    routes: Routes = field(default_factory=Routes)
    rules: Rules = field(default_factory=Rules)
    otlp: str | None = None
    max_spool_bytes: int = 1 << 30


class Service:
    """Listens from `start` to `stop`; both may be called from any thread.

    Attributes:
        port, http_port, grpc_port: where it listens.
        store, ingest, jobs: the parts.

    Raises:
        ReachError: a port is in use, the store cannot be opened, or a token is missing.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        access = access_for(options.host, options.token)
        panel_socket = _listen(options.host, options.port, "the panel", "--port")
        http_socket = _listen(options.host, options.http_port, "OTLP/HTTP", "--http-port")
        self._sockets = [panel_socket, http_socket]
        self.port, self.http_port = (s.getsockname()[1] for s in self._sockets)
        try:
            self.store: Store = open_store(options.store, options.data, ttl_days=options.ttl_days)
            spool = Spool(options.data / "spool", max_bytes=options.max_spool_bytes)
            self.ingest = Ingest(self.store, spool, ttl_days=options.ttl_days)
            address = f"[{options.host}]" if ":" in options.host else options.host
            self._grpc, self.grpc_port = grpc_receiver(self.ingest, access, f"{address}:{options.grpc_port}")
            self.jobs = Jobs(self.store, self.ingest, options.routes, Alerts(options.rules, options.routes))
            self._meters = Meters(self.jobs.alerts, self.ingest, options.otlp)
        except BaseException:
            if hasattr(self, "store"):
                self.store.close()
            self._close_sockets()
            raise
        loopback = is_loopback(options.host)
        self._servers = [
            _server(panel(self.store, self.ingest, self.jobs, options.routes, access, loopback=loopback, otlp_port=self.http_port)),
            _server(receiver(self.ingest, access)),
        ]
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="agent-reach-http", daemon=True)

    @property
    def url(self) -> str:
        """Of the panel."""
        host = f"[{self.options.host}]" if ":" in self.options.host else self.options.host
        return f"http://{host}:{self.port}/"

    def start(self) -> None:
        """Begin to listen; returns at once."""
        self.ingest.start()
        self.jobs.start()
        self._grpc.start()
        self._thread.start()

    async def _serve(self) -> None:
        pairs = zip(self._servers, self._sockets, strict=True)
        await asyncio.gather(*(server.serve(sockets=[sock]) for server, sock in pairs))

    def stop(self) -> None:
        """Answer what was asked, store what was accepted, and let the folder go."""
        stopped: Any = self._grpc.stop(grace=5)
        for server in self._servers:
            server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(10)
        stopped.wait(10)
        self.jobs.stop()
        self._meters.close()
        self.ingest.stop()
        self.store.close()
        self._close_sockets()

    def _close_sockets(self) -> None:
        for sock in self._sockets:
            sock.close()


def _server(app: Any) -> uvicorn.Server:
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, lifespan="off", timeout_graceful_shutdown=5
    )
    return uvicorn.Server(config)


def _listen(host: str, port: int, what: str, option: str) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(512)
    except (OSError, socket.gaierror) as error:
        reason = error.strerror or str(error)
        raise ReachError(f"cannot listen on {host}:{port} for {what}: {reason}; give another with {option}") from error
    sock.setblocking(False)
    return sock
