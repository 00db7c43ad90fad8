"""A report as JUnit XML: a suite a task, a test case a run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

_FORBIDDEN: Final = re.compile("[^\\t\\n\\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(record: Mapping[str, Any]) -> str:
    """The whole report; a run that does not pass the gate is a failure, one that crashed an error.

    Args:
        record: what `summary` gives.
    """
    root = Element("testsuites", name=_clean(f"agent-reach: {record['agent']}"))
    for task in record["by_task"]:
        runs = task.get("by_run", [])
        failed = [run for run in runs if not run["gate"]]
        crashed = sum(run["ended"] == "crashed" for run in failed)
        suite = SubElement(
            root, "testsuite", name=_clean(task["task"]), tests=str(len(runs)),
            failures=str(len(failed) - crashed), errors=str(crashed),
        )  # fmt: skip
        for run in runs:
            case = SubElement(
                suite, "testcase", classname=_clean(task["task"]), name=f"run {run['run']}", time=f"{run['seconds']:.3f}"
            )
            if not run["gate"]:
                reasons = [f"step {each['step']}: {'; '.join(each['reasons'])}" for each in run["broke"]] or ["no signal"]
                kind = "error" if run["ended"] == "crashed" else "failure"
                SubElement(case, kind, message=_clean(reasons[0])).text = _clean("\n".join([run["reason"], *reasons]).strip())
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    """Without signs that XML does not allow."""
    return _FORBIDDEN.sub("\ufffd", text)
