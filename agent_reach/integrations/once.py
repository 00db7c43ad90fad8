"""Run a call once: what was recorded before an interrupt or a crash is given back instead of being run again."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import ToolMessage

from agent_reach.checks import Finding
from agent_reach.compensate import Entry, Ledger
from agent_reach.compensate.human import request
from agent_reach.integrations.acting import HUMAN_KEY, human_message
from agent_reach.integrations.calls import CallRecord
from agent_reach.integrations.storage import CheckpointLedger


class Once:
    """The ledger entries of one call.

    An intent without a result means that the process ended while the tool ran: whether it took effect is not known, so a
    person is asked and the tool is not run.
    """

    def __init__(self, record: CallRecord, ledger: Ledger, key: str, *, always: bool, effect: bool) -> None:
        self._record, self._ledger, self._key = record, ledger, key
        self._always, self._effect = always, effect

    @classmethod
    def of(cls, record: CallRecord, call: Any, tool_runtime: Any, siblings: list[Any], *, asks: bool) -> Once | None:
        """None when nothing of this call has to outlast the process, or nothing is there to write it to.

        Args:
            siblings: the calls of the same message; a node runs them all again when one of them is interrupted.
            asks: interrupts are how a person is asked.
        """
        contract = record.runtime.routes.contract(record.tool)
        effect = contract.side_effect or not contract.repeatable
        if not asks and not contract.side_effect:
            return None
        info = getattr(tool_runtime, "execution_info", None)
        ledger: Ledger | None = CheckpointLedger.of(tool_runtime.config, info)
        make = record.runtime.store_ledger
        if ledger is None and make is not None and info is not None:
            ledger = make(info.task_id)
        if ledger is None:
            return None
        occurrence = record.key[2] if record.key else 0
        always = asks and (len(siblings) > 1 or effect)
        return cls(record, ledger, f"{call['id']}:{occurrence}", always=always, effect=effect)

    def before(self) -> Any | None:
        """What to give back instead of running; otherwise the intent is recorded."""
        try:
            entry = self._ledger.read().get(self._key)
            if entry is None and self._effect:
                self._ledger.record(self._key, Entry("intent"))
        except Exception as error:  # noqa: BLE001 - a store may raise anything
            self._note(error)
            return None
        return None if entry is None else self._recall(entry)

    async def abefore(self) -> Any | None:
        """What to give back instead of running; otherwise the intent is recorded."""
        try:
            entry = (await self._ledger.aread()).get(self._key)
            if entry is None and self._effect:
                await self._ledger.arecord(self._key, Entry("intent"))
        except Exception as error:  # noqa: BLE001 - a store may raise anything
            self._note(error)
            return None
        return None if entry is None else self._recall(entry)

    def after(self, response: Any) -> None:
        """Record what came of it."""
        if entry := self._entry(response):
            try:
                self._ledger.record(self._key, entry)
            except Exception as error:  # noqa: BLE001 - a store may raise anything
                self._note(error)

    async def aafter(self, response: Any) -> None:
        """Record what came of it."""
        if entry := self._entry(response):
            try:
                await self._ledger.arecord(self._key, entry)
            except Exception as error:  # noqa: BLE001 - a store may raise anything
                self._note(error)

    def _note(self, error: Exception) -> None:
        """The agent goes on; a resume may then run the tool again."""
        self._record.runtime.notes.add("ledger", f"could not record that {self._record.tool!r} ran", error)

    def _entry(self, response: Any) -> Entry | None:
        waits = isinstance(response, ToolMessage) and HUMAN_KEY in response.additional_kwargs
        if not (self._effect or self._always or waits):
            return None
        return Entry("pending" if waits else "done", response)

    def _recall(self, entry: Entry) -> Any:
        if entry.state != "intent":
            return entry.response
        record = self._record
        record.taken("human", target="person", reason="the process ended while the tool ran")
        record.rung = "human"
        record.conclude_with(None, Finding("fail", "other", "", "during", "ProcessEnded"))
        record.settle()
        asked = request(
            tool=record.tool,
            call_id=record.call_id,
            arguments=record.arguments,
            status="unknown",
            tried=[(record.tool, "started, then the process ended: whether it took effect is not known")],
            obtained="",
            uncertain=True,
        )
        text = f"[agent_reach: `{record.tool}` was started and the process ended; whether it took effect is not known]"
        return human_message(record.tool, record.call_id, text, asked, failed=True)
