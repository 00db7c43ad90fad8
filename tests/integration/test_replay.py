"""Baselines and replays by the command, and the pytest plugin, with real agents."""

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from typing import NamedTuple

import pytest
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from typer.testing import CliRunner

from agent_reach import Reach, ReachError, track_reach
from agent_reach.cli import app
from agent_reach.events import ToolCall, Turn
from agent_reach.integrations.asking import conversation
from tests.integration.agents import Script, ask, graph

ROUTES = "version: 4\nintents:\n  order_query:\n    keywords: [order]\n    steps: [[orders_db, orders_cache]]\n"
AGENT = """
import os
from langchain_core.messages import AIMessage
from agent_reach import track_reach

@track_reach
def orders_db(order_id):
    return {"order_id": order_id}

@track_reach
def faq(question):
    return {"answer": question}

def make():
    def agent(messages):
        if os.environ.get("LAZY") and len(messages[-1].content) % 2:
            faq("?")
        else:
            orders_db("A-1")
        return "It has shipped."
    return agent

def broken():
    raise RuntimeError("no model")
"""


class Done(NamedTuple):
    """What the command came to."""

    returncode: int
    stdout: str
    stderr: str


def command(*arguments):
    """The command in this process; an error of ours is what `main` would print."""
    found = CliRunner().invoke(app, arguments)
    if isinstance(found.exception, ReachError):
        return Done(2, found.stdout, str(found.exception))
    return Done(found.exit_code, found.stdout, found.stderr)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with an agent in it, in which the command runs; its module is loaded afresh."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    (tmp_path / "routes.yaml").write_text(ROUTES)
    (tmp_path / "shop.py").write_text(AGENT)
    talks = [{"id": f"talk-{n}", "messages": [{"role": "user", "content": "Where is my order" + "?" * n}]} for n in range(24)]
    (tmp_path / "talks.jsonl").write_text("\n".join(map(json.dumps, talks)))
    return tmp_path


def test_a_replay_that_drifted_from_its_baseline_ends_with_status_1(project, monkeypatch):
    base = ("replay", "talks.jsonl", "--agent", "shop:make", "--routes", "routes.yaml")
    first = command(*base, "--save", "base.json", "--store", "events.jsonl")
    assert (first.returncode, "24 conversations replayed, 0 ended" in first.stderr) == (0, True), first.stderr
    again = command(*base, "--against", "base.json", "--json")
    assert again.returncode == 0
    assert {f["verdict"] for f in json.loads(again.stdout)["findings"]} == {"no evidence"}
    monkeypatch.setenv("LAZY", "1")
    lazy = command(*base, "--against", "base.json", "--save", "lazy.json")
    assert (lazy.returncode, "drift" in lazy.stdout) == (1, True)
    compared = command("baseline", "compare", "lazy.json", "--against", "base.json")
    assert (compared.returncode, "drift" in compared.stdout) == (1, True)
    alone = command("baseline", "compare", "lazy.json")
    assert (alone.returncode, "below" in alone.stdout) == (1, True)


def test_a_baseline_of_recordings_is_kept_and_compared(project):
    calls = [{"id": "c", "type": "function", "function": {"name": "orders_db", "arguments": "{}"}}]
    answered = [
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c", "content": '{"a": 1}'},
        {"role": "assistant", "content": "ok"},
    ]
    talks = [{"id": f"t{n}", "messages": [{"role": "user", "content": "my order"}, *answered]} for n in range(12)]
    (project / "recorded.json").write_text(json.dumps(talks))
    done = command("baseline", "save", "recorded.json", "--routes", "routes.yaml", "--to", "b.json")
    assert "12 steps of 1 intents kept" in done.stderr.replace("\n", " ")
    assert command("baseline", "compare", "b.json", "--against", "b.json").returncode == 0


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("shop", "expected module:factory"),
        ("shop:nothing", "cannot be loaded"),
        ("nowhere:make", "cannot be loaded"),
        ("shop:AIMessage", "24 ended by an error"),
        ("shop:broken", "no model"),
    ],
)
def test_an_agent_that_cannot_be_run_is_told(project, agent, said):
    done = command("replay", "talks.jsonl", "--agent", agent, "--routes", "routes.yaml")
    assert said in done.stderr.replace("\n", " ")
    assert done.returncode != 0


