"""How many of the documents that a task needs are among the first ten of 698, ranked by their words alone; no labels are used.

Usage: banking.py [--data FOLDER], with `documents.json` and `tasks.json`. The baseline is the cosine of plain TF-IDF of title and
text. The calibration table says what a score of the ranking is worth as a probability that the document is needed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path

from tfidf import plain_tfidf

from agent_reach.checks.retrieval import DocumentRanker
from agent_reach.evaluation.calibration import calibrate_relevance

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "tau2_banking"
WITHIN = (20, 50, 100)


def recall(order, needed, k=10):
    return len(needed & set(order[:k])) / len(needed)


def interval(differences, draws=10_000):
    dice, n = random.Random(0), len(differences)
    means = sorted(sum(dice.choices(differences, k=n)) / n for _ in range(draws))
    return means[draws // 40], means[-draws // 40]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    folder = parser.parse_args().data
    documents, tasks = (json.loads((folder / f"{name}.json").read_text()) for name in ("documents", "tasks"))
    ranker = DocumentRanker({d["id"]: d["content"] for d in documents}, {d["id"]: d["title"] for d in documents})
    requests = [task["user_scenario"]["instructions"] for task in tasks]
    needed = [set(task["required_documents"]) for task in tasks]
    plain = plain_tfidf({d["id"]: f"{d['title']} {d['content']}" for d in documents})
    ours = [ranker.rank(request) for request in requests]
    base = [plain(request) for request in requests]
    found = [recall(order, need) for order, need in zip(ours, needed, strict=True)]
    before = [recall(order, need) for order, need in zip(base, needed, strict=True)]
    gain = [a - b for a, b in zip(found, before, strict=True)]
    complete = {k: sum(need <= set(order[:k]) for order, need in zip(ours, needed, strict=True)) / len(tasks) for k in WITHIN}
    examples = [
        [(score, id in need) for id, score in ranker.scores(request).items()]
        for request, need in zip(requests, needed, strict=True)
    ]
    fitted = calibrate_relevance(examples)
    for b in fitted.bins:
        print(f"score from {b.low:.1f}: {b.well.value:.3f} of {b.well.n} needed", file=sys.stderr)
    print(f"calibration error {fitted.error:.4f}, Brier {fitted.brier:.4f}, base rate alone {fitted.base:.4f}", file=sys.stderr)
    result = {
        "recall_at_10": sum(found) / len(found),
        "tfidf_recall_at_10": sum(before) / len(before),
        "gain": sum(gain) / len(gain),
        "gain_interval": interval(gain),
        **{f"complete_at_{k}": value for k, value in complete.items()},
        "brier": fitted.brier,
        "brier_of_base_rate": fitted.base,
    }
    print(
        json.dumps(
            {key: [round(v, 4) for v in value] if isinstance(value, tuple) else round(value, 4) for key, value in result.items()}
        )
    )


if __name__ == "__main__":
    main()
