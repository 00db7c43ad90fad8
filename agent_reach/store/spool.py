"""A durable, bounded queue of accepted requests: what was appended is still there after `kill -9`.

Requests are appended to a segment file, each after its length as a varint, which is the format that ClickHouse reads. A segment is
sealed when it is full or old, handed to the writer, and deleted once its rows are stored. Its name is never used again: the store
knows by it which segments it has.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from agent_reach.errors import StoreFull

_SEALED = ".otlp"
_OPEN = ".open"


class Spool:
    """Segments in a folder. Thread-safe; one process at a time (the store's lock sees to that).

    Args:
        folder: where the segments lie.
        segment_bytes: a segment of this size is sealed.
        max_bytes: of all segments together; beyond it requests are refused.
    """

    def __init__(self, folder: Path, *, segment_bytes: int = 48 << 20, max_bytes: int = 1 << 30) -> None:
        self._folder, self._segment, self._max = folder, segment_bytes, max_bytes
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._file: int | None = None
        self._path = folder
        self._size = 0
        self._begun = 0.0
        self._recover()
        self.waiting = sum(path.stat().st_size for path in self.sealed())

    def check_room(self, size: int) -> None:
        """Refuse at once what `append` would refuse after much work.

        Raises:
            StoreFull: so many bytes more are too many.
        """
        if self.waiting + size > self._max:
            raise StoreFull(f"{self.waiting >> 20} MB wait to be written; the limit is {self._max >> 20} MB")

    def append(self, body: bytes) -> None:
        """Keep one request.

        Raises:
            StoreFull: too much waits to be written, or the disk is full; nothing was kept.
        """
        framed = varint(len(body)) + body
        with self._lock:
            self.check_room(len(framed))
            try:
                self._write(framed)
            except OSError as error:
                raise StoreFull(f"cannot write to {self._folder}: {error.strerror}") from error
            self._size += len(framed)
            self.waiting += len(framed)
            if self._size >= self._segment:
                self._seal()

    def _write(self, framed: bytes) -> None:
        """All or nothing: a write that fails half-way is cut off again."""
        if self._file is None:
            self._path = self._folder / f"{time.time_ns():020d}-{os.urandom(4).hex()}{_OPEN}"
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
            self._size, self._begun = 0, time.monotonic()
        left = memoryview(framed)
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError:
            os.ftruncate(self._file, self._size)
            raise

    def seal(self, older_than: float = 0.0) -> None:
        """End the current segment if it is older than so many seconds."""
        with self._lock:
            if self._file is not None and self._size and time.monotonic() - self._begun >= older_than:
                self._seal()

    def _seal(self) -> None:
        assert self._file is not None
        os.close(self._file)
        self._file = None
        self._path.rename(self._path.with_suffix(_SEALED))

    def sealed(self) -> list[Path]:
        """Segments that can be written, oldest first."""
        return sorted(self._folder.glob(f"*{_SEALED}"))

    def done(self, segment: Path) -> None:
        """The rows of a segment are stored."""
        self._forget(segment, segment.unlink)

    def set_aside(self, segment: Path) -> Path:
        """A segment that cannot be written is kept for a person to look at."""
        aside = self._folder / "unreadable" / segment.name
        aside.parent.mkdir(exist_ok=True)
        self._forget(segment, lambda: segment.rename(aside))
        return aside

    def sift(self, segment: Path, keep: Callable[[bytes], bool]) -> Path | None:
        """Set those requests of a segment aside that are not to be kept, so that the others can be written.

        Returns:
            where they are; None when all are to be kept, or none is.
        """
        data = segment.read_bytes()
        bodies = [data[begin:end] for begin, end in frames(data)]
        good = [body for body in bodies if keep(body)]
        if not good or len(good) == len(bodies):
            return None
        aside = self._folder / "unreadable" / segment.name
        aside.parent.mkdir(exist_ok=True)
        bad = [body for body in bodies if not keep(body)]
        aside.write_bytes(b"".join(varint(len(body)) + body for body in bad))
        written = segment.with_name(f"{segment.stem}-sifted.part")
        written.write_bytes(b"".join(varint(len(body)) + body for body in good))
        size, left = segment.stat().st_size, written.stat().st_size
        written.rename(segment.with_name(f"{segment.stem}-sifted{_SEALED}"))
        segment.unlink()
        with self._lock:
            self.waiting -= size - left
        return aside

    def _forget(self, segment: Path, remove: Callable[[], object]) -> None:
        size = segment.stat().st_size
        remove()
        with self._lock:
            self.waiting -= size

    def _recover(self) -> None:
        """Segments that a killed process left open: cut at the last whole request, and sealed."""
        for path in sorted(self._folder.glob(f"*{_OPEN}")):
            whole = whole_frames(path.read_bytes())
            if not whole:
                path.unlink()
                continue
            os.truncate(path, whole)
            path.rename(path.with_suffix(_SEALED))

    def close(self) -> None:
        """Seal what is open; the next process writes it."""
        self.seal()


def varint(number: int) -> bytes:
    """Protobuf's length prefix."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def frames(data: bytes) -> Iterator[tuple[int, int]]:
    """Begin and end of each whole request in `data`, its length prefix left out."""
    position = 0
    while position < len(data):
        length = shift = 0
        start = position
        while start < len(data) and data[start] & 128:
            length |= (data[start] & 127) << shift
            shift, start = shift + 7, start + 1
        if start == len(data):
            return
        length |= data[start] << shift
        position = start + 1 + length
        if position > len(data):
            return
        yield start + 1, position


def whole_frames(data: bytes) -> int:
    """Bytes at the beginning of `data` that are whole requests."""
    return max((end for _, end in frames(data)), default=0)
