"""An event as one JSON line and back, without loss."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from pydantic_core import from_json
from typing_extensions import TypedDict

from agent_reach.errors import ReachError, SchemaVersionError
from agent_reach.events.base import SCHEMA_VERSION, Event
from agent_reach.events.model import KINDS, kind_of


@cache
def _defaults(cls: Any) -> tuple[tuple[str, Any], ...]:
    return tuple((f.name, None if f.default is MISSING else f.default) for f in fields(cls))


@cache
def _border(cls: Any) -> TypeAdapter[Any]:
    """Reads what a record says into the fields' types; what it leaves out stays out."""
    hints = get_type_hints(cls)
    shape: Any = TypedDict(cls.__name__, {name: hints[name] for name, _ in _defaults(cls)}, total=False)  # type: ignore[misc]
    return TypeAdapter(with_config(ConfigDict(extra="forbid"))(shape))


def record_from_event(event: Event) -> dict[str, Any]:
    """The event as JSON-ready values; fields that hold their default are left out."""
    record: dict[str, Any] = {"v": SCHEMA_VERSION, "kind": kind_of(event)}
    for name, default in _defaults(_class(event)):
        value = getattr(event, name)
        if value != default:
            record[name] = value
    return record


def _class(event: Event) -> Any:
    return type(event)


def line_from_event(event: Event) -> str:
    """One line of pure ASCII JSON, without the line end."""
    return json.dumps(record_from_event(event), separators=(",", ":"))


def event_from_record(record: dict[str, Any]) -> Event:
    """The inverse of `record_from_event`.

    Raises:
        SchemaVersionError: a newer package wrote it.
        ReachError: it is no event; the message names the key.
    """
    version = record.get("v")
    if not isinstance(version, int) or not 1 <= version <= SCHEMA_VERSION:
        raise SchemaVersionError(version, SCHEMA_VERSION)
    cls: Any = KINDS.get(record.get("kind", ""))
    if cls is None:
        raise ReachError(f"kind: expected one of {', '.join(KINDS)}, found {record.get('kind')!r}")
    try:
        checked = _border(cls).validate_python({k: v for k, v in record.items() if k not in ("v", "kind")})
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "event"
        raise ReachError(f"{record['kind']}.{key}: {first['msg']}, found {first['input']!r:.80}") from None
    made: Event = cls(**checked)
    return made


def _read_json(line: str) -> Any:
    """By the fast reader, and by the lenient one where a payload holds half of a surrogate pair."""
    try:
        return from_json(line)
    except ValueError:
        return json.loads(line)


def event_from_line(line: str) -> Event:
    """The inverse of `line_from_event`.

    Raises:
        SchemaVersionError: a newer package wrote it.
        ReachError: it is no event; the message names the key.
    """
    try:
        record = _read_json(line)
    except ValueError as error:
        raise ReachError(f"expected one JSON object a line: {error}") from None
    if not isinstance(record, dict):
        raise ReachError(f"expected one JSON object a line, found {type(record).__name__}")
    return event_from_record(record)
