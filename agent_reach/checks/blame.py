"""Which step of a failed multi-agent run was the first mistake, from its transcript alone: a ranked list with reasons.

No topology, no reference and no model is asked. Weights are those of a conditional logit (D. McFadden, 1974) with a ridge of 2, fitted
to 63 failed runs of automatically built teams whose first mistake people had marked (Who&When, even numbers). In ten-fold
cross-validation it names the step in 0.54 of them, in 0.46 when fitted to half of them; take it as where to look first, not as a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import exp, log1p
from typing import Final, NamedTuple


class Step(NamedTuple):
    """One message of a transcript.

    Attributes:
        agent: who spoke.
        text: what was said.
        to: whom it instructs, where the transcript says so; such a speaker is a coordinator.
    """

    agent: str
    text: str
    to: str = ""


class Blame(NamedTuple):
    """A step that may be the first mistake.

    Attributes:
        step: its number from 0.
        agent: who spoke.
        share: how likely it is, by the weights; all shares of a run sum to 1.
        reasons: what speaks for it, the strongest first.
    """

    step: int
    agent: str
    share: float
    reasons: tuple[str, ...]


_WORD: Final = re.compile(r"[a-z0-9']+")
_COMMON: Final = frozenset(
    [
        "the",
        "a",
        "an",
        "of",
        "to",
        "in",
        "and",
        "or",
        "for",
        "on",
        "is",
        "are",
        "was",
        "were",
        "be",
        "by",
        "with",
        "that",
        "this",
        "it",
        "as",
        "at",
        "from",
        "i",
        "you",
        "we",
        "will",
        "let",
        "us",
        "s",
        "your",
        "our",
        "have",
        "has",
        "not",
        "if",
        "can",
        "which",
        "what",
        "how",
        "many",
    ]
)
_NUMBER: Final = re.compile(r"\d[\d,.]*")
_FAILED: Final = re.compile(r"exitcode: [1-9]|Traceback \(most recent call last\)")
_WORKED: Final = re.compile(r"exitcode: 0")
_OUTPUT_OF: Final = re.compile(r"terminal|executor|interpreter", re.IGNORECASE)
_MADE_UP: Final = re.compile(
    r"\b(?:assum\w+|hypothetic\w*|simulat\w+|sample data|placeholder|for (?:the sake of|demonstration|illustrat\w+)|manual(?:ly)?"
    r"|based on (?:my|general|current|common|available) \w*\s?knowledge|dummy|mock|example data|typical(?:ly)?|replace (?:it|this|with)"
    r"|your_\w+|path/to)\b",
    re.IGNORECASE,
)
_CLAIMS: Final = re.compile(
    r"\b(?:here (?:is|are)|we can conclude|according to|therefore|the (?:answer|result)|confirm(?:s|ed)?|identified|is called|retrieved"
    r"|found)\b",
    re.IGNORECASE,
)

_WEIGHTS: Final = {
    "output": (-1.09, ""),
    "plan": (0.3, "the plan itself"),
    "plan_code": (0.73, "the plan already holds the code"),
    "plan_off": (1.37, "the plan leaves out what the task asks for"),
    "first_code": (0.68, "the first one to act wrote code"),
    "code_failed": (1.51, "its code failed"),
    "made_up": (1.06, "it assumes or makes things up"),
    "new_numbers": (0.58, "numbers that nothing before it gave"),
    "claim": (0.37, "it states a result without showing where it comes from"),
    "first_claim": (0.64, "the first result that was stated"),
    "after_success": (-0.58, "it reads the output of code that ran"),
    "after_failure": (-0.47, "it answers a failure"),
}
"""Of each signal its weight, and what it says when it speaks for a step."""

_COORDINATOR: Final = -3.0
_LATER: Final = -0.3


def blame(steps: Sequence[Step], task: str = "") -> list[Blame]:
    """The steps of a failed run, the likeliest first mistake first.

    Args:
        steps: of the transcript, the task or plan first.
        task: what was asked, where it does not stand in the first step.
    """
    found = _coordinated(steps) if any(step.to for step in steps) else _judged(steps, task)
    ranked = [(weight, number, reasons) for number, (weight, reasons) in enumerate(found)]
    top = max((weight for weight, _, _ in ranked), default=0.0)
    total = sum(exp(weight - top) for weight, _, _ in ranked)
    made = [Blame(number, steps[number].agent, exp(weight - top) / total, reasons) for weight, number, reasons in ranked]
    return sorted(made, key=lambda each: (-each.share, each.step))


def _judged(steps: Sequence[Step], task: str) -> Iterator[tuple[float, tuple[str, ...]]]:
    """Weight and reasons of each step."""
    for signals in signals_of(steps, task):
        parts = {name: _WEIGHTS[name][0] * value for name, value in signals.items() if value}
        reasons = [_WEIGHTS[name][1] for name in sorted(parts, key=lambda name: -parts[name]) if parts[name] > 0]
        yield sum(parts.values()), tuple(reasons)


def signals_of(steps: Sequence[Step], task: str = "") -> list[dict[str, float]]:
    """The signals of each step, by the names of the weights."""
    asked, known = set(_words(task or (steps[0].text if steps else ""))), set(_NUMBER.findall(task))
    acted = claimed = False
    found = []
    for number, step in enumerate(steps):
        output, code = bool(_OUTPUT_OF.search(step.agent)), "```" in step.text
        before = steps[number - 1].text[:200] if number else ""
        after = steps[number + 1].text[:200] if number + 1 < len(steps) else ""
        numbers = set(_NUMBER.findall(step.text))
        acts = number > 0 and not output
        claim = acts and not code and bool(_CLAIMS.search(step.text))
        found.append(
            {
                "output": float(output),
                "plan": float(number == 0),
                "plan_code": float(number == 0 and code),
                "plan_off": 0.0 if number else 1 - len(asked & set(_words(step.text))) / max(1, len(asked)),
                "first_code": float(acts and code and not acted),
                "code_failed": float(code and bool(_FAILED.search(after))),
                "made_up": float(acts and bool(_MADE_UP.search(step.text))),
                "new_numbers": log1p(len(numbers - known)) if acts and not code else 0.0,
                "claim": float(claim),
                "first_claim": float(claim and not claimed),
                "after_success": float(not code and bool(_WORKED.search(before))),
                "after_failure": float(bool(_FAILED.search(before))),
            }
        )
        known |= numbers
        acted, claimed = acted or acts, claimed or claim
    return found


def _coordinated(steps: Sequence[Step]) -> list[tuple[float, tuple[str, ...]]]:
    """Where one agent instructs the others: those who act are looked at first, the earlier ones before the later."""
    coordinators = {step.agent for step in steps if step.to}
    found: list[tuple[float, tuple[str, ...]]] = []
    acted = 0
    for number, step in enumerate(steps):
        if step.agent in coordinators or number == 0:
            found.append((_COORDINATOR + _LATER * acted, ()))
        else:
            found.append((_LATER * acted, (f"action {acted + 1} of those that the run rests on",)))
            acted += 1
    return found


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in _COMMON]
