"""Transcripts of several agents: who said what, and whom they told to act."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from agent_reach.checks.blame import Step
from agent_reach.errors import FormatError
from agent_reach.importers.files import read_text
from agent_reach.importers.messages import text_in

_KEYS: Final = ("history", "messages", "conversation", "traj", "trajectory")
_TASK: Final = ("question", "task", "input", "query")
_LABEL: Final = re.compile(r"^(?P<agent>.*?)\s*\((?:->\s*(?P<to>[^)]*)|[^)]*)\)$")


class Transcript(NamedTuple):
    """One run of several agents.

    Attributes:
        id: made of the file and the place in it.
        task: what was asked, `""` when the record does not say.
        steps: in order.
        record: all that the file says of it.
    """

    id: str
    task: str
    steps: list[Step]
    record: Mapping[str, Any]


def read_transcripts(path: str | Path) -> Iterator[Transcript]:
    """Records with a list of messages, each with `name` or `role` and `content`; a speaker `A (-> B)` tells B to act.

    Raises:
        FormatError: names file and record.
    """
    text = read_text(path)
    try:
        data = json.loads(text)
    except ValueError as error:
        raise FormatError(str(path), None, "", f"JSON ({error})") from None
    for number, record in enumerate(data if isinstance(data, list) else [data]):
        yield _transcript(record, Path(path), number)


def _transcript(record: Any, path: Path, number: int) -> Transcript:
    if not isinstance(record, Mapping):
        raise FormatError(str(path), number, "record", f"an object with messages, found {type(record).__name__}")
    messages = next((record[key] for key in _KEYS if key in record), None)
    if isinstance(messages, str):
        messages = _read(messages)
    if not isinstance(messages, list) or not all(isinstance(message, Mapping) for message in messages):
        raise FormatError(str(path), number, "record", f"a list of messages under one of {', '.join(_KEYS)}")
    task = next((str(record[key]) for key in _TASK if isinstance(record.get(key), str)), "")
    return Transcript(f"{path.stem}:{number}", task, [_step(message) for message in messages], record)


def _read(text: str) -> Any:
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


def _step(message: Mapping[str, Any]) -> Step:
    speaker = str(message.get("name") or message.get("role") or "")
    label = _LABEL.match(speaker)
    agent, to = (label["agent"], label["to"] or "") if label else (speaker, "")
    return Step(agent, text_in(message.get("content")), to)