# agents of every kind -------------------------------------------------------------------------------------------------


@tool
def orders_db(order_id: str) -> dict:
    """Look an order up."""
    return {"order_id": order_id}


LINES = [ask(("orders_db", {"order_id": "A-1"})), "It has shipped."]


def a_graph(reach):
    return graph(reach.tool_node([orders_db]), [*LINES, *LINES], [orders_db])


def a_graph_that_remembers(reach):
    return graph(reach.tool_node([orders_db]), [*LINES, *LINES], [orders_db], checkpointer=InMemorySaver())


def an_executor(reach):
    prompt = ChatPromptTemplate.from_messages(
        [("placeholder", "{chat_history}"), ("human", "{input}"), ("placeholder", "{agent_scratchpad}")]
    )
    tools = reach.wrap_tools([orders_db])
    return AgentExecutor(agent=create_tool_calling_agent(Script(lines=[*LINES, *LINES]), tools, prompt), tools=tools)


def a_function(reach):
    look = track_reach(reach=reach, name="orders_db")(lambda order_id: {"order_id": order_id})

    def agent(messages):
        look("A-1")
        return AIMessage(f"{len(messages)} messages so far")

    return agent


def an_async_function(reach):
    look = track_reach(reach=reach, name="orders_db")(lambda order_id: {"order_id": order_id})

    async def agent(messages):
        look("A-1")
        return f"{len(messages)} messages so far"

    return agent


@pytest.mark.parametrize("make", [a_graph, a_graph_that_remembers, an_executor, a_function, an_async_function])
def test_agents_of_every_kind_can_be_asked(make):
    events = []
    reach = Reach({"intents": {"q": {"keywords": ["order"], "steps": [["orders_db"]]}}})
    reach.add_sink(events.append)
    with conversation(reach, make(reach), "s1") as asking:
        asking("where is my order")
        answer = asking("and the other order?")
    assert [(e.session, e.turn, e.intent) for e in events if isinstance(e, ToolCall)] == [("s1", 1, "q"), ("s1", 2, "q")]
    assert [e.turn for e in events if isinstance(e, Turn)] == [1, 2]
    assert reach.rates.overall("precise").value == 1.0
    if make in (a_function, an_async_function):
        assert "3 messages so far" in str(answer)


def test_what_is_no_agent_is_told():
    with pytest.raises(TypeError, match="expected a runnable or a function"), conversation(Reach(), 7, "s"):
        pass


# the pytest plugin ----------------------------------------------------------------------------------------------------

TESTS = """
import shop

def test_good(reach, assert_reach):
    run(reach, shop.orders_db)
    assert_reach(candidate=0.9, precise=1.0, intent="order_query")

def test_bad(reach, assert_reach):
    run(reach, shop.faq)
    assert_reach(candidate=0.9, intent="order_query")

def test_wrong_intent(reach, assert_reach):
    run(reach, shop.orders_db)
    assert_reach(candidate=0.9, intent="refund")

def run(reach, function):
    from langchain_core.runnables import RunnableLambda
    def agent(state):
        function("A-1")
        return "done"
    RunnableLambda(agent).invoke({"messages": [("user", "my order")]}, {"callbacks": [reach.tracker]})
"""


def test_the_plugin_asserts_reach_and_shows_the_misses_also_on_several_workers(project):
    (project / "test_shop.py").write_text(TESTS)
    (project / "pytest.ini").write_text("[pytest]\nreach_routes = routes.yaml\n")
    # Other plugins of this environment take half a minute to load.
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        "agent_reach.pytest_plugin",
        "-p",
        "xdist",
        "-n",
        "2",
        ".",
    ]
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120, env=env)
    assert "1 passed" in done.stdout, done.stdout
    assert "2 failed" in done.stdout
    assert "candidate of intent 'order_query': 0.00 (0 of 1), expected at least 0.90" in done.stdout
    assert "order_query needed orders_db, called faq (other_tool)" in done.stdout
    assert "no unit with a route closed (intents: ['order_query']" in done.stdout


def test_pytest_finds_the_plugin_by_itself():
    assert [point.value for point in entry_points(group="pytest11") if point.name == "agent_reach"] == ["agent_reach.pytest_plugin"]
