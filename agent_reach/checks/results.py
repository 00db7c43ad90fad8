"""The status of one result: failure before emptiness, both before `ok`."""

from __future__ import annotations

from typing import Any

from agent_reach.checks.empties import PathMissing, follow, holds_nothing, is_empty_prose
from agent_reach.checks.failures import finding_of_envelope, finding_of_prose
from agent_reach.checks.finding import OK, Finding, empty, failed
from agent_reach.checks.look import unwrap
from agent_reach.contracts import ToolContract


def finding_of_result(result: Any, contract: ToolContract) -> Finding:
    """What a tool's return value is worth.

    Args:
        result: the raw object, preferred, or the text made of it.
        contract: the tool's contract.

    Raises:
        Exception: whatever the contract's own envelope function raises.
    """
    value = unwrap(result)
    return _failure(value, contract) or _emptiness(value, contract) or OK


def _failure(value: Any, contract: ToolContract) -> Finding | None:
    if contract.envelope is not None:
        if contract.envelope(value):
            return finding_of_envelope(value) or failed("other")
    elif found := finding_of_envelope(value):
        return found
    if contract.error_prose and isinstance(value, str):
        return finding_of_prose(value)
    return None


def _emptiness(value: Any, contract: ToolContract) -> Finding | None:
    if contract.empty == "answer":
        return None
    if contract.data_path:
        try:
            value = follow(value, contract.data_path)
        except PathMissing:
            return failed("unparseable")
        kind = holds_nothing(value)
    else:
        kind = holds_nothing(value)
    if not kind and contract.empty_prose and isinstance(value, str) and is_empty_prose(value):
        kind = "prose"
    return empty(kind) if kind else None
