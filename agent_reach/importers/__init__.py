"""Recorded conversations as the same events that a live run gives."""

from agent_reach.importers.chat import events_of
from agent_reach.importers.files import Conversation, read_conversations

__all__ = ["Conversation", "events_of", "read_conversations"]
