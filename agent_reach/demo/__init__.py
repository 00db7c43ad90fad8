"""A multi-agent after-sales desk with faults, for `agent-reach demo`."""

from agent_reach.demo.show import run_demo

__all__ = ["run_demo"]
