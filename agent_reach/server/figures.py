"""Additive sums, as the queries give them, read as scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agent_reach.contracts import Routes
from agent_reach.events import Band
from agent_reach.scores import band_of
from agent_reach.scores.reach import total_reach

_LINKS = ("tool_sum", "needs", "knowledge_sum", "retrievals", "complete", "handoffs")


@dataclass(frozen=True, slots=True)
class Figures:
    """Link scores, the total and its band; None and `""` where nothing settled.

    Attributes:
        tool, knowledge, task, total: 0 to 1.
        bands: of each link, by name.
        band: of the total.
        n: needs, retrievals and handoffs that it stands on.
    """

    tool: float | None
    knowledge: float | None
    task: float | None
    total: float | None
    band: Band
    bands: Mapping[str, Band]
    n: Mapping[str, int]


def figures_of(sums: Mapping[str, Any], routes: Routes) -> Figures:
    """The scores of one row of sums (definitions, section 2)."""
    tool = _share(sums["tool_sum"], sums["needs"])
    knowledge = _share(sums["knowledge_sum"], sums["retrievals"])
    task = _share(sums["complete"], sums["handoffs"])
    total = total_reach(tool, knowledge, task, routes.weights)
    links = {"tool": tool, "knowledge": knowledge, "task": task}
    bands = {name: band_of(value, routes.thresholds) for name, value in links.items()}
    n = {"tool": int(sums["needs"]), "knowledge": int(sums["retrievals"]), "task": int(sums["handoffs"])}
    return Figures(tool, knowledge, task, total, band_of(total, routes.thresholds), bands, n)


def added(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The sum of rows of sums; keys that are no numbers are left out."""
    totals: dict[str, Any] = dict.fromkeys(_LINKS, 0)
    for row in rows:
        for key, value in row.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                totals[key] = totals.get(key, 0) + value
    return totals


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
