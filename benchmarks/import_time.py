"""What `import agent_reach` costs beyond langchain-core and OpenTelemetry. Prints one JSON line last.

Each import runs in a fresh interpreter; the figure is the median of the differences.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

BASE = "import langchain_core.tools, langchain_core.callbacks, opentelemetry.trace, opentelemetry.sdk.trace, opentelemetry.metrics"
TIMED = "import time; {base}; t = time.perf_counter(); {what}; print((time.perf_counter() - t) * 1000)"


def milliseconds(what):
    done = subprocess.run([sys.executable, "-c", TIMED.format(base=BASE, what=what)], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main():
    figures = {
        "import_ms": statistics.median(milliseconds("import agent_reach") for _ in range(11)),
        "import_reach_ms": statistics.median(milliseconds("from agent_reach import Reach, Routes") for _ in range(11)),
    }
    print(json.dumps({name: round(value, 1) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
