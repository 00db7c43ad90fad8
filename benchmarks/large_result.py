"""How long a 50 MB result takes to classify, for many shapes. Prints one JSON line last."""

from __future__ import annotations

import json
import time

from agent_reach.checks import finding_of_result
from agent_reach.contracts import ToolContract

SIZE = 50_000_000


def shapes():
    row = '{"id": 1, "text": "' + "x" * 980 + '"},'
    rows = SIZE // len(row)
    yield "json_text", '{"data": [' + row * rows + "null]}"
    yield "json_list_text", "[" + row * rows + "null]"
    yield "error_then_data", '{"error": "boom", "data": [' + row * rows + "null]}"
    yield "blank_text", " " * SIZE
    yield "prose", "word " * (SIZE // 5)
    yield "bytes", b"x" * SIZE
    yield "list_of_none", [None] * (SIZE // 8)
    yield "list_of_rows", [{"id": n} for n in range(SIZE // 100)]
    yield "dict", {f"k{n}": None for n in range(SIZE // 100)}
    yield "blocks", [{"type": "text", "text": "x" * SIZE}]


def main():
    contract, figures = ToolContract(), {}
    for name, value in shapes():
        best = min(_timed(value, contract) for _ in range(3))
        figures[name] = round(best, 2)
    print(json.dumps({"slowest_ms": max(figures.values()), **figures}))


def _timed(value, contract):
    begun = time.perf_counter()
    finding_of_result(value, contract)
    return (time.perf_counter() - begun) * 1000


if __name__ == "__main__":
    main()
