"""The figures of an evaluation as one JSON-ready object: what every report shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agent_reach.contracts.topology import Topology
from agent_reach.evaluation.bootstrap import clustered_interval
from agent_reach.evaluation.results import Results
from agent_reach.scores.broke import Break, breaks, first_break
from agent_reach.scores.figures import Figures, to_record
from agent_reach.scores.several import (
    FEWEST,
    Run,
    endings,
    is_risky,
    judge,
    node_rates,
    passes,
    sensitivity,
    spread,
    stage_curve,
    tool_uses,
)
from agent_reach.scores.stats import wilson
from agent_reach.scores.trace import Trace, Workers

SPREADS: Final = ("composite", "depth", "purity", "digestion", "completion", "gate_score", "optional", "fallback", "per_thousand")
_BLAMED: Final = 3


def summary(results: Results, *, min_gate: float | None = None) -> dict[str, Any]:
    """Figures of all runs together and of each task.

    Args:
        results: of the evaluation.
        min_gate: share of runs that has to pass; adds a verdict.
    """
    runs = results.all_runs
    found: dict[str, Any] = {
        "agent": results.agent,
        "preset": results.preset,
        "tasks": len(results.topologies),
        "runs": len(runs),
        "notes": _notes(results),
        "broken": list(results.broken),
    }
    if not runs:
        return {**found, "by_task": []}
    by_task = [[figures for _, figures in results.runs[each.name]] for each in results.topologies]
    found["composite"] = {
        **spread(figures.composite for _, figures in runs)._asdict(),
        "interval": clustered_interval([[figures.composite for figures in group] for group in by_task]),
    }
    found["gate"] = _gate(runs, min_gate)
    found["gate"]["interval_by_task"] = clustered_interval([[float(figures.gate) for figures in group] for group in by_task])
    found["by_task"] = [_task(topology, results.runs[topology.name], min_gate) for topology in results.topologies]
    return found


def falls_short(record: Mapping[str, Any], limit: float) -> bool:
    """A smaller share of the runs than the limit passed, or runs could not be made at all.

    Args:
        record: what `summary` gave.
        limit: share of runs that has to pass.
    """
    return bool(record["broken"]) or not record["runs"] or record["gate"]["share"] < limit


def _gate(runs: Sequence[Run], limit: float | None) -> dict[str, Any]:
    passed = sum(figures.gate for _, figures in runs)
    found: dict[str, Any] = {"passed": passed, "share": passed / len(runs), "interval": wilson(passed, len(runs))}
    if limit is not None:
        judged = judge(passed, len(runs), limit)
        found |= {"limit": limit, "verdict": judged.verdict, "settled_by": judged.settled_by}
    return found


def _task(topology: Topology, runs: list[Run], min_gate: float | None) -> dict[str, Any]:
    if not runs:
        return {"task": topology.name, "version": topology.version, "runs": 0}
    figures = [each for _, each in runs]
    workers = Workers(topology)
    broke = [breaks(topology, trace, each, workers) for trace, each in runs]
    return {
        "task": topology.name,
        "version": topology.version,
        "runs": len(runs),
        **{name: spread(getattr(each, name) for each in figures)._asdict() for name in SPREADS},
        "gate": _gate(runs, min_gate),
        "pass_power": passes(runs),
        "high_risk": is_risky(topology, runs),
        "left_at": dict(Counter(each.left_at for each in figures if each.left_at)),
        "ended": endings(runs),
        "nodes": [rate._asdict() for rate in node_rates(topology, runs)],
        "stages": stage_curve(topology, runs),
        "sensitivity": [each._asdict() for each in sensitivity(runs)],
        "effects": {name: spread(getattr(each.effects, name) for each in figures).mean for name in ("precision", "recall", "f1")},
        "obstacles": {name: sum(getattr(each, name) for each in figures) for name in ("obstacles", "digested", "detours", "stuck")},
        "faults": {"planned": sum(len(t.faults) for t, _ in runs), "landed": sum(len(t.landed) for t, _ in runs)},
        "handoffs": {name: sum(getattr(each.handoffs, name) for each in figures) for name in ("handoffs", "complete", "taken_up")}
        | {"delay": spread(each.handoffs.delay for each in figures).mean},
        "tokens": {
            "total": sum(trace.tokens for trace, _ in runs), "per_node": spread(each.tokens_per_node for each in figures).mean,
        },
        "price": {"total": sum(trace.price for trace, _ in runs), "per_node": spread(each.price_per_node for each in figures).mean},
        "open_nodes": {"added": sum(len(t.added) for t, _ in runs), "done": sum(len(t.added_done) for t, _ in runs)},
        "causes": causes(broke),
        "tools": [use._asdict() for use in tool_uses(runs)],
        "left_out": dict(Counter(part for each in figures for part in each.left_out)),
        "lint": topology.lint(),
        "by_run": [_run(trace, each, ranked) for (trace, each), ranked in zip(runs, broke, strict=True)],
    }  # fmt: skip


def _run(trace: Trace, figures: Figures, ranked: Sequence[Break]) -> dict[str, Any]:
    return {
        "run": trace.run, "ended": trace.ended, "reason": trace.reason, "tokens": trace.tokens, "seconds": trace.latency / 1e9,
        **to_record(figures), "faults": trace.faults, "landed": trace.landed, "refused": dict(trace.refused),
        "broke": [each._asdict() for each in ranked[:_BLAMED]],
    }  # fmt: skip


def causes(broke: Sequence[Sequence[Break]]) -> dict[str, int]:
    """Why runs failed: the cause of the first link that broke, the most frequent first."""
    found: Counter[str] = Counter()
    for ranked in broke:
        first = first_break(ranked)
        if first is not None:
            found[f"{first.cause}{': ' + first.tool if first.tool else ''}"] += 1
    return dict(found.most_common())


def _notes(results: Results) -> list[str]:
    """What to know before the figures are believed."""
    found = []
    for topology in results.topologies:
        runs = results.runs[topology.name]
        if len(runs) < FEWEST:
            found.append(f"{topology.name}: {len(runs)} runs; under {FEWEST} nothing can be concluded")
        left_out = Counter(part for _, figures in runs for part in figures.left_out)
        for part, times in left_out.items():
            found.append(f"{topology.name}: {part} is undefined in {times} of {len(runs)} runs and left out of their composite")
        planned = sum(len(trace.faults) for trace, _ in runs)
        landed = sum(len(trace.landed) for trace, _ in runs)
        if planned and not landed:
            found.append(f"{topology.name}: no fault landed: are the tools wrapped by `reach` in the agent's factory?")
        refused = {f"{id}: {said}" for trace, _ in runs for id, said in trace.refused.items()}
        found += [f"{topology.name}: {each}" for each in sorted(refused)]
    return found
