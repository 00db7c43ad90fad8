"""`agent-reach serve` as a process of its own, and ClickHouse's HTTP interface on a chDB in another."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

START_SECONDS = 90


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def until(check: Any, seconds: float = 30.0) -> Any:
    """The first true value of `check`, or its last one when that takes too long."""
    limit = time.monotonic() + seconds
    while True:
        try:
            found = check()
        except httpx.TransportError:
            found = None
        if found or time.monotonic() > limit:
            return found
        time.sleep(0.1)


@dataclass
class Serving:
    """A running server.

    Attributes:
        panel, http: base URLs; grpc: address.
    """

    folder: Path
    options: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    ports: tuple[int, int, int] = field(default_factory=lambda: (free_port(), free_port(), free_port()))
    process: Any = None

    @property
    def panel(self) -> str:
        return f"http://127.0.0.1:{self.ports[0]}"

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self.ports[1]}"

    @property
    def grpc(self) -> str:
        return f"http://127.0.0.1:{self.ports[2]}"

    def start(self) -> None:
        ports = zip(("--port", "--http-port", "--grpc-port"), self.ports, strict=True)
        command = [str(Path(sys.executable).parent / "agent-reach"), "serve", "--data", str(self.folder), *self.options]
        command += [str(word) for pair in ports for word in pair]
        log = self.folder.with_suffix(".log").open("a")
        clean = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")}
        self.process = subprocess.Popen(command, stderr=log, stdout=log, env={**clean, **self.environment})
        alive = until(lambda: self.process.poll() is not None or httpx.get(f"{self.panel}/login").status_code == 200, START_SECONDS)
        assert alive, self.log()
        assert self.process.poll() is None, self.log()

    def log(self) -> str:
        return self.folder.with_suffix(".log").read_text()

    def post(self, body: bytes, kind: str = "application/x-protobuf", path: str = "/v1/traces", **headers: str) -> httpx.Response:
        return httpx.post(f"{self.http}{path}", content=body, headers={"content-type": kind, **headers}, timeout=60)

    def health(self) -> dict[str, Any]:
        return httpx.get(f"{self.panel}/health", timeout=30).json()

    def settle(self) -> None:
        """Wait until all that was accepted is stored."""
        assert until(lambda: self.health()["waiting_bytes"] == 0), self.health()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(30)

    def stop(self) -> int:
        """Ask it to end, and wait; its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def rows(self, sql: str) -> list[Any]:
        """What the store holds; only once the server has stopped, since one process has the folder."""
        code = "import sys; from chdb.session import Session; print(Session(sys.argv[1]).query(sys.argv[2], 'JSONCompactEachRow'))"
        command = [sys.executable, "-c", code, str(self.folder / "chdb"), sql]
        out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
        return [json.loads(line) for line in out.splitlines() if line.strip()]


@contextmanager
def serving(folder: Path, *options: str, **environment: str) -> Iterator[Serving]:
    """A server for the length of a block."""
    served = Serving(folder, list(options), environment)
    served.start()
    try:
        yield served
    finally:
        served.stop()


_FRONT = """
import sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit
from chdb.session import Session

session, lock = Session(sys.argv[2]), threading.Lock()
META = {"user", "password", "database", "default_format", "query", "session_id", "session_timeout", "query_id", "wait_end_of_query",
        "client_protocol_version", "role", "compress", "enable_http_compression", "send_progress_in_http_headers",
        "http_headers_progress_interval_ms"}

class Front(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *args): pass
    def do_GET(self): self.answer(200, b"Ok.\\n")
    def do_POST(self):
        given = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        body = self.body()
        head = given.get("query", "")
        if not head and body.lstrip()[:6].upper() == b"INSERT" and b" FORMAT " in body.split(b"\\n", 1)[0]:
            line, _, body = body.partition(b"\\n")
            head = line.decode()
        statement = head.encode() + b"\\n" + body if head else body
        params = {k[6:]: v for k, v in given.items() if k.startswith("param_")}
        settings = {k: v for k, v in given.items() if k not in META and not k.startswith("param_")}
        try:
            with lock:
                if given.get("database"): session.query(f"USE {given['database']}")
                if head.lstrip().upper().startswith("INSERT") and " FORMAT " in head.upper():
                    path = sys.argv[2] + ".body"
                    open(path, "wb").write(body)
                    table, _, form = head.rpartition(" FORMAT ")
                    extra = "".join(f", {k} = '{v}'" for k, v in settings.items())
                    form = form.split()[0]
                    columns = table[table.index("INTO") + 4:]
                    text = f"INSERT INTO {columns} SELECT * FROM file('{path}', '{form}') SETTINGS input_format_with_names_use_header=1{extra}"
                    result = session.query(text)
                else:
                    sql = statement.decode()
                    form = given.get("default_format", "TSV")
                    base, _, asked = sql.rpartition(" FORMAT ")
                    if base and asked.strip().isidentifier(): sql, form = base, asked.strip()
                    if settings and sql.lstrip().upper().startswith("SELECT"):
                        sql += " SETTINGS " + ", ".join(f"{k} = '{v}'" for k, v in settings.items())
                    result = session.query(sql, form, params=params)
            self.answer(200, result.bytes() if result is not None else b"")
        except Exception as error:
            self.answer(500, str(error).encode())
    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size)); self.rfile.readline()
            self.rfile.readline()
            data = b"".join(parts)
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        encoding = self.headers.get("Content-Encoding", "")
        if encoding == "gzip":
            import gzip; data = gzip.decompress(data)
        if encoding == "lz4":
            import lz4.frame; data = lz4.frame.decompress(data)
        if encoding == "zstd":
            import zstandard; data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
        return data
    def answer(self, status, data):
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("X-ClickHouse-Summary", "{}")
        self.end_headers()
        self.wfile.write(data)

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Front).serve_forever()
"""


@contextmanager
def clickhouse_front(folder: Path) -> Iterator[int]:
    """A thin HTTP front on chDB that speaks as a ClickHouse server does; gives its port."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", _FRONT, str(port), str(folder)])
    try:
        assert until(lambda: httpx.get(f"http://127.0.0.1:{port}/ping").status_code == 200), "the front did not start"
        yield port
    finally:
        process.kill()
        process.wait(30)
