"""How long `agent-reach score` takes for a million recorded calls, and the most memory it holds.

Usage: score_throughput.py [--calls N]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CALLS_A_SESSION = 5
ROUTES = "version: 1\nintents:\n  order:\n    keywords: [order]\n    steps: [[db, cache], [pay]]\n"


def write_events(path, calls):
    """Sessions of five calls and a turn, one in ten calls failed or empty."""
    dice = random.Random(7)
    with open(path, "w", encoding="utf-8") as file:
        for session in range(calls // CALLS_A_SESSION):
            where = {"v": 1, "session": f"s{session}", "turn": 1, "unit": 1, "agent": "desk", "intent": "order"}
            for number in range(CALLS_A_SESSION):
                status = dice.choices(["ok", "fail", "empty_alias"], [90, 5, 5])[0]
                tool = dice.choice(["db", "cache", "pay", "faq"])
                call = {
                    "kind": "tool_call",
                    "tool": tool,
                    "status": status,
                    "first_status": status,
                    "time": number,
                    "id": f"{session:x}.{number}",
                }
                file.write(json.dumps({**where, **call}) + "\n")
            file.write(json.dumps({**where, "kind": "turn", "outcome": "answered", "time": 9}) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        events, routes = Path(folder) / "events.jsonl", Path(folder) / "routes.yaml"
        write_events(events, options.calls)
        routes.write_text(ROUTES)
        print(f"{os.path.getsize(events) / 1e6:.0f} MB of events", file=sys.stderr)
        command = [str(Path(sys.executable).parent / "agent-reach"), "score", str(events), "--routes", str(routes), "--json"]
        begun = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - begun
    counted = json.loads(done.stdout)["total"]["calls"]
    assert counted == options.calls, f"{counted} calls counted, {options.calls} written"
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(json.dumps({"seconds": round(seconds, 1), "peak_mb": round(peak), "calls": counted}))


if __name__ == "__main__":
    main()
