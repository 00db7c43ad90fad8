"""YAML with line numbers, and pydantic errors that name file, line, key and what was expected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from agent_reach.errors import ContractError

if TYPE_CHECKING:
    import yaml

Lines = dict[tuple[Any, ...], int]


def read_yaml(path: str | Path) -> tuple[Any, Lines]:
    """The document, and the 1-based line of every key and list item by its path.

    Raises:
        ContractError: the file is missing, no YAML, or names a key twice.
    """
    import yaml

    file = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ContractError("file", f"a readable UTF-8 file ({error})", file=file) from None
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        lines: Lines = {}
        if root is not None:
            _walk(root, (), lines, file)
        return yaml.safe_load(text), lines
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else None
        problem = getattr(error, "problem", None) or str(error)
        raise ContractError("document", f"valid YAML ({problem})", file=file, line=line) from None


def _walk(node: yaml.Node, path: tuple[Any, ...], lines: Lines, file: str) -> None:
    import yaml

    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            step = (*path, key.value)
            if step in lines:
                raise ContractError(_dotted(step), "each key once", file=file, line=key.start_mark.line + 1)
            lines[step] = key.start_mark.line + 1
            _walk(value, step, lines, file)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _walk(item, (*path, index), lines, file)


def _dotted(path: tuple[Any, ...]) -> str:
    out = ""
    for part in path:
        out += f"[{part}]" if isinstance(part, int) else f".{part}" if out else str(part)
    return out or "document"


def _line_of(path: tuple[Any, ...], lines: Lines) -> int | None:
    for length in range(len(path), -1, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


def contract_error(error: ValidationError, lines: Lines, file: str | None) -> ContractError:
    """The first problem that pydantic found, with its place."""
    first = error.errors()[0]
    path = tuple(part for part in first["loc"] if not (isinstance(part, str) and "[" in part))
    expected = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        expected = "a known key"
    return ContractError(_dotted(path), expected, first["input"], file=file, line=_line_of(path, lines))


def contract_error_at(path: tuple[Any, ...], expected: str, found: object, lines: Lines, file: str | None) -> ContractError:
    """A problem that only shows when parts are seen together."""
    return ContractError(_dotted(path), expected, found, file=file, line=_line_of(path, lines))
