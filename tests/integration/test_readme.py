"""Every code block of the README and of the other pages runs."""

import re
import shlex
from pathlib import Path

import pytest
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from typer.testing import CliRunner

from agent_reach import Routes
from agent_reach.cli import app
from agent_reach.contracts.instructions import Instructions
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
    return {"model": model, "graph": graph, "tools": [orders_db], "question": question, "make_executor": make_executor}


def test_all_python_blocks_run_one_after_another(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "routes.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    names = world()
    for text in blocks("python"):
        exec(compile(text, "README.md", "exec"), names)
    assert "ReachScore(tool=1.0" in capsys.readouterr().out
    assert names["reach"].runtime.policy.human == "interrupt"


def test_all_yaml_blocks_are_route_tables_alert_rules_or_instructions(tmp_path):
    for text in blocks("yaml"):
        path = tmp_path / "declared.yaml"
        path.write_text(text, encoding="utf-8")
        if "\nrules:" in text:
            assert Rules.load(path).rules
        elif "\natoms:" in text:
            assert Instructions.load(path).atoms
        else:
            assert Routes.load(path).steps("order_query")


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
    (tmp_path / "conversations.json").write_text('[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]')
    (tmp_path / "events.jsonl").write_text(
        '{"v": 1, "kind": "tool_call", "session": "s", "turn": 1, "unit": 1, "tool": "orders_db"}\n'
    )
    (tmp_path / "routes.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    done = CliRunner().invoke(app, command[1:])
    assert done.exit_code == 0, done.output


def test_no_block_is_left_out():
    assert {language for _, language, _ in BLOCKS} <= {"python", "yaml", "console", "text"}
