"""Reports of an evaluation: HTML, Markdown, JSON, JUnit, and the reached graphs as DOT and SVG."""

from agent_reach.evaluation.report.write import write_report

__all__ = ["write_report"]
