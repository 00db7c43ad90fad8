"""How well a conversation's own signals tell whether it ended well, without any reference: on halves of the tasks.

Usage: live_signals.py [--data FOLDER] [--splits N], with `tau_airline` and `tau_retail` beneath. All that is fitted is fitted on
one half of the tasks and judged on the other. The baseline is a logistic model with a ridge on twelve naive signals.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter, defaultdict
from math import log1p
from pathlib import Path

from agent_reach.checks.signals import NAMES, signals
from agent_reach.evaluation.calibration import auc
from agent_reach.evaluation.outlook import fit_outlook
from agent_reach.importers.files import read_conversations
from agent_reach.importers.outlook import part_of
from agent_reach.scores.logistic import fit_logistic

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
RIDGES = (1.0, 10.0, 100.0)


def naive(messages):
    """Calls, errors, empties, repeats, purity, messages, turns, lengths, distinct tools, result length, calls a turn."""
    calls = [call for message in messages for call in message.calls]
    results = [message.text for message in messages if message.role == "tool"]
    users = [message.text for message in messages if message.role == "user"]
    replies = [message.text for message in messages if message.role == "assistant"]
    asked = Counter((call.name, json.dumps(call.arguments, sort_keys=True, default=str)) for call in calls)
    distinct = {call.name for call in calls}
    return [
        len(calls),
        sum("error" in text[:40].lower() for text in results),
        sum(text.strip() in ("", "[]", "{}", "null") for text in results),
        sum(n - 1 for n in asked.values()),
        len(distinct) / max(1, len(calls)),
        len(messages),
        len(users),
        sum(map(len, replies)),
        sum(map(len, users)),
        len(distinct),
        sum(map(len, results)) / max(1, len(results)),
        len(calls) / max(1, len(users)),
    ]


def read(folder):
    """(task, naive signals, signals, ended well) of each run."""
    kinds = json.loads((folder / "tools.json").read_text())
    rows = []
    for file in sorted(folder.glob("*.json")):
        if file.name == "tools.json":
            continue
        for talk in read_conversations(file):
            messages = [m for m in talk.messages if m.role != "system"]
            parts = [part_of(message) for message in messages]
            found = signals(parts, writes=set(kinds["side_effect"]), people=set(kinds["human"]))
            rows.append((talk.facts["task_id"], naive(messages), found, talk.facts["reward"] >= 1))
    return rows


def naive_scores(train, test, ridge):
    columns = list(zip(*([log1p(x) for x in row[1]] for row in train), strict=True))
    means = [sum(c) / len(c) for c in columns]
    scales = [(sum((x - m) ** 2 for x in c) / len(c)) ** 0.5 or 1.0 for c, m in zip(columns, means, strict=True)]

    def scaled(row):
        return [(log1p(x) - m) / s for x, m, s in zip(row[1], means, scales, strict=True)]

    weights = fit_logistic([scaled(row) for row in train], [row[3] for row in train], ridge)
    return [sum(w * x for w, x in zip(weights, scaled(row), strict=False)) for row in test]


def area(scores, rows):
    return auc(
        [s for s, row in zip(scores, rows, strict=True) if row[3]], [s for s, row in zip(scores, rows, strict=True) if not row[3]]
    )


def within(scores, rows):
    """Pairs of a good and a failed run of the same task: (in the right order, all), by task."""
    tasks = defaultdict(lambda: ([], []))
    for score, row in zip(scores, rows, strict=True):
        tasks[row[0]][not row[3]].append(score)
    return {
        task: (auc(good, bad) * len(good) * len(bad), len(good) * len(bad)) for task, (good, bad) in tasks.items() if good and bad
    }


def split(rows, seed):
    tasks = sorted({row[0] for row in rows})
    random.Random(seed).shuffle(tasks)
    half = set(tasks[: len(tasks) // 2])
    return [row for row in rows if row[0] in half], [row for row in rows if row[0] not in half]


def judge(rows, splits):
    """Areas of ours and of each baseline on every split, and the pairs within tasks."""
    ours, baselines, pairs = [], {ridge: [] for ridge in RIDGES}, defaultdict(lambda: [0.0, 0])
    for seed in range(splits):
        train, test = split(rows, seed)
        fitted = fit_outlook([row[2] for row in train], [row[3] for row in train])
        scores = [fitted.sum(row[2]) for row in test]
        ours.append(area(scores, test))
        for ridge in RIDGES:
            baselines[ridge].append(area(naive_scores(train, test, ridge), test))
        for task, (right, n) in within(scores, test).items():
            pairs[task][0] += right
            pairs[task][1] += n
    return ours, baselines, pairs


def clustered(pairs, draws=2_000):
    """Share of pairs in the right order, with a 95 % bootstrap interval over tasks."""
    tasks, dice = list(pairs.values()), random.Random(0)
    means = []
    for _ in range(draws):
        drawn = [dice.choice(tasks) for _ in tasks]
        means.append(sum(right for right, _ in drawn) / sum(n for _, n in drawn))
    means.sort()
    return sum(right for right, _ in tasks) / sum(n for _, n in tasks), means[draws // 40], means[-draws // 40]


def mean(values):
    return sum(values) / len(values)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--splits", type=int, default=200)
    options = parser.parse_args()
    found, everything = {}, {}
    for domain in ("airline", "retail"):
        rows = read(options.data / f"tau_{domain}")
        ours, baselines, pairs = judge(rows, options.splits)
        ridge, strongest = max(baselines.items(), key=lambda item: mean(item[1]))
        better = mean([a > b for a, b in zip(ours, strongest, strict=True)])
        fitted = fit_outlook([row[2] for row in rows], [row[3] for row in rows])
        weights = sorted(zip(NAMES, fitted.weights, strict=True), key=lambda item: -abs(item[1]))
        print(
            f"{domain}: {len(rows)} runs, {mean(ours):.3f} against {mean(strongest):.3f} (naive, ridge {ridge:g})", file=sys.stderr
        )
        print("  " + ", ".join(f"{name} {weight:+.2f}" for name, weight in weights), file=sys.stderr)
        value, low, high = clustered(pairs)
        found |= {
            f"{domain}_auc": mean(ours),
            f"{domain}_naive_auc": mean(strongest),
            f"{domain}_better_share": better,
            f"{domain}_within_task_auc": [value, low, high],
        }
        everything |= {(domain, task): pair for task, pair in pairs.items()}
    found["within_task_auc"], *found["within_task_interval"] = clustered(everything)
    print(
        json.dumps(
            {key: [round(v, 3) for v in value] if isinstance(value, list) else round(value, 3) for key, value in found.items()}
        )
    )


if __name__ == "__main__":
    main()
