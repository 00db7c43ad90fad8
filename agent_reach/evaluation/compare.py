"""Several agents on the same tasks: differences with paired tests (definitions, section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any, Final, NamedTuple

from agent_reach.errors import ReachError
from agent_reach.evaluation.bootstrap import clustered_interval, difference_interval, paired_p, unpaired_p
from agent_reach.evaluation.results import Results
from agent_reach.scores.figures import Figures
from agent_reach.scores.several import FEWEST
from agent_reach.scores.stats import Interval

COMPARED: Final = ("gate", "composite", "depth", "purity", "digestion", "effects F1")
_ALPHA: Final = 0.05


class Difference(NamedTuple):
    """One figure of an agent against the first one's.

    Attributes:
        figure: which.
        before, after: mean of the task means.
        interval: 95 % of the difference, tasks drawn as a whole; with one task its runs.
        p: of a sign-flip test over tasks; with one task of a permutation of its runs.
        tasks: that both ran.
        verdict: `better` or `worse` where p is under 0.05, `insufficient runs` under five runs of a task, else `no evidence`.
    """

    figure: str
    before: float
    after: float
    interval: Interval | None
    p: float
    tasks: int
    verdict: str


def value_of(figure: str, found: Figures) -> float | None:
    """A compared figure of one run."""
    if figure == "effects F1":
        return found.effects.f1
    value = getattr(found, figure)
    return None if value is None else float(value)


def compare(first: Results, second: Results) -> list[Difference]:
    """Each figure, on the tasks that both agents ran.

    Raises:
        ReachError: they share no task, or a task has another version in each.
    """
    versions = {each.name: each.version for each in first.topologies}
    shared = [each.name for each in second.topologies if each.name in versions]
    if not shared:
        others = [each.name for each in second.topologies]
        raise ReachError(f"{first.agent} and {second.agent}: no task in common; found {sorted(versions)} and {others}")
    if other := [each.name for each in second.topologies if each.name in shared and each.version != versions[each.name]]:
        raise ReachError(f"task {other[0]!r}: the agents ran different versions of it")
    few = any(len(results.runs[name]) < FEWEST for results in (first, second) for name in shared)
    found = [_difference(figure, first, second, shared, few) for figure in COMPARED]
    return [each for each in found if each is not None]


def _difference(figure: str, first: Results, second: Results, tasks: Sequence[str], few: bool) -> Difference | None:
    before = {name: _values(first, name, figure) for name in tasks}
    after = {name: _values(second, name, figure) for name in tasks}
    both = [name for name in tasks if before[name] and after[name]]
    if not both:
        return None
    differences = [fmean(after[name]) - fmean(before[name]) for name in both]
    if len(both) == 1:
        p = unpaired_p(before[both[0]], after[both[0]])
        interval: Interval | None = difference_interval(before[both[0]], after[both[0]])
    else:
        p = paired_p(differences)
        interval = clustered_interval([[difference] for difference in differences])
    change = fmean(differences)
    verdict = "insufficient runs" if few else "no evidence" if p >= _ALPHA else "better" if change > 0 else "worse"
    return Difference(
        figure,
        fmean(fmean(before[name]) for name in both),
        fmean(fmean(after[name]) for name in both),
        interval,
        p,
        len(both),
        verdict,
    )


def _values(results: Results, task: str, figure: str) -> list[float]:
    return [value for _, found in results.runs[task] if (value := value_of(figure, found)) is not None]


def means(results: Results) -> dict[str, float | None]:
    """Mean of each compared figure over all runs."""
    found: dict[str, float | None] = {}
    for figure in COMPARED:
        known = [value for _, each in results.all_runs if (value := value_of(figure, each)) is not None]
        found[figure] = fmean(known) if known else None
    return found


def to_record(compared: Sequence[tuple[str, Sequence[Difference]]]) -> list[dict[str, Any]]:
    """As JSON-ready values, an object an agent."""
    return [{"agent": agent, "differences": [each._asdict() for each in differences]} for agent, differences in compared]
