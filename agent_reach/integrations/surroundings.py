"""What an agent has and what is known of its tools, for a preflight."""

from __future__ import annotations

import time
from typing import Any

from langgraph.prebuilt import ToolNode

from agent_reach.contracts.registry import name_of
from agent_reach.errors import ContractError
from agent_reach.integrations.runtime import Runtime
from agent_reach.live.preflight import Surroundings


def surroundings(runtime: Runtime, agent: Any) -> Surroundings:
    """Of an agent: a compiled graph, with its subgraphs, or a list of tools; None for one that is not known."""
    now = runtime.clock()
    return Surroundings(
        registered=None if agent is None else frozenset(tools_of(agent)),
        breakers=runtime.breakers.open(time.monotonic()),
        doubtful=runtime.predictor.likely_to_fail(now),
        contracts=runtime.handoffs,
        now=now,
    )


def tools_of(agent: Any) -> list[str]:
    """Names of the tools that an agent has.

    Raises:
        ContractError: it is neither a graph nor a list of tools.
    """
    if isinstance(agent, list | tuple):
        return [name_of(tool) for tool in agent]
    if not hasattr(agent, "nodes"):
        raise ContractError("agent", "a compiled graph or a list of tools", type(agent).__name__)
    found: list[str] = []
    for node in agent.nodes.values():
        bound = getattr(node, "bound", node)
        if isinstance(bound, ToolNode):
            found += bound.tools_by_name
        elif hasattr(bound, "nodes"):
            found += tools_of(bound)
    return found
