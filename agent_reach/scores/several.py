"""Figures over several runs: what can be said of an agent, and how surely (definitions, section 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from typing import Final, Literal, NamedTuple

from agent_reach.contracts.topology import Topology
from agent_reach.scores.depth import high_risk, pass_power
from agent_reach.scores.figures import Figures
from agent_reach.scores.stats import Interval, wilson
from agent_reach.scores.trace import Trace

FEWEST: Final = 5
"""Runs below which nothing is concluded."""
MOST_ASKED: Final = 10_000

Verdict = Literal["passed", "failed", "insufficient runs"]
Run = tuple[Trace, Figures]


class Spread(NamedTuple):
    """Mean and standard deviation (of a sample) of a figure over the runs that have it.

    Attributes:
        n: these runs.
        mean, deviation: None without a run, and with fewer than two.
    """

    n: int
    mean: float | None
    deviation: float | None


class NodeRate(NamedTuple):
    """How often a node was done."""

    node: str
    type: str
    level: int
    done: int
    runs: int
    interval: Interval


class Judged(NamedTuple):
    """A share against a limit.

    Attributes:
        verdict: `insufficient runs` where the interval straddles the limit, or there are fewer than five runs.
        settled_by: runs that would settle it if the share stayed; None when none up to 10,000 would, or it is settled.
    """

    passed: int
    runs: int
    interval: Interval
    verdict: Verdict
    settled_by: int | None


def spread(values: Iterable[float | None]) -> Spread:
    """Of the values that are known."""
    known = [value for value in values if value is not None]
    if not known:
        return Spread(0, None, None)
    mean = sum(known) / len(known)
    deviation = sqrt(sum((value - mean) ** 2 for value in known) / (len(known) - 1)) if len(known) > 1 else None
    return Spread(len(known), mean, deviation)


def judge(passed: int, runs: int, limit: float) -> Judged:
    """A share of passes against a limit, by Wilson's 95 % interval.

    Raises:
        ValueError: there is no run, or the limit is no share.
    """
    if not 0 <= limit <= 1:
        raise ValueError(f"expected a limit from 0 to 1, found {limit!r}")
    found = wilson(passed, runs)
    verdict = _against(found, limit) if runs >= FEWEST else "insufficient runs"
    more = _settling(passed / runs, runs, limit) if verdict == "insufficient runs" else None
    return Judged(passed, runs, found, verdict, more)


def _against(interval: Interval, limit: float) -> Verdict:
    if interval.low >= limit:
        return "passed"
    return "failed" if interval.high < limit else "insufficient runs"


def _settling(share: float, runs: int, limit: float) -> int | None:
    """The fewest runs at which the interval around the same share no longer straddles the limit."""
    low, high = max(runs, FEWEST), MOST_ASKED
    if _against(wilson(round(share * high), high), limit) == "insufficient runs":
        return None
    while low < high:
        middle = (low + high) // 2
        if _against(wilson(round(share * middle), middle), limit) == "insufficient runs":
            low = middle + 1
        else:
            high = middle
    return low


def node_rates(topology: Topology, runs: Sequence[Run]) -> list[NodeRate]:
    """Of each node, the share of the runs in which it counts that reached it."""
    done: Counter[str] = Counter()
    present: Counter[str] = Counter()
    for trace, _ in runs:
        reached = trace.done
        counts = topology.present(reached)
        done.update(reached)
        present.update(node.id for node in topology.nodes if node.id in counts or node.type != "must" or node.id in reached)
    return [
        NodeRate(
            node.id, node.type, topology.levels.get(node.id, 0), done[node.id], present[node.id],
            wilson(min(done[node.id], present[node.id]), present[node.id]),
        )
        for node in topology.nodes if present[node.id]
    ]  # fmt: skip


def passes(runs: Sequence[Run]) -> dict[int, float]:
    """pass^k for every k up to the number of runs."""
    good = sum(figures.gate for _, figures in runs)
    return {k: pass_power(good, len(runs), k) for k in range(1, min(len(runs), 20) + 1)}


def stages(topology: Topology) -> dict[str, str]:
    """`early`, `middle` or `late` for each must-node: the thirds of the levels."""
    names = ("early", "middle", "late")
    top = topology.highest
    return {id: names[min(2, (level - 1) * 3 // top)] for id, level in topology.levels.items()}


class Sensitivity(NamedTuple):
    """How runs fared in which a fault of a stage landed, against those in which none of that stage did.

    Attributes:
        hit, others: these runs; `difference` of their mean composite is None when one of them is empty.
    """

    stage: str
    hit: int
    others: int
    difference: float | None


def sensitivity(runs: Sequence[Run]) -> list[Sensitivity]:
    """By stage; a fault names its stage after `@`."""
    found = []
    for stage in ("early", "middle", "late"):
        hit = [figures.composite for trace, figures in runs if any(fault.endswith(f"@{stage}") for fault in trace.landed)]
        rest = [figures.composite for trace, figures in runs if not any(fault.endswith(f"@{stage}") for fault in trace.landed)]
        difference = sum(hit) / len(hit) - sum(rest) / len(rest) if hit and rest else None
        found.append(Sensitivity(stage, len(hit), len(rest), difference))
    return found


def stage_curve(topology: Topology, runs: Sequence[Run]) -> list[tuple[int, float]]:
    """Of each level, the share of its must-nodes that were done, over all runs."""
    by_level: dict[int, list[str]] = {}
    for id, level in topology.levels.items():
        by_level.setdefault(level, []).append(id)
    done: Counter[int] = Counter()
    present: Counter[int] = Counter()
    for trace, _ in runs:
        reached = trace.done
        counts = topology.present(reached)
        for level, ids in by_level.items():
            done[level] += sum(id in reached and id in counts for id in ids)
            present[level] += sum(id in counts for id in ids)
    return [(level, done[level] / present[level]) for level in sorted(by_level) if present[level]]


class ToolUse(NamedTuple):
    """What became of the calls of a tool.

    Attributes:
        calls, attempts: and executions of them.
        ok, failed, empty: calls by their last word.
        faults: executions that an injected fault hit.
    """

    tool: str
    calls: int
    attempts: int
    ok: int
    failed: int
    empty: int
    faults: int


def tool_uses(runs: Sequence[Run]) -> list[ToolUse]:
    """By tool, the most called first."""
    counts: dict[str, Counter[str]] = {}
    for trace, _ in runs:
        for action in trace.actions:
            if action.kind == "call":
                count = counts.setdefault(action.name, Counter())
                count["calls"] += 1
                count["attempts"] += len(action.tries)
                count[action.status] += 1
                count["faults"] += sum(bool(each.fault) for each in action.tries)
    found = [
        ToolUse(tool, c["calls"], c["attempts"], c["ok"], c["fail"], c["empty_alias"], c["faults"]) for tool, c in counts.items()
    ]
    return sorted(found, key=lambda use: (-use.calls, use.tool))


def is_risky(topology: Topology, runs: Sequence[Run]) -> bool:
    """High risk, whatever the composite says."""
    return high_risk(topology, [trace.done for trace, _ in runs])


def endings(runs: Sequence[Run]) -> Mapping[str, int]:
    """How runs ended, the most frequent first."""
    return dict(Counter(trace.ended for trace, _ in runs).most_common())
