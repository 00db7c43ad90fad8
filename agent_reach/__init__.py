"""See, score and repair whether agents reach the tools, knowledge and agents that their task needs."""

from typing import TYPE_CHECKING, Any

from agent_reach.contracts import Compensation, HandoffContract, Routes, ToolContract
from agent_reach.errors import ContractError, FormatError, ReachError, SchemaVersionError
from agent_reach.live import BandChange
from agent_reach.reach import Reach
from agent_reach.scores import ReachScore

if TYPE_CHECKING:
    from agent_reach.integrations.middleware import ReachMiddleware
    from agent_reach.integrations.plain import track_reach
    from agent_reach.integrations.tool_node import ReachToolNode
    from agent_reach.integrations.tracker import ReachTracker

__all__ = [
    "BandChange",
    "Compensation",
    "ContractError",
    "FormatError",
    "HandoffContract",
    "Reach",
    "ReachError",
    "ReachMiddleware",
    "ReachScore",
    "ReachToolNode",
    "ReachTracker",
    "Routes",
    "SchemaVersionError",
    "ToolContract",
    "track_reach",
]

_LAZY = {
    "ReachMiddleware": "agent_reach.integrations.middleware",
    "ReachToolNode": "agent_reach.integrations.tool_node",
    "ReachTracker": "agent_reach.integrations.tracker",
    "track_reach": "agent_reach.integrations.plain",
}


def __getattr__(name: str) -> Any:
    """Names that need LangGraph or LangChain are imported when they are first used."""
    if name in _LAZY:
        from importlib import import_module

        from agent_reach.integrations.runtime import Runtime
        from agent_reach.reach import default_runtime

        Runtime.make_default = staticmethod(default_runtime)
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
