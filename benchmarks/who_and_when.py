"""Which step and which agent a failed multi-agent run broke at, from the transcript alone.

Usage: who_and_when.py [--data FOLDER], the folder `who_and_when` or the one above. Labels and ground truths are read only to count.
Figures are means over 20 seeded halves of the runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from random import Random
from statistics import fmean

from agent_reach.checks.blame import blame
from agent_reach.importers.transcripts import read_transcripts

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "who_and_when"
HALVES = 20


def judged(folder):
    """Of each run whether step and agent are right, and whether the step is among the first three."""
    for file in sorted(folder.glob("*.json")):
        for run in read_transcripts(file):
            ranked = blame(run.steps, run.task)
            step, agent = int(run.record["mistake_step"]), run.record["mistake_agent"]
            yield ranked[0].step == step, ranked[0].agent == agent, step in [each.step for each in ranked[:3]]


def halved(rows):
    """Mean over seeded halves of each column."""
    dice = Random(0)
    halves = [dice.sample(rows, len(rows) // 2) for _ in range(HALVES)]
    return [
        round(fmean(fmean(column) for column in columns), 3)
        for columns in zip(*(zip(*half, strict=True) for half in halves), strict=True)
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    folder = parser.parse_args().data
    folder = folder / "who_and_when" if (folder / "who_and_when").is_dir() else folder
    result = {}
    for part, name in (("algorithm-generated", "algorithm"), ("hand-crafted", "handcrafted")):
        rows = list(judged(folder / part))
        step, agent, top3 = halved(rows)
        whole = [round(fmean(column), 3) for column in zip(*rows, strict=True)]
        print(f"{part}: {len(rows)} runs; step, agent, top three over all of them: {whole}", file=sys.stderr)
        result |= {f"{name}_step": step, f"{name}_agent": agent, f"{name}_top3": top3}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
