"""Signals of a conversation that tell, without any reference, how it is likely to end.

Each has a reason, and each can point the other way in another domain: where refusing is often right, few writes are a good sign; where
everything asked for must be done, they are a bad one. So weights are fitted per domain (`agent_reach.evaluation.outlook`): no
universal score is made of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from typing import Final, NamedTuple


class Part(NamedTuple):
    """One message.

    Attributes:
        role: `user`, `assistant` or `tool`.
        text: of it.
        tools: that an assistant's message asks for.
        values: scalar values in the arguments of each of these calls.
    """

    role: str
    text: str
    tools: tuple[str, ...] = ()
    values: tuple[int, ...] = ()


_REFUSES: Final = re.compile(
    r"unable|cannot|can['\u2019]t|not able|unfortunately|not possible|not eligible|sorry|apolog|无法|不能|抱歉|对不起|很遗憾",
    re.IGNORECASE,
)
_OBJECTS: Final = re.compile(
    r"frustrat|disappoint|\bbut\b|however|still|insist|really need|not happy|are you sure|double.check|instead|但是|可是|还是不|失望|确定吗",
    re.IGNORECASE,
)
_MORE: Final = re.compile(
    r"\b(?:also|another|as well|additionally|in addition|besides|one more|too|both|all|everything|and then|next|by the way)\b"
    r"|还有|另外|以及|也要|顺便",
    re.IGNORECASE,
)
_OTHERWISE: Final = re.compile(
    r"actually|instead|never ?mind|changed my mind|on second thought|\bwait\b|其实|算了|改主意|等一下", re.IGNORECASE
)
_CONSTRAINS: Final = re.compile(
    r"\b(?:cheapest|most expensive|lowest|highest|fastest|shortest|earliest|latest|total|sum|how much|how many"
    r"|all (?:of )?(?:my|the|them|those)|each|every\w*|both|same|similar|if|unless|otherwise|at least|at most|up to|under|less than"
    r"|more than|prefer\w*|split|as much|rest|remaining|except|only)\b"
    r"|最便宜|最贵|最低|最高|最快|最早|最晚|总共|一共|多少|所有|全部|每个|一样|相同|如果|除非|否则|至少|最多|以内|不超过|剩下|除了|只要",
    re.IGNORECASE,
)
_ACTS: Final = re.compile(
    r"cancel|exchang|return|refund|modif|chang|updat|upgrad|book|\badd|remov|取消|换|退|修改|更改|更新|升级|预订|添加|删除",
    re.IGNORECASE,
)
_LISTS: Final = re.compile(r"^\s*(?:\d+\.|-|•)", re.MULTILINE)


class _Conversation:
    """What the signals look at, taken apart once."""

    def __init__(self, parts: Sequence[Part], writes: Container[str], people: Container[str]) -> None:
        self.parts = [part for part in parts if part.role in ("user", "assistant", "tool")]
        self.users = [part.text for part in self.parts if part.role == "user"]
        self.replies = [part.text for part in self.parts if part.role == "assistant" and part.text]
        self.tools = [tool for part in self.parts for tool in part.tools]
        self.said = " ".join(self.users)
        self.reads = [tool for tool in self.tools if tool not in writes and tool not in people]
        asked = ((tool, n) for part in self.parts for tool, n in zip(part.tools, part.values, strict=False))
        self.values = sum(n for tool, n in asked if tool in writes)
        self.person = any(tool in people for tool in self.tools)
        self.wrote = [i for i, part in enumerate(self.parts) if any(tool in writes for tool in part.tools)]

    def replies_with(self, pattern: re.Pattern[str]) -> float:
        return sum(bool(pattern.search(text)) for text in self.replies) / max(1, len(self.replies))


_SIGNALS: Final[dict[str, Callable[[_Conversation], float]]] = {
    # how the agent works
    "reads": lambda c: len(c.reads),
    "purity": lambda c: len(set(c.tools)) / max(1, len(c.tools)),
    "no_write": lambda c: float(not c.wrote),
    "after_last_write": lambda c: (len(c.parts) - 1 - c.wrote[-1]) / len(c.parts) if c.wrote else 1.0,
    "values_written": lambda c: c.values,
    "handed_to_person": lambda c: float(c.person),
    # what the agent says
    "reply_length": lambda c: sum(map(len, c.replies)) / max(1, len(c.replies)),
    "all_replies_length": lambda c: sum(map(len, c.replies)),
    "replies_that_list": lambda c: c.replies_with(_LISTS),
    "replies_that_refuse": lambda c: c.replies_with(_REFUSES),
    "replies_a_message": lambda c: len(c.replies) / max(1, len(c.users)),
    # what the user asks for
    "objections": lambda c: sum(bool(_OBJECTS.search(text)) for text in c.users),
    "acts_asked_for": lambda c: len(_ACTS.findall(c.said)),
    "further_wishes": lambda c: len(_MORE.findall(c.said)),
    "constraints": lambda c: len(_CONSTRAINS.findall(c.said)),
    "second_thoughts": lambda c: len(_OTHERWISE.findall(c.said)),
}

NAMES: Final = tuple(_SIGNALS)
"""Names of the signals, in the order of `signals`."""


def signals(parts: Sequence[Part], writes: Container[str] = (), people: Container[str] = ()) -> list[float]:
    """The signals of a conversation so far, each 0 or more; lengths in characters.

    Args:
        parts: its messages, oldest first.
        writes: names of the tools with side effects.
        people: names of the tools that hand over to a person.
    """
    conversation = _Conversation(parts, writes, people)
    return [float(signal(conversation)) for signal in _SIGNALS.values()]
