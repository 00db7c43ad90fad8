"""Candidate reach of the tools that the tasks' reference actions name, by tool and turn bucket, and how it relates to the reward.

Usage: tau_reach.py [--data FOLDER], with `tau_airline` and `tau_retail` beneath. Intervals are bootstrapped over tasks, since runs
of one task are alike. A step that was never served counts under the turn in which its unit began.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import defaultdict
from pathlib import Path

from agent_reach.contracts import Intent, Routes, Step
from agent_reach.importers.chat import events_of
from agent_reach.importers.files import read_conversations
from agent_reach.live import Session
from agent_reach.scores.rate import RateTally

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def expected_tools(file):
    """Names of the reference actions of each record, each once, in order."""
    records = json.loads(file.read_text())
    return [list(dict.fromkeys(action["name"] for action in record["info"]["task"]["actions"])) for record in records]


def read(folder, total):
    """(task, reached every expected tool, reward) of each run that expects any; rates go to `total`."""
    rows = []
    for file in sorted(f for f in folder.glob("*.json") if f.name != "tools.json"):
        for talk, tools in zip(read_conversations(file), expected_tools(file), strict=True):
            if not tools:
                continue
            steps = tuple(Step(tools=(tool,)) for tool in tools)
            first = iter(["task"])
            routes = Routes(intents={"task": Intent(steps=steps)}, classifier=lambda _text, first=first: next(first, None))
            rates = RateTally()
            for event in events_of(Session(talk.id, routes), talk.messages):
                rates.observe(event)
                total.observe(event)
            called = {cell.tool for (figure, cell), hits in rates.hits.items() if figure == "candidate" and hits}
            rows.append((talk.facts["task_id"], called >= set(tools), talk.facts["reward"] >= 1))
    return rows


def difference(rows):
    """Mean reward of runs that reached every expected tool, less that of the others; None without one of them."""
    sides = [[reward for _, reached, reward in rows if reached is side] for side in (True, False)]
    return sum(sides[0]) / len(sides[0]) - sum(sides[1]) / len(sides[1]) if all(sides) else None


def clustered(rows, draws=2_000):
    tasks, dice = defaultdict(list), random.Random(0)
    for row in rows:
        tasks[row[0]].append(row)
    names = sorted(tasks)
    found = []
    for _ in range(draws):
        value = difference([row for name in dice.choices(names, k=len(names)) for row in tasks[name]])
        found += [] if value is None else [value]
    found.sort()
    return found[len(found) // 40], found[-len(found) // 40]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    folder = parser.parse_args().data
    result = {}
    for domain in ("airline", "retail"):
        rates = RateTally()
        rows = read(folder / f"tau_{domain}", rates)
        print(f"{domain}: {len(rows)} runs with expected tools", file=sys.stderr)
        for (tool, turns), rate in rates.rates("candidate", ["tool", "turns"]).items():
            low, high = rate.interval
            print(f"  {tool:32} turns {turns:4} {rate.value:.2f} of {rate.n:3} ({low:.2f} to {high:.2f})", file=sys.stderr)
        overall = rates.overall("candidate")
        reached = sum(row[1] for row in rows) / len(rows)
        result |= {
            f"{domain}_candidate": round(overall.value, 3),
            f"{domain}_pairs": overall.n,
            f"{domain}_all_reached": round(reached, 3),
            f"{domain}_reward_difference": round(difference(rows), 3),
            f"{domain}_interval": [round(value, 3) for value in clustered(rows)],
        }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
