"""Named SQL: every query of the product stands in `sql/queries.sql`, under its name, with what it gives."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

from agent_reach.errors import StoreError

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_PARAMETER = re.compile(r"\{(\w+): *([^}]+)\}")


@cache
def queries() -> dict[str, str]:
    """Statement by name."""
    text = (files("agent_reach.store") / "sql" / "queries.sql").read_text("utf-8")
    parts = _NAME.split(text)[1:]
    return {name: body.strip().rstrip(";") for name, body in zip(parts[::2], parts[1::2], strict=True)}


def query(name: str, parameters: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A statement and the parameters that it takes; values never become part of the SQL.

    Raises:
        StoreError: no such query, or a parameter is missing.
    """
    statement = queries().get(name)
    if statement is None:
        raise StoreError(f"no query is named {name!r}; there are {', '.join(queries())}")
    needed = {match[1] for match in _PARAMETER.finditer(statement)}
    missing = needed - parameters.keys()
    if missing:
        raise StoreError(f"query {name!r} needs {', '.join(sorted(missing))}")
    return statement, {key: parameters[key] for key in needed}


def as_text(value: Any) -> str:
    """A parameter in ClickHouse's escaped text form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_quoted(item) for item in value)}]"
    text = str(value)
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\0", "\\0")


def _quoted(item: Any) -> str:
    escaped = str(item).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
