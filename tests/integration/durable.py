"""A process of its own: runs or resumes a graph whose tools write to a file, with a SQLite checkpointer.

Usage: durable.py FOLDER WAY MODE STEP, where STEP is `start`, `die` (kill -9 inside the second tool), `go on` or `answer TEXT`.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from agent_reach import Compensation, Reach
from tests.integration.agents import Script, ask, graph

FOLDER, WAY, MODE, STEP = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]


def wrote(what):
    with (FOLDER / "effects").open("a") as file:
        file.write(what + "\n")
        file.flush()
        os.fsync(file.fileno())


@tool
def notify(text: str) -> dict:
    """Send."""
    wrote(f"notify {text}")
    return {"sent": True}


@tool
def charge(amount: int) -> str:
    """Charge."""
    wrote(f"charge {amount}")
    if STEP == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    raise TimeoutError("no answer")


def build(saver):
    reach = Reach(
        {"tools": {"notify": {"side_effect": True}, "charge": {"side_effect": True}}}, compensation=Compensation(human="interrupt")
    )
    calls = ask(("notify", {"text": "a"}), ("charge", {"amount": 1}), ids=["n", "c"])
    done = STEP.startswith("answer") or STEP == "go on"
    lines = ["done"] if done else [calls, "done"]
    if WAY == "node":
        return reach, graph(reach.tool_node([notify, charge], handle_tool_errors=True), lines, checkpointer=saver)
    agent = create_agent(Script(lines=lines), [notify, charge], middleware=[reach.middleware()], checkpointer=saver)
    return reach, agent


def inputs():
    if STEP.startswith("answer"):
        return Command(resume=STEP.removeprefix("answer "))
    return None if STEP == "go on" else {"messages": [("user", "hi")]}


CONFIG = {"configurable": {"thread_id": "t"}, "max_concurrency": 1}


def report(state):
    asked = [i.value["tool"] for i in state.get("__interrupt__", ())]
    print(json.dumps({"asked": asked, "texts": [m.content for m in state["messages"] if m.type == "tool"]}))


def main():
    with SqliteSaver.from_conn_string(str(FOLDER / "db")) as saver:
        report(build(saver)[1].invoke(inputs(), CONFIG, durability="sync"))


async def amain():
    async with AsyncSqliteSaver.from_conn_string(str(FOLDER / "db")) as saver:
        report(await build(saver)[1].ainvoke(inputs(), CONFIG, durability="sync"))


if __name__ == "__main__":
    main() if MODE == "sync" else asyncio.run(amain())
