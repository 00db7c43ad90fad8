"""What should happen: routes, tools, handoffs and the policy, declared in YAML or Python."""

from agent_reach.contracts.handoffs import HandoffContract
from agent_reach.contracts.policy import Compensation, Thresholds, Weights
from agent_reach.contracts.routes import Intent, Routes, Source, Step
from agent_reach.contracts.tools import Alternate, ToolContract

__all__ = [
    "Alternate",
    "Compensation",
    "HandoffContract",
    "Intent",
    "Routes",
    "Source",
    "Step",
    "Thresholds",
    "ToolContract",
    "Weights",
]
