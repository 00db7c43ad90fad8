"""Judging agents on recorded and replayed conversations."""
