"""What a model's reply is: an answer, a question to the user, or the text of a step limit."""

from __future__ import annotations

import re
from typing import Final

_ASKS: Final = re.compile(
    r"(?:could|can|would|will) you (?:please )?(?:tell|provide|share|confirm|give|send|clarify|specify|let me know)"
    r"|please (?:tell|provide|share|confirm|give|send|clarify|specify|let me know|enter|reply)"
    r"|what is your|may i (?:have|ask)|i(?:'ll| will)? need (?:your|the|to know)|do you (?:want|wish|confirm)|would you like"
    r"|请(?:您)?(?:提供|告诉|告知|确认|说明|补充|输入|回复)|麻烦(?:您)?提供|方便提供|能否提供",
    re.IGNORECASE,
)
_LIMIT: Final = re.compile(
    r"^(?:agent stopped due to (?:max iterations|iteration limit|time limit)|sorry, need more steps)", re.IGNORECASE
)
_TAIL: Final = 400
_CLOSING: Final = re.compile(
    r"(?:anything else|help(?:ful)? (?:you )?(?:with )?(?:anything|something)|further (?:questions|help|assist)|还有(?:什么|其他))[^.!?。！？]*[?？]\s*$",
    re.IGNORECASE,
)


def asks_user(reply: str) -> bool:
    """The reply only asks the user for something; "anything else?" does not count.

    The last sentence decides: it is a question, or a request for what the agent needs.
    """
    tail = reply.strip()[-_TAIL:]
    if not tail or _CLOSING.search(tail):
        return False
    last = re.split(r"(?<=[.!?。！？])\s+|\n+", tail)[-1]
    return last.rstrip(" \"'”*_)）").endswith(("?", "？")) or _ASKS.search(last) is not None


def is_step_limit(reply: str) -> bool:
    """The reply is what a framework says at its step limit."""
    return _LIMIT.match(reply.strip()) is not None
