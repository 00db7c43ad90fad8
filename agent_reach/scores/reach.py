"""ToolReach, KnowledgeReach, TaskReach and the ReachScore made of them (definitions, section 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import fsum
from typing import Any

from agent_reach.contracts import Thresholds, Weights
from agent_reach.events import Band
from agent_reach.scores.tally import RetrievalCounts, Tally, UnitCounts


@dataclass(frozen=True, slots=True)
class ReachScore:
    """Scores from 0 to 1; None where a link had no event.

    Attributes:
        tool, knowledge, task: the links.
        total: 0.4 × tool + 0.3 × knowledge + 0.3 × task by default; a link that is absent gives its weight to the others.
        band: of the total, `""` when there is none.
        first_tool: ToolReach on first attempts alone: the difference is what compensation added.
        bands: of each link.
    """

    tool: float | None
    knowledge: float | None
    task: float | None
    total: float | None
    band: Band
    first_tool: float | None
    bands: Mapping[str, Band]


def band_of(score: float | None, thresholds: Thresholds) -> Band:
    """`healthy`, `degraded` or `broken`, compared after rounding to nine decimals; `""` for no score."""
    if score is None:
        return ""
    rounded = round(score, 9)
    if rounded >= thresholds.healthy:
        return "healthy"
    return "degraded" if rounded >= thresholds.degraded else "broken"


def unit_reach(needs: int, reached: int, taken: int, penalty: float = 0.2) -> float:
    """max(0, reached / needs − penalty × taken) of one task unit.

    Raises:
        ZeroDivisionError: the unit has no needs, hence no ToolReach.
    """
    return max(0.0, reached / needs - penalty * taken)


def retrieval_reach(counts: RetrievalCounts) -> float:
    """0.5 × Recall + 0.5 × SemanticHit of one retrieval with `ideal` > 0, with a single division."""
    if not counts.retrieved:
        return 0.0
    recalled = min(counts.relevant, counts.ideal) * counts.retrieved
    return (recalled + counts.admitted * counts.ideal) / (2 * counts.ideal * counts.retrieved)


def _weighted(rows: Iterable[tuple[float, int]]) -> float | None:
    """Mean of (value, weight) rows, exactly rounded so that the order of adding cannot matter."""
    kept = [(value, weight) for value, weight in rows if weight]
    total = sum(weight for _, weight in kept)
    return fsum(value * weight for value, weight in kept) / total if total else None


def tool_reach(units: Mapping[UnitCounts, int], penalty: float, *, first: bool = False) -> float | None:
    """Needs-weighted mean over units; with `first`, of what the first attempts reached."""
    return _weighted(
        (unit_reach(u.needs, u.first_reached if first else u.reached, u.taken, penalty), u.needs * n)
        for u, n in units.items()
        if u.needs
    )


def knowledge_reach(retrievals: Mapping[RetrievalCounts, int]) -> float | None:
    """Mean over retrievals that should have brought something."""
    return _weighted((retrieval_reach(r), n) for r, n in retrievals.items() if r.ideal)


def task_reach(tally: Tally) -> float | None:
    """Complete handoffs / handoffs."""
    return tally.complete / tally.handoffs if tally.handoffs else None


def total_reach(tool: float | None, knowledge: float | None, task: float | None, weights: Weights) -> float | None:
    """The ReachScore of three link figures; None when all are absent."""
    if tool is None and knowledge is None and task is None:
        return None
    if weights.absent == "full":
        tool, knowledge, task = (1.0 if link is None else link for link in (tool, knowledge, task))
    share: dict[str, float] = {"tool": weights.tool, "knowledge": weights.knowledge, "task": weights.task}
    links = {"tool": tool, "knowledge": knowledge, "task": task}
    if task is None and knowledge is not None:
        share["knowledge"] += share.pop("task")
    present = {name: value for name, value in links.items() if value is not None}
    whole = fsum(share[name] for name in present)
    if len(present) == 1 or not whole:
        return next(iter(present.values())) if whole else None
    total = fsum(share[name] * value for name, value in present.items())
    return total if whole == 1.0 else total / whole


def reach_score(tally: Tally, weights: Weights, thresholds: Thresholds) -> ReachScore:
    """The figures of any tally: a session's, an agent's or a fleet's."""
    tool = tool_reach(tally.units, weights.taken_penalty)
    knowledge, task = knowledge_reach(tally.retrievals), task_reach(tally)
    total = total_reach(tool, knowledge, task, weights)
    bands = {
        name: band_of(value, thresholds)
        for name, value in (("tool", tool), ("knowledge", knowledge), ("task", task))
        if value is not None
    }
    first = tool_reach(tally.units, weights.taken_penalty, first=True)
    return ReachScore(tool, knowledge, task, total, band_of(total, thresholds), first, bands)


def to_record(score: ReachScore) -> dict[str, Any]:
    """The figures by name, as in `agent-reach score --json`."""
    return {
        "score": score.total,
        "tool": score.tool,
        "knowledge": score.knowledge,
        "task": score.task,
        "band": score.band or None,
    }
