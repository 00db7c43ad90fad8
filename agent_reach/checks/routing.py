"""The verdict on a chosen tool (definitions, section 4; here as far as one call can tell)."""

from __future__ import annotations

from typing import Literal

from agent_reach.contracts import Routes

Verdict = Literal["", "hit", "unneeded"]


def routing_of_call(routes: Routes, intent: str, tool: str) -> tuple[Verdict, bool, tuple[str, ...]]:
    """Verdict, whether the best tool of its step was chosen, and the tools of that step.

    Without a route for the intent there is nothing to expect: `("", False, ())`.
    """
    if not routes.steps(intent):
        return "", False, ()
    expected = routes.expected(intent, tool)
    return ("hit", tool == expected[0], expected) if expected else ("unneeded", False, ())
