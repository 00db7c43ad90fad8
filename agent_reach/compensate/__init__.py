"""The compensation ladder and what it needs."""

from agent_reach.compensate.breaker import Breakers
from agent_reach.compensate.driver import adrive, drive
from agent_reach.compensate.ladder import Climb, Execute, Outcome, ServeSnapshot, Settled, climb
from agent_reach.compensate.ledger import Entry, Ledger
from agent_reach.compensate.snapshots import Snapshots

__all__ = [
    "Breakers",
    "Climb",
    "Entry",
    "Execute",
    "Ledger",
    "Outcome",
    "ServeSnapshot",
    "Settled",
    "Snapshots",
    "adrive",
    "climb",
    "drive",
]
