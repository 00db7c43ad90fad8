"""See, score and repair whether agents reach the tools, knowledge and agents that their task needs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent_reach.contracts import Compensation, HandoffContract, Routes, ToolContract
    from agent_reach.contracts.topology import Topology
    from agent_reach.errors import ContractError, FormatError, ReachError, SchemaVersionError
    from agent_reach.evaluate import Evaluation
    from agent_reach.integrations.middleware import ReachMiddleware
    from agent_reach.integrations.plain import track_reach
    from agent_reach.integrations.tool_node import ReachToolNode
    from agent_reach.integrations.tracker import ReachTracker
    from agent_reach.live import BandChange
    from agent_reach.reach import Reach
    from agent_reach.scores import ReachScore

__all__ = [
    "BandChange",
    "Compensation",
    "ContractError",
    "Evaluation",
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
    "Topology",
    "track_reach",
]

_HOMES = {
    "BandChange": "live",
    "Compensation": "contracts",
    "ContractError": "errors",
    "Evaluation": "evaluate",
    "FormatError": "errors",
    "HandoffContract": "contracts",
    "Reach": "reach",
    "ReachError": "errors",
    "ReachMiddleware": "integrations.middleware",
    "ReachScore": "scores",
    "ReachToolNode": "integrations.tool_node",
    "ReachTracker": "integrations.tracker",
    "Routes": "contracts",
    "SchemaVersionError": "errors",
    "ToolContract": "contracts",
    "Topology": "contracts.topology",
    "track_reach": "integrations.plain",
}


def __getattr__(name: str) -> Any:
    """Names are imported when they are first used: an application pays only for what it uses."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if home.startswith("integrations"):
        import_module("agent_reach.reach").provide_default_runtime()
    value = globals()[name] = getattr(import_module(f"agent_reach.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
