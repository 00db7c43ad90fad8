"""Whether a node of a task's topology is done, from the state and the results of its tools (definitions, section 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from agent_reach.contracts.expressions import Expression
from agent_reach.contracts.topology import Node

Results = Mapping[str, Sequence[Any]]
"""Results of the calls that ended well, by tool, in order."""

_DEEPEST = 12


def is_verified(node: Node, tools: Iterable[str], state: Any, results: Results, replies: Sequence[str] = ()) -> bool:
    """What the node's `verify` says of state and results; without one, whether a tool of the node ended well.

    Args:
        node: asked about.
        tools: that work on it.
        state: of the run: what the tools change, else the state of the graph.
        results: of the run so far.
        replies: what the user was told, in order.

    Raises:
        Exception: whatever a user's function raises.
    """
    if node.verify is None:
        return any(results.get(tool) for tool in tools)
    if isinstance(node.verify, Expression):
        return node.verify.holds(document(state, results, replies))
    if isinstance(node.verify, dict):
        validator = validator_of(node.verify)
        return any(validator.is_valid(plain(result)) for tool in tools for result in results.get(tool, ()))
    return bool(node.verify(state, results))


def document(state: Any, results: Results, replies: Sequence[str]) -> dict[str, Any]:
    """What conditions in text look at."""
    return {"state": plain(state), "results": plain(results), "replies": list(replies)}


class _Schema:
    """A schema by identity, so that its validator is made once."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Schema) and other.schema is self.schema

    def __hash__(self) -> int:
        return id(self.schema)


def validator_of(schema: dict[str, Any]) -> Any:
    """The validator of a JSON Schema, made once."""
    return _validator(_Schema(schema))


def schema_error(schema: dict[str, Any], value: Any) -> str | None:
    """Where a value does not satisfy a JSON Schema, and how; None when it does."""
    found = next(iter(validator_of(schema).iter_errors(plain(value))), None)
    if found is None:
        return None
    place = ".".join(map(str, found.absolute_path))
    return f"`{place}`: {found.message}" if place else str(found.message)


@lru_cache(maxsize=256)
def _validator(schema: _Schema) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema.schema)


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON would hold it: models, dataclasses and other objects become mappings, sets lists, the rest text."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if depth >= _DEEPEST:
        return str(value)
    if isinstance(value, BaseModel):
        return plain(value.model_dump(), depth + 1)
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value), depth + 1)
    if isinstance(value, Mapping):
        return {str(key): plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner, depth + 1) for inner in value]
    if hasattr(value, "__dict__") and not callable(value):
        return {name: plain(inner, depth + 1) for name, inner in vars(value).items() if not name.startswith("_")}
    return str(value)
