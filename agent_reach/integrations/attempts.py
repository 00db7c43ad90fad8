"""One execution of a tool, as its wrapper, its shadow or the tracker sees it."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from agent_reach.checks import OK, Finding
from agent_reach.events import Rung
from agent_reach.integrations.judge import MISSING, finding_of_error, finding_of_response
from agent_reach.integrations.turns import reset

if TYPE_CHECKING:
    from agent_reach.integrations.calls import CallRecord


class Body:
    """One run of a tool's body, seen by its shadow; `fault` is what an evaluation injected."""

    __slots__ = ("ended", "error", "fault", "raw", "started")

    def __init__(self, started: int) -> None:
        self.started = started
        self.ended = 0
        self.raw: Any = MISSING
        self.fault = ""
        self.error: BaseException | None = None


class Attempt(AbstractContextManager["Attempt"]):
    """One execution as the wrapper sees it: `with record.attempt(...) as attempt: attempt.response = execute()`.

    Whatever is raised goes on; it is judged on the way. Bodies run again by a retry from inside count as attempts, too.
    """

    __slots__ = (
        "bodies", "ended", "error", "finding", "in_body", "inner", "otel", "record", "response", "rung", "started", "timeout",
        "token", "tool",
    )  # fmt: skip

    def __init__(self, record: CallRecord, tool: str, rung: Rung) -> None:
        self.record, self.tool, self.rung = record, tool, rung
        self.bodies: list[Body] = []
        self.in_body = 0
        self.timeout: float | None = None
        self.response: Any = MISSING
        self.inner: Any = MISSING
        self.error: BaseException | None = None
        self.finding: Finding = OK
        self.started = self.ended = 0
        self.token: Any = None
        self.otel: Any = None

    def __enter__(self) -> Attempt:
        runtime = self.record.runtime
        self.begin()
        self.token = runtime.current.set(self.record)
        self.otel = runtime.tracing.enter(self.record.handle)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        runtime = self.record.runtime
        runtime.tracing.leave(self.otel)
        reset(runtime.current, self.token)
        self.end(error)

    def begin(self) -> None:
        """The execution starts; used alone by those who only watch."""
        record = self.record
        record.attempts.append(self)
        record.running = self
        self.started = record.runtime.clock()

    def end(self, error: BaseException | None = None) -> None:
        """The execution ended with `response`, or with an error."""
        runtime = self.record.runtime
        self.ended = runtime.clock()
        self.error = error
        try:
            self._judge()
        except Exception as fault:  # noqa: BLE001 - our bugs never become the user's
            runtime.notes.internal("judging a tool result", fault)

    def _judge(self) -> None:
        record = self.record
        if self.error is not None:
            self.finding = finding_of_error(self.error, in_body=bool(self.bodies))
            return
        body = self.bodies[-1] if self.bodies else None
        contract = record.runtime.routes.contract(self.tool)
        replaced = self.inner is not MISSING and self.inner is not self.response
        raw = MISSING if body is None or replaced else body.raw
        raised = None if body is None else body.error
        try:
            self.finding = finding_of_response(self.response, contract, tool=self.tool, raw=raw, error=raised)
        except Exception as fault:  # noqa: BLE001 - a user's envelope function may raise anything
            record.runtime.notes.add("envelope", f"the envelope function of {self.tool!r} raised", fault)

    def retry_after(self) -> float | None:
        """Seconds that the service asked to wait."""
        error = self.error or (self.bodies[-1].error if self.bodies else None)
        return None if error is None else _retry_after(error)


def _retry_after(error: BaseException) -> float | None:
    headers: Any = getattr(getattr(error, "response", None), "headers", None) or getattr(error, "headers", None)
    value = getattr(error, "retry_after", None)
    try:
        value = value if value is not None else headers.get("retry-after", headers.get("Retry-After"))
        seconds = float(value)
    except (AttributeError, TypeError, ValueError):
        return _until_date(value)
    return seconds if 0 <= seconds < 86_400 else None


def _until_date(value: Any) -> float | None:
    """Seconds until an HTTP date."""
    if not isinstance(value, str):
        return None
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
