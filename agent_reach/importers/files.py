"""Files of recorded conversations: which format they have, and what is in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from agent_reach.errors import FormatError
from agent_reach.importers.messages import Message, MessageError, read_message

Facts = Mapping[str, str | int | float | bool]

_KEYS: Final = ("traj", "messages", "history", "conversation", "trajectory")
_IDS: Final = ("session_id", "thread_id", "conversation_id", "id", "question_ID")


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation.

    Attributes:
        id: its own, else made of file and place.
        file, record: its place.
        messages: oldest first.
        facts: what else its record says, plain values only, such as a reward or an outcome.
    """

    id: str
    file: str
    record: int
    messages: list[Message]
    facts: Facts = field(default_factory=dict)


def is_event_lines(path: str | Path) -> bool:
    """The file holds this package's own events, one JSON object a line.

    Raises:
        FormatError: it cannot be read.
    """
    head = _head(path)
    first = next((line for line in head.splitlines() if line.strip()), "")
    try:
        record = json.loads(first)
    except ValueError:
        return False
    return isinstance(record, dict) and "v" in record and "kind" in record


def _head(path: str | Path) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(65_536)
    except OSError as error:
        raise FormatError(str(path), None, "", f"a readable file ({error.strerror})") from None


def read_conversations(path: str | Path) -> Iterator[Conversation]:
    """Conversations of a file: one list of messages, or a list or lines of objects that hold one under a usual key.

    Raises:
        FormatError: names file, record and key.
    """
    file = str(path)
    names: set[str] = set()
    for index, record in enumerate(_records(path)):
        raw = _message_list(record, file, index)
        messages: list[Message] = []
        for number, item in enumerate(raw):
            try:
                messages += read_message(item)
            except MessageError as error:
                raise FormatError(file, index, f"message {number}: {error.key}", error.expected) from None
        name = _name(record, Path(path).stem, index)
        while name in names:
            name += f".{index}"
        names.add(name)
        yield Conversation(name, file, index, messages, _facts(record))


def _facts(record: Any) -> Facts:
    if not isinstance(record, Mapping):
        return {}
    return {str(key): value for key, value in record.items() if isinstance(value, str | int | float | bool)}


def read_text(path: str | Path) -> str:
    """The text of a file.

    Raises:
        FormatError: it cannot be read, or is no UTF-8.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(str(path), None, "", f"a readable UTF-8 file ({error})") from None


def _records(path: str | Path) -> list[Any]:
    file, text = str(path), read_text(path)
    if not text.strip():
        raise FormatError(file, None, "", "a conversation, found an empty file")
    try:
        data = json.loads(text)
    except ValueError as error:
        return _lines(text, file, error)
    if data == []:
        raise FormatError(file, None, "", "a conversation, found an empty list")
    if isinstance(data, list) and data and _is_message(data[0]):
        return [data]
    return data if isinstance(data, list) else [data]


def _lines(text: str, file: str, whole: ValueError) -> list[Any]:
    records = []
    for number, line in enumerate(text.splitlines()):
        if line.strip():
            try:
                records.append(json.loads(line))
            except ValueError as error:
                problem = whole if number == 0 else error
                raise FormatError(file, number, "", f"JSON, or one JSON object a line ({problem})") from None
    if records and all(_is_message(r) for r in records):
        return [records]
    return records


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and not any(isinstance(value.get(k), list) for k in _KEYS) and (
        "role" in value or ("type" in value and ("content" in value or "data" in value)) or "lc" in value
    )  # fmt: skip


def _message_list(record: Any, file: str, index: int) -> list[Any]:
    if isinstance(record, list):
        return record
    if not isinstance(record, Mapping):
        raise FormatError(file, index, "record", f"a list of messages or an object that holds one, found {type(record).__name__}")
    for key in _KEYS:
        if key in record:
            if not isinstance(record[key], list):
                raise FormatError(file, index, key, f"a list of messages, found {type(record[key]).__name__}")
            return list(record[key])
    for key in ("output", "outputs", "state", "values", "kwargs"):
        inner = record.get(key)
        if isinstance(inner, Mapping) and isinstance(inner.get("messages"), list):
            found: list[Any] = inner["messages"]
            return found
    keys = ", ".join(map(str, list(record)[:8])) or "no keys"
    raise FormatError(file, index, "record", f"messages under one of {', '.join(_KEYS)}, found {keys}")


def _name(record: Any, stem: str, index: int) -> str:
    if isinstance(record, Mapping):
        for key in _IDS:
            if isinstance(record.get(key), str | int) and record[key] != "":
                return str(record[key])
        if isinstance(record.get("task_id"), str | int):
            trial = record.get("trial")
            return f"{stem}:{record['task_id']}" + (f".{trial}" if trial is not None else "")
    return f"{stem}:{index}"
