"""The live evaluator and its sessions."""

from agent_reach.live.evaluator import BandChange, Evaluator, SessionStore
from agent_reach.live.notes import Notes
from agent_reach.live.session import Session, TurnRef

__all__ = ["BandChange", "Evaluator", "Notes", "Session", "SessionStore", "TurnRef"]
