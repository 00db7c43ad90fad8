"""How long a report of 10,000 runs over a graph of 200 nodes takes, and how large the HTML of 100 runs is.

Runs walk the graph with seeded dice: most do what is next, some fail, repeat themselves or stop.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from random import Random
from time import perf_counter

from agent_reach.contracts.topology import Topology
from agent_reach.evaluation.report import write_report
from agent_reach.evaluation.results import Results
from agent_reach.scores.trace import Action, Trace, Try

NODES, RUNS, SMALL = 200, 10_000, 100


def topology():
    kinds = ["must"] * 13 + ["optional"] * 4 + ["fallback"] * 3
    nodes = []
    for number in range(NODES):
        before = [f"node-{number - back}" for back in (1, 7) if number >= back and number % 5]
        nodes.append({"id": f"node-{number}", "type": kinds[number % 20], "depends_on": before, "tools": [f"tool-{number}"]})
    return Topology(name="large", version="1", nodes=nodes)


def trace(number, dice):
    actions, text = [], json.dumps({"order_id": "A-1001", "item": "kettle", "status": "shipped", "amount": 39.0}) * 3
    for node in range(NODES):
        if dice.random() < 0.01:
            break
        well = dice.random() < 0.95
        tool = f"tool-{node}"
        tries = (Try(tool, "ok"),) if well else (Try(tool, "fail"),) * 2
        done = (f"node-{node}",) if well else ()
        actions.append(
            Action("call", tool, "agent", tries[-1].status, time=node * 10**8, arguments='{"order_id": "A-1001"}',
                   answer=text[:300], fingerprint=str(node), read=True, tries=tries, done=done)
        )  # fmt: skip
    return Trace("large", number, tuple(actions), tokens=1_000 + number, latency=10**10)


def main():
    dice, graph = Random(1), topology()
    traces = [trace(number, dice) for number in range(1, RUNS + 1)]
    with tempfile.TemporaryDirectory() as folder:
        begun = perf_counter()
        write_report(Results([graph], traces, agent="walker"), folder)
        seconds = perf_counter() - begun
        size = {file.name: file.stat().st_size for file in Path(folder).iterdir()}
        print(f"{RUNS} runs, {sum(len(t.actions) for t in traces)} actions: {size}", file=sys.stderr)
        write_report(Results([graph], traces[:SMALL], agent="walker"), folder)
        megabytes = (Path(folder) / "report.html").stat().st_size / 1e6
    print(json.dumps({"seconds": round(seconds, 1), "html_mb": round(megabytes, 2)}))


if __name__ == "__main__":
    main()
