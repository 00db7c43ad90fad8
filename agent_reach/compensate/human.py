"""What a person is asked, and what is made of the answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

REQUEST_TYPE: Final = "agent_reach.human"
_CHECK: Final = "Whether it took effect is not known: look before doing it again. "


def request(
    *,
    tool: str,
    call_id: str,
    arguments: dict[str, Any],
    status: str,
    tried: Sequence[tuple[str, str]],
    obtained: str,
    uncertain: bool = False,
) -> dict[str, Any]:
    """The value that the graph is interrupted with: what was wanted, what was tried, what failed and why.

    Args:
        obtained: what the tool gave all the same, such as the text of an empty result.
        uncertain: the tool may have taken effect.
    """
    lines = "; ".join(f"{name}: {why}" for name, why in tried) or "nothing could be tried"
    return {
        "type": REQUEST_TYPE,
        "tool": tool,
        "tool_call_id": call_id,
        "arguments": arguments,
        "status": status,
        "tried": [{"tool": name, "reason": why} for name, why in tried],
        "obtained": obtained,
        "uncertain": uncertain,
        "question": f"The agent needs `{tool}` and did not get it ({lines}). {_CHECK if uncertain else ''}What should it be told?",
    }


def answer_text(answer: Any) -> str:
    """The person's answer as the model reads it: text as it stands, anything else as JSON."""
    if isinstance(answer, dict) and isinstance(answer.get("content"), str):
        answer = answer["content"]
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, default=str)


def describe(tried: Sequence[tuple[str, str]], *, served_by: str = "", stale: float | None = None) -> str:
    """One sentence for the model that says plainly what happened."""
    story = ", then ".join(f"`{name}` gave {why}" for name, why in _runs(tried))
    if stale is not None:
        return f"[agent_reach: {story}; this is an earlier result of the same call, {_age(stale)} old]"
    if served_by:
        return f"[agent_reach: {story}; this comes from `{served_by}` instead]"
    return f"[agent_reach: {story}; nothing usable was obtained, which does not mean that nothing exists]"


def _runs(tried: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Repeats in a row folded: `timeout (3 times)`."""
    folded: list[tuple[str, str, int]] = []
    for name, why in tried:
        if folded and folded[-1][:2] == (name, why):
            folded[-1] = (name, why, folded[-1][2] + 1)
        else:
            folded.append((name, why, 1))
    return [(name, why if n == 1 else f"{why} ({n} times)") for name, why, n in folded]


def _age(seconds: float) -> str:
    return f"{round(seconds)} s" if seconds < 120 else f"{round(seconds / 60)} min"
