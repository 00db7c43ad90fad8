"""LangGraph's own ToolNode tests with `ReachToolNode` in place of `ToolNode`.

Usage: upstream.py FOLDER [--policy] where FOLDER is `libs/prebuilt` of a checkout of langchain-ai/langgraph (it is not shipped
here). `--policy` turns compensation on. Prints one JSON line last.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

FILES = (
    "test_tool_node",
    "test_on_tool_call",
    "test_injected_state_not_required",
    "test_tool_node_interceptor_unregistered",
    "test_tool_node_validation_error_filtering",
    "test_react_agent",
    "test_validation_node",
)


class Tally:
    """Counts what pytest reports."""

    def __init__(self) -> None:
        self.passed = self.failed = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed += report.when == "call" and report.passed
        self.failed += report.failed


def substitute(policy: bool) -> None:
    """Put `ReachToolNode` wherever LangGraph names `ToolNode`."""
    import langgraph.prebuilt
    from langgraph.prebuilt import chat_agent_executor, tool_node

    from agent_reach import Compensation, Reach, ReachToolNode

    reach = Reach(compensation=Compensation(backoff=0.0) if policy else None)

    class Substitute(ReachToolNode):
        def __init__(self, tools, **options):
            super().__init__(tools, reach=reach, **options)

    for module in (langgraph.prebuilt, tool_node, chat_agent_executor):
        module.ToolNode = Substitute


def main() -> int:
    policy = "--policy" in sys.argv
    folder = Path(next(a for a in sys.argv[1:] if not a.startswith("--"))).resolve()
    substitute(policy)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    tally = Tally()
    files = [f"tests/{name}.py" for name in FILES]
    pytest.main(
        [
            "-q",
            "-p",
            "no:cacheprovider",
            "-W",
            "ignore",
            "--no-header",
            "-c",
            os.devnull,
            "--rootdir",
            str(folder),
            *files,
        ],
        plugins=[tally],
    )
    print(json.dumps({"passed": tally.passed, "failed": tally.failed, "policy": policy}))
    return 1 if tally.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
