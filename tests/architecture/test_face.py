"""The public face and the layers."""

import subprocess
import sys
from pathlib import Path

import agent_reach

ROOT = Path(__file__).parents[2]


def test_the_public_names_are_these():
    assert agent_reach.__all__ == [
        "BandChange", "Compensation", "ContractError", "Evaluation", "FormatError", "HandoffContract", "Reach", "ReachError", "ReachMiddleware",
        "ReachScore", "ReachToolNode", "ReachTracker", "Routes", "SchemaVersionError", "ToolContract", "Topology",
        "track_reach",
    ]  # fmt: skip
    assert len(agent_reach.__all__) <= 25
    assert all(getattr(agent_reach, name) for name in agent_reach.__all__)


def test_importing_the_package_imports_no_framework():
    code = "import agent_reach, sys; print([m for m in ('langgraph', 'langchain', 'langchain_core', 'pydantic', 'opentelemetry.sdk') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_a_tracker_does_not_need_langchain():
    code = "from agent_reach import ReachTracker, ReachToolNode; ReachTracker(); import sys; print('langchain' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"


def test_every_module_says_what_it_is_for_and_stays_within_400_lines():
    for path in (ROOT / "agent_reach").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert text.startswith('"""'), path
        assert text.count("\n") <= 400, path
