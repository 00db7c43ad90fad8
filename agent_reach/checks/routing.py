"""The verdict on a chosen tool (definitions, section 4; here as far as one call can tell)."""

from __future__ import annotations

import json
from typing import Any, Final, Literal, NamedTuple

from agent_reach.contracts import Routes, Step

Verdict = Literal["", "hit", "alternative", "unneeded"]

_LIMIT: Final = 200_000
NO_RESULT: Final = object()


class Routing(NamedTuple):
    """Verdict, whether the best tool of its step was chosen, and the tools of that step."""

    verdict: Verdict = ""
    precise: bool = False
    expected: tuple[str, ...] = ()


def routing_of_call(routes: Routes, intent: str, tool: str, result: Any = NO_RESULT) -> Routing:
    """What the route table says of a call; nothing without a route for the intent.

    Args:
        routes: the table.
        intent: of the unit.
        tool: that was called.
        result: of a call that ended `ok`: where it passes the outcome check of a step, another tool is an alternative path.

    Raises:
        Exception: whatever an outcome check raises.
    """
    steps = routes.steps(intent)
    if not steps:
        return Routing()
    expected = routes.expected(intent, tool)
    if expected:
        return Routing("hit", tool == expected[0], expected)
    if result is not NO_RESULT:
        for step in steps:
            if step.outcome is not None and _passes(step, result):
                return Routing("alternative", False, step.tools)
    return Routing("unneeded")


def _passes(step: Step, result: Any) -> bool:
    value = _parsed(result)
    if callable(step.outcome):
        return bool(step.outcome(value))
    from jsonschema import Draft202012Validator

    return bool(Draft202012Validator(step.outcome or {}).is_valid(value))


def _parsed(result: Any) -> Any:
    """What a text of JSON says, else the result itself."""
    if not isinstance(result, str) or len(result) > _LIMIT or result.lstrip()[:1] not in ("{", "["):
        return result
    try:
        return json.loads(result)
    except ValueError:
        return result
