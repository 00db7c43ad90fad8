"""Whether a goal can still be reached, on declarations alone: pure, seeded by nothing, bounded (definitions, section 6)."""

from agent_reach.planning.operators import Operator
from agent_reach.planning.search import Plan, plan

__all__ = ["Operator", "Plan", "plan"]
