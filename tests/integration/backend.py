"""A real collector (rotel) and a real backend (Phoenix), as processes on free ports of this machine."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from rotel.agent import agent as rotel

from agent_reach.events import Event, Turn, event_from_span, unit_from_turn

START_SECONDS, STOP_SECONDS, ARRIVE_SECONDS = 90, 10, 30
QUIET_PHOENIX = {
    "PHOENIX_TELEMETRY_ENABLED": "false",
    "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
    "PHOENIX_DISABLE_AGENT_ASSISTANT": "true",
    "PHOENIX_AGENTS_DISABLE_BASH": "true",
    "PHOENIX_AGENTS_DISABLE_WEB_ACCESS": "true",
    "PHOENIX_LOG_MIGRATIONS": "false",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FOREIGN = re.compile(r"(OTEL|PHOENIX|ROTEL)_|(https?|all)_proxy$", re.IGNORECASE)
_RECEIVED = re.compile(r"^ +Trace ID +: (\w{32})\n +Parent ID +: \w*\n +ID +: (\w{16})\n", re.MULTILINE)


def foreign_settings() -> list[str]:
    """Variables of the developer's own that would lead spans, or a process started here, elsewhere."""
    return [name for name in os.environ if _FOREIGN.match(name)]


@dataclass
class Backend:
    """A running Phoenix."""

    url: str
    http: httpx.Client

    def spans(self, project: str) -> list[dict[str, Any]]:
        """All spans of a project; none while nothing has arrived, since the first span makes the project."""
        answer = self.http.get(f"{self.url}/v1/projects/{project}/spans", params={"limit": 1000})
        if answer.status_code == httpx.codes.NOT_FOUND:
            return []
        page = answer.raise_for_status().json()
        assert page["next_cursor"] is None, "more spans than one page holds"
        return page["data"]

    def spans_once_arrived(self, project: str, ids: set[str]) -> list[dict[str, Any]]:
        """The spans of a project as soon as they carry all these events, or what is there when that takes too long."""
        found: list[dict[str, Any]] = []

        def arrived() -> bool:
            found[:] = self.spans(project)
            return ids <= {event.id for event in read_back(found)}

        poll(arrived, ARRIVE_SECONDS)
        return found


@dataclass
class Collector:
    """A running rotel, which prints every span that it takes in."""

    grpc: str
    http: str
    log: Path

    def received(self, traces: set[str]) -> Counter[str]:
        """How often each span of these traces came in, by span id; the backend itself drops repeated ids."""
        pairs = _RECEIVED.findall(self.log.read_text())
        return Counter(span for trace, span in pairs if trace in traces)


@contextmanager
def running_backend(folder: Path) -> Iterator[Backend]:
    """Phoenix with an empty database in `folder`."""
    http, grpc = free_ports(2)
    settings = {"PORT": str(http), "GRPC_PORT": str(grpc), "HOST": "127.0.0.1", "WORKING_DIR": str(folder)}
    environment = QUIET_PHOENIX | {f"PHOENIX_{name}": value for name, value in settings.items()}
    call = [sys.executable, "-m", "phoenix.server.main", "serve"]
    with httpx.Client(trust_env=False, timeout=10) as client:
        backend = Backend(f"http://127.0.0.1:{http}", client)
        with running(call, environment, folder / "phoenix.log", lambda: answers(client, f"{backend.url}/readyz")):
            yield backend


@contextmanager
def running_collector(folder: Path, backend: Backend) -> Iterator[Collector]:
    """Rotel that forwards traces to the backend and takes metrics to nowhere, since Phoenix has no use for them."""
    grpc, http = free_ports(2)
    call = [str(rotel.agent_path), "start", "--debug-log", "traces", "--debug-log-verbosity", "detailed"]
    call += ["--otlp-grpc-endpoint", f"127.0.0.1:{grpc}", "--otlp-http-endpoint", f"127.0.0.1:{http}"]
    call += ["--exporters", "backend:otlp,nowhere:blackhole"]
    call += ["--exporters-traces", "backend", "--exporters-metrics", "nowhere"]
    environment = {"ROTEL_EXPORTER_BACKEND_ENDPOINT": backend.url, "ROTEL_EXPORTER_BACKEND_PROTOCOL": "http"}
    collector = Collector(f"grpc://127.0.0.1:{grpc}", f"http://127.0.0.1:{http}", folder / "rotel.log")
    with running(call, environment, collector.log, lambda: listens(grpc) and listens(http)):
        yield collector


@contextmanager
def running(call: list[str], settings: dict[str, str], log: Path, ready: Callable[[], bool]) -> Iterator[None]:
    """A process that is ready inside the block and gone after it; fails with its log if it does not come up."""
    inherited = {name: value for name, value in os.environ.items() if not _FOREIGN.match(name)}
    with log.open("wb") as output:
        process = subprocess.Popen(call, env=inherited | settings, stdout=output, stderr=subprocess.STDOUT)
    try:
        poll(lambda: process.poll() is not None or ready(), START_SECONDS)
        if process.poll() is not None or not ready():
            state = "still runs" if process.poll() is None else f"ended with {process.returncode}"
            pytest.fail(f"{' '.join(call)}\nis not ready; it {state}. Its log ends with:\n{log.read_text()[-4000:]}")
        yield
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def poll(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until the condition holds; False when it does not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def answers(client: httpx.Client, url: str) -> bool:
    try:
        return client.get(url).is_success
    except httpx.TransportError:
        return False


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on; held together, so that all differ."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in held]
    for server in held:
        server.close()
    return ports


@dataclass
class Delivered:
    """What a run of an agent emitted, and what came of it.

    Attributes:
        events: as a sink saw them.
        sent: what `shutdown` said.
        faults: what the observer noted about itself.
        spans: as the backend has them.
        received: how often the collector took in each span, by span id.
    """

    events: list[Event]
    sent: bool
    faults: dict[str, int]
    spans: list[dict[str, Any]]
    received: Counter[str]

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def span_of(self, event: Event) -> dict[str, Any]:
        """The backend's span with the id of the event."""
        [span] = [span for span in self.spans if span["context"]["span_id"] == event.id]
        return span


def read_back(spans: list[dict[str, Any]]) -> list[Event]:
    """The events that spans of the backend carry, with times to the microsecond, as Phoenix keeps them."""
    found = []
    for span in spans:
        event = _event_of_span(span)
        unit = unit_from_turn(span["attributes"], event) if isinstance(event, Turn) else None
        found += [event] if unit is None else [event, unit]
        found += [_event_of_span_event(e, span) for e in span["events"] if "agent_reach.event" in e["attributes"]]
    return found


def _event_of_span(span: dict[str, Any]) -> Event:
    ids, start, end = span["context"], nanoseconds(span["start_time"]), nanoseconds(span["end_time"])
    return event_from_span(
        span["attributes"],
        time=start,
        latency=end - start,
        id=ids["span_id"],
        parent=span["parent_id"] or "",
        trace=ids["trace_id"],
    )


def _event_of_span_event(event: dict[str, Any], span: dict[str, Any]) -> Event:
    ids, at = span["context"], nanoseconds(event["timestamp"])
    return event_from_span(event["attributes"], time=at, parent=ids["span_id"], trace=ids["trace_id"])


def nanoseconds(text: str) -> int:
    """Since 1970, of an ISO time."""
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1) * 1000
