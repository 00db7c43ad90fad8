"""`agent-reach score` on real conversations: counts and time, start included. Prints one JSON line last.

Usage: score_airline.py [--data FOLDER], where FOLDER holds `tau_airline/runs.json`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    file = parser.parse_args().data / "tau_airline" / "runs.json"
    command = [str(Path(sys.executable).with_name("agent-reach")), "score", str(file), "--json"]
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        times.append(time.perf_counter() - begun)
    report = json.loads(done.stdout)
    counts = {key: report["total"][key] for key in ("calls", "ok", "failed", "empty", "uncounted")}
    print(json.dumps({"seconds": round(statistics.median(times), 2), "sessions": len(report["sessions"]), **counts}))


if __name__ == "__main__":
    main()
