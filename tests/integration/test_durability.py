"""After a restart, and after `kill -9`, nothing with a side effect runs twice."""

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from langgraph.store.sqlite.aio import AsyncSqliteStore

from agent_reach import Compensation, Reach
from agent_reach.compensate import Entry
from agent_reach.events import ToolCall
from agent_reach.integrations.storage import BaseStoreLedger
from tests.integration.agents import ask, graph, user

ROOT = Path(__file__).parents[2]


def process(folder, way, mode, step):
    call = [sys.executable, "-m", "tests.integration.durable", str(folder), way, mode, step]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, -signal.SIGKILL):
        pytest.fail(done.stderr[-2000:])
    return json.loads(done.stdout.strip().splitlines()[-1]) if done.returncode == 0 else None


def effects(folder):
    return sorted((folder / "effects").read_text().split("\n"))[1:]


# Each process takes seconds to start: every way and every mode once.
ACROSS = pytest.mark.parametrize(("way", "mode"), [("node", "sync"), pytest.param("middleware", "async", marks=pytest.mark.long)])


@ACROSS
def test_a_person_answers_in_another_process_and_no_tool_runs_again(tmp_path, way, mode):
    assert process(tmp_path, way, mode, "start")["asked"] == ["charge"]
    ended = process(tmp_path, way, mode, "answer booked by hand")
    assert ended == {"asked": [], "texts": ['{"sent": true}', "booked by hand"]}
    assert effects(tmp_path) == ["charge 1", "notify a"]


@ACROSS
def test_after_kill_9_inside_a_tool_a_person_is_asked_instead_of_running_it_again(tmp_path, way, mode):
    assert process(tmp_path, way, mode, "die") is None
    state = process(tmp_path, way, mode, "go on")
    asked = set(state["asked"])
    while state["asked"]:
        state = process(tmp_path, way, mode, "answer it went through")
        asked |= set(state["asked"])
    assert "charge" in asked
    assert state["texts"][-1] == "it went through"
    assert effects(tmp_path) == ["charge 1", "notify a"]


@pytest.mark.parametrize("make", [InMemoryStore, None])
async def test_a_store_holds_the_record_of_what_ran(tmp_path, make):
    message = ToolMessage("sent", tool_call_id="c")
    with contextlib.ExitStack() as stack:
        store = make() if make else stack.enter_context(SqliteStore.from_conn_string(str(tmp_path / "store")))
        if make is None:
            store.setup()
        ledger = BaseStoreLedger(store, "task-1")
        ledger.record("c:0", Entry("intent"))
        assert BaseStoreLedger(store, "task-1").read()["c:0"].state == "intent"
        ledger.record("c:0", Entry("done", message))
        await ledger.arecord("d:0", Entry("pending", message, {"tool": "charge"}))
        assert await BaseStoreLedger(store, "task-1").aread() == {
            "c:0": Entry("done", message),
            "d:0": Entry("pending", message, {"tool": "charge"}),
        }
        assert BaseStoreLedger(store, "task-2").read() == {}


@tool
def find(x: int) -> dict:
    """Find."""
    return {"found": x}


def talk(store, lines, **options):
    reach = Reach(sessions=store)
    events = []
    reach.add_sink(events.append)
    return reach, graph(reach.tool_node([find]), lines, **options), events


def test_a_session_goes_on_in_another_process_by_a_store():
    with SqliteStore.from_conn_string(":memory:") as store:
        store.setup()
        _session_goes_on(store)


def test_a_session_goes_on_by_a_store_in_memory():
    _session_goes_on(InMemoryStore())


def _session_goes_on(store):
    saver = InMemorySaver()
    config = {"configurable": {"thread_id": "t"}}
    for number in range(2):
        reach, app, events = talk(store, [ask(("find", {"x": 1})), "done"], checkpointer=saver)
        app.invoke(user(f"question {number}"), {**config, "callbacks": [reach.tracker]})
        assert reach.score("t").tool == 1.0
        assert [e.turn for e in events if isinstance(e, ToolCall)] == [number + 1]
    assert reach.runtime.evaluator.find("t").tally.calls["ok"] == 2


async def test_a_store_without_async_methods_serves_an_async_session():
    with SqliteStore.from_conn_string(":memory:") as store:
        store.setup()
        for number in range(2):
            reach, app, _ = talk(store, [ask(("find", {"x": 1})), "done"])
            async with reach.session("s") as session:
                await app.ainvoke(user(), {"callbacks": [reach.tracker]})
            assert session._state.turn == number + 1
        assert not reach.notes.counts


def test_a_ledger_that_cannot_be_written_is_noted_and_the_agent_goes_on(observed):
    class Saver(InMemorySaver):
        def put_writes(self, config, writes, task_id, task_path=""):
            if task_id.startswith("agent_reach"):
                raise OSError("disk full")
            super().put_writes(config, writes, task_id, task_path)

    seen = observed({"tools": {"find": {"side_effect": True}}}, compensation=Compensation(human="interrupt"))
    app = graph(seen.reach.tool_node([find]), [ask(("find", {"x": 1})), "done"], checkpointer=Saver())
    state = app.invoke(user(), {"configurable": {"thread_id": "t"}})
    assert [m.content for m in state["messages"] if m.type == "tool"] == ['{"found": 1}']
    assert seen.reach.notes.counts["ledger"] == 2


async def test_a_store_that_only_answers_in_its_own_loop_is_loaded_by_async_with():
    async with AsyncSqliteStore.from_conn_string(":memory:") as store:
        await store.setup()
        for number in range(2):
            reach, app, _ = talk(store, [ask(("find", {"x": 1})), "done"])
            async with reach.session("s") as session:
                await app.ainvoke(user(), {"callbacks": [reach.tracker]})
            assert session._state.turn == number + 1
            await asyncio.sleep(0)
        assert reach.notes.counts["store"] == 0
