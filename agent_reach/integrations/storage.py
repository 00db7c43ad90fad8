"""Durable records in what LangGraph already has: its checkpointer, and any `BaseStore`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any, Final

from langgraph.store.base import BaseStore

from agent_reach.compensate import Entry

_CHANNEL: Final = "agent_reach.ran"
_NAMESPACE: Final = "agent_reach"


class CheckpointLedger:
    """Entries as pending writes of a pseudo task beside the checkpoint that the node runs from.

    LangGraph's loop passes over writes of tasks that it does not know; they are gone with their checkpoint.
    """

    def __init__(self, saver: Any, config: dict[str, Any], task: str) -> None:
        self._saver, self._config, self._task = saver, config, f"agent_reach:{task}:"

    @classmethod
    def of(cls, config: Mapping[str, Any], info: Any) -> CheckpointLedger | None:
        """The ledger of a node's task, None without a checkpointer."""
        configurable = config.get("configurable") or {}
        saver = configurable.get("__pregel_checkpointer")
        if saver is None or not hasattr(saver, "put_writes") or info is None:
            return None
        place = {
            "thread_id": configurable.get("thread_id"),
            "checkpoint_ns": info.checkpoint_ns.rpartition("|")[0],
            "checkpoint_id": info.checkpoint_id,
        }
        return cls(saver, {"configurable": place}, info.task_id)

    def read(self) -> dict[str, Entry]:
        return self._entries(self._saver.get_tuple(self._config))

    async def aread(self) -> dict[str, Entry]:
        return self._entries(await self._saver.aget_tuple(self._config))

    def _entries(self, found: Any) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        for task, channel, value in (found.pending_writes or []) if found is not None else []:
            if channel == _CHANNEL and task.startswith(self._task):
                key = task.removeprefix(self._task).rpartition(":")[0]
                if value["state"] != "intent" or key not in entries:
                    entries[key] = Entry(**value)
        return entries

    def record(self, key: str, entry: Entry) -> None:
        self._saver.put_writes(self._config, self._write(entry), f"{self._task}{key}:{entry.state}")

    async def arecord(self, key: str, entry: Entry) -> None:
        await self._saver.aput_writes(self._config, self._write(entry), f"{self._task}{key}:{entry.state}")

    @staticmethod
    def _write(entry: Entry) -> list[tuple[str, Any]]:
        return [(_CHANNEL, {"state": entry.state, "response": entry.response, "request": entry.request})]


class BaseStoreLedger:
    """Entries in a `BaseStore`, serialised as LangGraph serialises checkpoints."""

    def __init__(self, store: BaseStore, task: str) -> None:
        from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

        self._store, self._namespace = store, (_NAMESPACE, "ran", task)
        self._serde = JsonPlusSerializer()

    def read(self) -> dict[str, Entry]:
        return {item.key: self._load(item.value) for item in self._store.search(self._namespace, limit=1_000)}

    async def aread(self) -> dict[str, Entry]:
        try:
            items = await self._store.asearch(self._namespace, limit=1_000)
        except NotImplementedError:  # a store without async methods
            return await asyncio.to_thread(self.read)
        return {item.key: self._load(item.value) for item in items}

    def record(self, key: str, entry: Entry) -> None:
        self._store.put(self._namespace, key, self._dump(entry), index=False)

    async def arecord(self, key: str, entry: Entry) -> None:
        try:
            await self._store.aput(self._namespace, key, self._dump(entry), index=False)
        except NotImplementedError:  # a store without async methods
            await asyncio.to_thread(self.record, key, entry)

    def _dump(self, entry: Entry) -> dict[str, Any]:
        kind, data = self._serde.dumps_typed(entry.response)
        return {"state": entry.state, "type": kind, "response": data.hex(), "request": entry.request}

    def _load(self, value: dict[str, Any]) -> Entry:
        response = self._serde.loads_typed((value["type"], bytes.fromhex(value["response"])))
        return Entry(state=value["state"], response=response, request=value["request"])


class StoredSessions:
    """Sessions in a `BaseStore`.

    A store that only answers from its own event loop (such as `AsyncSqliteStore`) cannot be asked by a callback that runs on that
    loop: `aload` fetches ahead, and what is saved there is written by a task, which `settle` awaits. `async with
    reach.session(…)` does both.
    """

    def __init__(self, store: BaseStore) -> None:
        self._store = store
        self._ready: dict[str, dict[str, Any] | None] = {}
        self._writing: set[asyncio.Task[None]] = set()
        self._lock = threading.Lock()

    def load(self, session: str) -> dict[str, Any] | None:
        with self._lock:
            if session in self._ready:
                return self._ready.pop(session)
        item = self._store.get((_NAMESPACE, "session"), session)
        return None if item is None else dict(item.value)

    async def aload(self, session: str) -> None:
        """Fetch ahead of `load`."""
        try:
            item = await self._store.aget((_NAMESPACE, "session"), session)
        except NotImplementedError:  # a store without async methods, which `load` can ask
            return
        with self._lock:
            self._ready[session] = None if item is None else dict(item.value)

    def save(self, session: str, record: dict[str, Any]) -> None:
        try:
            self._store.put((_NAMESPACE, "session"), session, record, index=False)
        except asyncio.InvalidStateError:
            work = self._store.aput((_NAMESPACE, "session"), session, record, index=False)
            task = asyncio.get_running_loop().create_task(work)
            self._writing.add(task)
            task.add_done_callback(self._writing.discard)

    async def settle(self) -> None:
        """Wait until all that was saved from this loop is written."""
        await asyncio.gather(*self._writing)
