"""The error tree.

ReachError
├── ContractError        a route table or contract is wrong: file, line, key and what was expected
├── FormatError          a recorded conversation cannot be read: file, record and key
├── SchemaVersionError   an event was written by a newer version of this package
├── StoreError           the store cannot be opened, read or written
│   ├── StoreFull            no room now: the sender is asked to try again later
│   └── UnreadableSegment    accepted spans that the store cannot read
└── RequestError         an OTLP request is refused: its HTTP status, and what was wrong
"""

from __future__ import annotations


class ReachError(Exception):
    """Base of every error that this package raises on purpose."""


class ContractError(ReachError):
    """A declaration is wrong.

    Args:
        key: dotted path of the offending key, such as `intents.refund.steps[0]`.
        expected: what would have been right.
        found: what stands there.
        file: the file it came from, if any.
        line: 1-based line in that file, if known.
    """

    def __init__(self, key: str, expected: str, found: object = None, *, file: str | None = None, line: int | None = None) -> None:
        self.key, self.expected, self.found, self.file, self.line = key, expected, found, file, line
        place = f"{file or '<python>'}:{line}" if line else (file or "<python>")
        got = "" if found is None else f", found {found!r:.120}"
        super().__init__(f"{place}: {key}: expected {expected}{got}")


class FormatError(ReachError):
    """A recorded conversation cannot be read; nothing of it was scored.

    Args:
        file: path of the file.
        record: 0-based record in the file, or None when the file as a whole is unreadable.
        key: the offending key, if any.
        expected: what would have been right.
    """

    def __init__(self, file: str, record: int | None, key: str, expected: str) -> None:
        self.file, self.record, self.key, self.expected = file, record, key, expected
        where = file if record is None else f"{file}: record {record}"
        super().__init__(f"{where}: {key}: expected {expected}" if key else f"{where}: expected {expected}")


class SchemaVersionError(ReachError):
    """An event has a schema version that this package does not know."""

    def __init__(self, found: object, known: int) -> None:
        self.found, self.known = found, known
        super().__init__(
            f"event schema version {found!r} is not readable here (this agent-reach-sdk reads up to {known}); "
            "upgrade agent-reach-sdk, or read the file with the version that wrote it"
        )


class StoreError(ReachError):
    """The store cannot be opened, read or written."""


class StoreFull(StoreError):
    """There is no room now; the sender is asked to try again later."""


class UnreadableSegment(StoreError):
    """Accepted spans that the store cannot read; trying again is no use."""


class RequestError(ReachError):
    """An OTLP request is refused; nothing of it was kept.

    Args:
        status: HTTP status code.
        message: what was wrong.
    """

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


def briefly(error: Exception) -> str:
    """What an error of the standard library says, in a few words and without the data that it is about."""
    if isinstance(error, KeyError):
        return f"no key {error.args[0]!r}"
    said = str(error).splitlines()[0] if str(error) else type(error).__name__
    return said if len(said) <= 120 else f"{said[:120]}…"
