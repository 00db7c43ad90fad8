"""Descriptions of tools from a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_reach.errors import FormatError


def read_tools(path: str | Path) -> dict[str, str]:
    """Description by name.

    Args:
        path: JSON: a mapping of names to descriptions, or a list of tools as OpenAI, Anthropic or LangChain write them.

    Raises:
        FormatError: names file, record and key.
    """
    file = str(path)
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FormatError(file, None, "", f"a readable file of JSON ({error})") from None
    if isinstance(data, Mapping):
        return {str(name): _description(value, file, number) for number, (name, value) in enumerate(data.items())}
    if not isinstance(data, list):
        raise FormatError(file, None, "", f"a mapping of names to descriptions or a list of tools, found {type(data).__name__}")
    return dict(_tool(item, file, number) for number, item in enumerate(data))


def _tool(item: Any, file: str, number: int) -> tuple[str, str]:
    inner = item.get("function", item) if isinstance(item, Mapping) else None
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
        raise FormatError(file, number, "name", f"a tool with a name, found {item!r:.60}")
    return inner["name"], str(inner.get("description") or "")


def _description(value: Any, file: str, number: int) -> str:
    if isinstance(value, Mapping):
        return str(value.get("description") or "")
    if not isinstance(value, str):
        raise FormatError(file, number, "description", f"a text, found {type(value).__name__}")
    return value
