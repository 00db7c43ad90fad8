"""Every code block of the README and of the other pages runs."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from typer.testing import CliRunner

from agent_reach import Routes, Topology
from agent_reach.cli import app
from agent_reach.contracts.instructions import Instructions
from agent_reach.evaluation.baseline import Baseline
from agent_reach.evaluation.review import save
from agent_reach.importers.scoring import Scoring
from agent_reach.server.alerts import Rules
from tests.integration.agents import Script, ask
from tests.integration.serving import serving

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
BLOCKS = [(page.name, *match) for page in PAGES for match in re.findall(r"```(\w+)\n(.*?)```", page.read_text(), re.S)]


def blocks(language):
    return [text for _, found, text in BLOCKS if found == language]


@tool
def orders_db(order_id: str) -> dict:
    """Look an order up."""
    return {"order_id": order_id}


def world():
    """What the README's fragments take for granted: a model, tools, a graph, a question."""
    lines = [ask(("orders_db", {"order_id": "A-1"})), "It has shipped."]
    model = Script(lines=lines)
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [Script(lines=lines).invoke(state["messages"])]})
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)

    def make_executor(tools):
        prompt = ChatPromptTemplate.from_messages([("human", "{input}"), ("placeholder", "{agent_scratchpad}")])
        return AgentExecutor(agent=create_tool_calling_agent(Script(lines=lines), tools, prompt), tools=tools)

    question = {"messages": [("user", "Where is my order?"), ask(("orders_db", {"order_id": "A-1"}))]}

    def make_agent(reach):
        return make_executor(reach.wrap_tools([orders_db]))

    return {
        "model": model,
        "graph": graph,
        "tools": [orders_db],
        "question": question,
        "make_executor": make_executor,
        "make_agent": make_agent,
        "pytest": pytest,
    }


@pytest.fixture
def reach_routes(tmp_path):
    (tmp_path / "routes.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    return tmp_path / "routes.yaml"


def test_all_python_blocks_run_one_after_another(tmp_path, monkeypatch, capsys, reach, assert_reach):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "routes.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    names = world()
    for text in blocks("python"):
        exec(compile(text, "README.md", "exec"), names)
    assert "ReachScore(tool=1.0" in capsys.readouterr().out
    assert names["reach"].runtime.policy.human == "interrupt"
    names["test_orders_reach_their_tool"](reach, assert_reach)


def test_all_yaml_blocks_are_route_tables_alert_rules_instructions_or_topologies(tmp_path):
    for text in blocks("yaml"):
        path = tmp_path / "declared.yaml"
        path.write_text(text, encoding="utf-8")
        if "\nrules:" in text:
            assert Rules.load(path).rules
        elif "\nnodes:" in text:
            assert Topology.load(path).levels
        elif "\natoms:" in text:
            assert Instructions.load(path).atoms
        else:
            assert Routes.load(path).steps("order_query")


SHOP = """
from agent_reach import track_reach

@track_reach
def orders_db(order_id):
    return {"order_id": order_id}

def make_agent(reach=None):
    return lambda messages: f"It has shipped: {orders_db('A-1')}"
"""


def write_files(folder):
    """What the README's commands take for granted."""
    call = {"id": "c", "type": "function", "function": {"name": "orders_db", "arguments": "{}"}}
    talks = [
        {
            "id": f"talk-{n}",
            "reward": n % 2,
            "messages": [
                {"role": "user", "content": "Where is my order?"},
                {"role": "assistant", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c", "content": '{"a": 1}' if n % 2 else "[]"},
                {"role": "assistant", "content": "It has shipped."},
            ],
        }
        for n in range(24)
    ]
    (folder / "conversations.json").write_text(json.dumps(talks))
    (folder / "events.jsonl").write_text(
        '{"v": 1, "kind": "tool_call", "session": "s", "turn": 1, "unit": 1, "tool": "orders_db"}\n'
    )
    (folder / "routes.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    (folder / "shop.py").write_text(SHOP)
    (folder / "order.yaml").write_text(next(text for text in blocks("yaml") if "\nnodes:" in text))
    save([], folder / "queue.yaml")
    run = Baseline()
    list(Scoring(Routes.load(folder / "routes.yaml"), keep=run.observe).score(folder / "conversations.json"))
    for name in ("baseline.json", "recorded.json"):
        run.save(folder / name)


def commands():
    lines = [line.partition("#")[0].strip() for text in blocks("console") for line in text.splitlines()]
    return [shlex.split(line) for line in lines if line]


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_all_commands_are_there_and_run(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if command[0] == "make":
        assert re.search(rf"^{command[1]}:", (ROOT / "Makefile").read_text(), re.M)
        return
    if command[1] == "serve":
        with serving(Path(command[command.index("--data") + 1])) as served:
            assert served.health()["ok"]
        return
    write_files(tmp_path)
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    if command[1] == "compare":
        for name in command[2:4]:
            assert CliRunner().invoke(app, f"eval order.yaml --agent shop:make_agent --out {name}".split()).exit_code == 0
    done = CliRunner().invoke(app, command[1:])
    assert done.exit_code == 0, done.output


def test_no_block_is_left_out():
    assert {language for _, language, _ in BLOCKS} <= {"python", "yaml", "console", "text"}
