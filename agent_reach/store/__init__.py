"""Where events and spans are kept; the only home of database clients."""

from __future__ import annotations

from pathlib import Path

from agent_reach.store.port import Store


def open_store(address: str, folder: Path, *, ttl_days: int = 30) -> Store:
    """The store that an address names.

    Args:
        address: `""` for chDB in the folder; `memory:` for one that is gone with the process; else
            `clickhouse://user:password@host:port/` (or `clickhouses://` for TLS).
        folder: holds what is kept on this machine.
        ttl_days: after which spans are dropped.

    Raises:
        StoreError: it cannot be opened; the message says why.
    """
    if not address:
        from agent_reach.store.embedded import EmbeddedStore

        return EmbeddedStore(folder, ttl_days=ttl_days)
    if address == "memory:":
        from agent_reach.store.embedded import MemoryStore

        return MemoryStore(ttl_days=ttl_days)
    from agent_reach.store.cluster import ClusterStore

    return ClusterStore(address, folder, ttl_days=ttl_days)
