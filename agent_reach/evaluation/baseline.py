"""Baselines of reach rates, and whether a later run on the same conversations drifted from one (definitions, section 4)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import comb, sqrt
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from agent_reach.errors import FormatError, ReachError, briefly
from agent_reach.events import Decision, Event, UnitClosed
from agent_reach.scores.rate import Rate, rate_of
from agent_reach.scores.stats import Z95, Interval
from agent_reach.scores.steps import StepOutcome

COMPARED: Final = ("candidate", "precise", "first")
FIRST_VALUES: Final = {"simple": 0.9, "multi-step": 0.7}
"""What candidate reach is held against before there is a baseline: intents with one step, and with several."""

_VERSION: Final = 1
_ENOUGH: Final = 10

Verdict = Literal["no evidence", "drift", "gain", "insufficient data", "below", "reached"]


class Pair(NamedTuple):
    """One step of one unit of one conversation."""

    session: str
    unit: int
    intent: str
    tool: str


@dataclass(slots=True)
class Baseline:
    """What a run came to, pair by pair; a sink for its events.

    Attributes:
        routes, models, prompts: versions of the route table, names of the models, hashes of the system prompts that were seen.
        pairs: candidate, precise, first (0 or 1 each) of every pair of a unit and a step.
    """

    routes: set[str] = field(default_factory=set)
    models: set[str] = field(default_factory=set)
    prompts: set[str] = field(default_factory=set)
    pairs: dict[Pair, tuple[int, ...]] = field(default_factory=dict)

    def observe(self, event: Event) -> None:
        """Take in one event."""
        if isinstance(event, Decision):
            self.models |= {event.model} - {""}
            self.prompts |= {event.prompt_hash} - {""}
        elif isinstance(event, UnitClosed) and event.steps:
            self.routes.add(event.route_version)
            for text in event.steps:
                step = StepOutcome.from_text(text)
                pair = Pair(event.session, event.unit, event.intent, step.tool)
                self.pairs[pair] = (int(step.candidate), int(step.precise), int(step.first))

    def rate(self, intent: str, figure: str) -> Rate:
        """A figure of one intent.

        Raises:
            ValueError: the figure is not compared.
        """
        column = COMPARED.index(figure)
        values = [flags[column] for pair, flags in self.pairs.items() if pair.intent == intent]
        return rate_of(sum(values), len(values))

    @property
    def intents(self) -> list[str]:
        """In alphabetical order."""
        return sorted({pair.intent for pair in self.pairs})

    def save(self, path: str | Path) -> None:
        """Write it as JSON.

        Raises:
            ReachError: the file cannot be written.
        """
        record = {
            "v": _VERSION,
            "routes": sorted(self.routes),
            "models": sorted(self.models),
            "prompts": sorted(self.prompts),
            "intents": {intent: {f: self.rate(intent, f).to_record() for f in COMPARED} for intent in self.intents},
            "pairs": [[*pair, *flags] for pair, flags in sorted(self.pairs.items())],
        }
        try:
            Path(path).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise ReachError(f"{path}: cannot be written: {error.strerror}") from None

    @classmethod
    def load(cls, path: str | Path) -> Baseline:
        """The inverse of `save`.

        Raises:
            FormatError: it is no baseline of this version.
        """
        try:
            record = json.loads(Path(path).read_text(encoding="utf-8"))
            if record["v"] != _VERSION:
                raise FormatError(str(path), None, "v", f"version {_VERSION}, found {record['v']!r}")
            made = cls(set(record["routes"]), set(record["models"]), set(record["prompts"]))
            for number, (session, unit, intent, tool, *flags) in enumerate(record["pairs"]):
                if len(flags) != len(COMPARED) or not set(flags) <= {0, 1}:
                    raise FormatError(str(path), number, "pairs", f"{len(COMPARED)} times 0 or 1, found {flags}")
                made.pairs[Pair(session, unit, intent, tool)] = tuple(flags)
        except OSError as error:
            raise FormatError(str(path), None, "", f"a readable file ({error.strerror})") from None
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError(str(path), None, "", f"a file that `agent-reach baseline save` wrote ({briefly(error)})") from None
        return made


class Finding(NamedTuple):
    """What became of a figure of an intent.

    Attributes:
        intent, figure: which.
        before, after: its values on the pairs that both runs have; `before` is the first value where there is no baseline.
        n: those pairs.
        difference: after − before, with its 95 % interval.
        p: of McNemar's exact test; None without a baseline.
        verdict: `drift` is a drop whose interval excludes zero, `gain` a rise; `insufficient data` under ten pairs. Without a
            baseline `below` or `reached`.
    """

    intent: str
    figure: str
    before: float
    after: float | None
    n: int
    difference: Interval | None
    p: float | None
    verdict: Verdict


def compare(before: Baseline, after: Baseline) -> list[Finding]:
    """Each compared figure of each intent, on the pairs that both runs have.

    Raises:
        ReachError: the route tables have different versions, whose figures are never compared silently, or the runs share no
            conversation.
    """
    if before.routes != after.routes:
        versions = [", ".join(sorted(run.routes)) or "none" for run in (before, after)]
        raise ReachError(
            f"baseline: route table version {versions[0]}, new run: {versions[1]}; save a baseline with the new table first"
        )
    sessions = [{pair.session for pair in run.pairs} for run in (before, after)]
    if all(sessions) and not sessions[0] & sessions[1]:
        first, second = (min(names) for names in sessions)
        raise ReachError(f"baseline: no conversation in common: the sessions are named like {first!r} and {second!r}")
    shared: dict[str, list[Pair]] = defaultdict(list)
    for pair in before.pairs.keys() & after.pairs.keys():
        shared[pair.intent].append(pair)
    found = []
    for intent in sorted({*before.intents, *after.intents}):
        for column, figure in enumerate(COMPARED):
            old = [before.pairs[pair][column] for pair in shared[intent]]
            new = [after.pairs[pair][column] for pair in shared[intent]]
            found.append(_paired(intent, figure, old, new))
    return found


def against_first_values(run: Baseline) -> list[Finding]:
    """Candidate reach of each intent against the first values, where there is no baseline yet."""
    found: list[Finding] = []
    for intent in run.intents:
        kind = "simple" if len({pair.tool for pair in run.pairs if pair.intent == intent}) == 1 else "multi-step"
        wanted, rate = FIRST_VALUES[kind], run.rate(intent, "candidate")
        verdict: Verdict = "reached"
        if rate.n < _ENOUGH or rate.interval is None:
            verdict = "insufficient data"
        elif rate.interval.high < wanted:
            verdict = "below"
        found.append(Finding(intent, "candidate", wanted, rate.value, rate.n, None, None, verdict))
    return found


def _paired(intent: str, figure: str, old: list[int], new: list[int]) -> Finding:
    n = len(old)
    if not n:
        return Finding(intent, figure, 0.0, None, 0, None, None, "insufficient data")
    lost = sum(a > b for a, b in zip(old, new, strict=True))
    won = sum(a < b for a, b in zip(old, new, strict=True))
    difference = paired_difference(lost, won, n)
    verdict: Verdict = "no evidence"
    if n < _ENOUGH:
        verdict = "insufficient data"
    elif difference.high < 0:
        verdict = "drift"
    elif difference.low > 0:
        verdict = "gain"
    return Finding(intent, figure, sum(old) / n, sum(new) / n, n, difference, mcnemar(lost, won), verdict)


def paired_difference(lost: int, won: int, n: int, z: float = Z95) -> Interval:
    """Interval of a difference of two shares on the same pairs (A. Agresti and Y. Min, 2005).

    Args:
        lost, won: pairs that were hits only before, and only after.
        n: all pairs.
        z: quantile of the normal distribution.
    """
    share = (won - lost) / (n + 2)
    margin = z * sqrt(max(0.0, (lost + won + 1) - (won - lost) ** 2 / (n + 2))) / (n + 2)
    return Interval(max(-1.0, share - margin), min(1.0, share + margin))


def mcnemar(lost: int, won: int) -> float:
    """Two-sided p-value of McNemar's exact test."""
    n = lost + won
    if not n:
        return 1.0
    tail: int = sum(comb(n, k) for k in range(min(lost, won) + 1))
    return min(1.0, 2 * tail / (1 << n))


def to_record(found: list[Finding]) -> list[Mapping[str, Any]]:
    """As JSON-ready values."""
    return [finding._asdict() for finding in found]
