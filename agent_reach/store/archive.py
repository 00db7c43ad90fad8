"""Raw results that are too long for a model's context: kept in a folder or under any URL that fsspec knows, by their content."""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path

from agent_reach.errors import ContractError, StoreError


class Archive:
    """Texts under a place, each under the hash of its content.

    Args:
        place: a folder, made if need be, or a URL such as `s3://bucket/results` (needs fsspec, and the package for its kind of
            storage).

    Raises:
        ContractError: nothing here can open such a URL.
    """

    def __init__(self, place: str | Path) -> None:
        self._place = str(place).rstrip("/")
        self._is_url = "://" in self._place
        if self._is_url:
            try:
                import fsspec

                self._files = fsspec.core.url_to_fs(self._place)[0]
            except (ImportError, ValueError) as error:
                raise ContractError("archive", f"a folder, or a URL that fsspec can open ({error})", self._place) from None

    def put(self, text: str) -> str:
        """Keep a text.

        Returns:
            the pointer that `get` takes.

        Raises:
            StoreError: it cannot be written.
        """
        data = text.encode("utf-8", "surrogatepass")
        pointer = f"{self._place}/{blake2b(data, digest_size=16).hexdigest()}.txt"
        try:
            if self._is_url:
                self._files.makedirs(self._place, exist_ok=True)
                self._files.pipe_file(pointer, data)
            else:
                _write(Path(pointer), data)
        except Exception as error:
            raise StoreError(f"archive {self._place}: a result cannot be written: {error}") from error
        return pointer

    def get(self, pointer: str) -> str:
        """The text that was kept under a pointer of this archive.

        Raises:
            StoreError: there is none, or the pointer is of another place.
        """
        name = pointer.removeprefix(f"{self._place}/")
        if name == pointer or "/" in name or ".." in name:
            raise StoreError(f"archive {self._place}: {pointer!r} is no pointer of it")
        try:
            data = self._files.cat_file(pointer) if self._is_url else Path(pointer).read_bytes()
        except Exception as error:
            raise StoreError(f"archive {self._place}: {pointer!r} cannot be read: {error}") from error
        return bytes(data).decode("utf-8", "surrogatepass")


def _write(path: Path, data: bytes) -> None:
    """Whole or not at all, also beside other writers."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_bytes(data)
    part.replace(path)
