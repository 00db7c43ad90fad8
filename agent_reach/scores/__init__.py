"""Pure figures over events."""

from agent_reach.scores.reach import ReachScore, band_of, reach_score
from agent_reach.scores.tally import Tally, UnitCounts
from agent_reach.scores.unit import OpenUnit

__all__ = ["OpenUnit", "ReachScore", "Tally", "UnitCounts", "band_of", "reach_score"]
