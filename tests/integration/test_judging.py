"""Intents and judgements by chat models, the review queue and derived tables, by function and by command."""

import json
import threading
import time

import pytest
import yaml
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from typer.testing import CliRunner

from agent_reach import ContractError, Reach, ReachError, Routes
from agent_reach.checks import routing_of_call
from agent_reach.checks.instructions import Act, TurnRecord, verdict_of
from agent_reach.cli import app
from agent_reach.contracts.instructions import Instructions
from agent_reach.events import ToolCall
from agent_reach.importers.review import Reviewer
from agent_reach.importers.scoring import Scoring
from agent_reach.integrations import answers
from agent_reach.integrations.answers import NONE, IntentClassifier, Judge, ModelCheck
from tests.integration.agents import ask, graph, user
from tests.integration.test_counting import find

ROUTES = Routes(
    intents={
        "order": {"keywords": ["order"], "steps": [["orders_db", "orders_cache"]]},
        "refund": {"keywords": ["refund"], "steps": [["orders_db"], ["pay"]]},
    }
)
TOOLS = {"orders_db": "Orders.", "orders_cache": "Orders, older.", "pay": "Pays.", "crm": "Customers."}


class Chooser(BaseChatModel):
    """Answers by a rule; counts how often it was asked."""

    rule: object
    name_: str = "chooser"
    asked: list = []

    @property
    def _llm_type(self):
        return "chooser"

    @property
    def model_name(self):
        return self.name_

    def bind_tools(self, tools, **kwargs):
        return self.bind(**kwargs)

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.asked.append(messages)
        choice = self.rule(messages[-1].content)
        call = {"name": "Choice", "args": {"choice": choice}, "id": "1", "type": "tool_call"}
        return ChatResult(generations=[ChatGeneration(message=AIMessage("", tool_calls=[call]))])


def down(_text):
    raise ConnectionError("no model")


def slow(_text):
    time.sleep(3)
    return "orders_db"


# intents --------------------------------------------------------------------------------------------------------------


def test_a_model_tells_the_intent_limited_to_the_tables_and_is_asked_once_for_a_text(tmp_path):
    model = Chooser(rule=lambda text: "refund" if "money" in text else NONE)
    classify = IntentClassifier(model, ROUTES, cache=tmp_path / "answers.jsonl")
    assert [classify(text) for text in ("my money", "hm", "my money")] == ["refund", None, "refund"]
    again = IntentClassifier(Chooser(rule=down), ROUTES, cache=tmp_path / "answers.jsonl")
    assert (again("my money"), len(model.asked), again.answers.failed) == ("refund", 2, 0)


def test_a_model_gives_units_their_intent_live_and_keywords_stand_in_when_it_is_down():
    for rule, intent in ((lambda _text: "refund", "refund"), (down, "order"), (lambda _text: "weather", "order")):
        routes = ROUTES.model_copy(update={"classifier": IntentClassifier(Chooser(rule=rule), ROUTES)})
        reach, events = Reach(routes), []
        reach.add_sink(events.append)
        app_ = graph(reach.tool_node([find]), [ask(("find", {"x": 1})), "done"], [find])
        app_.invoke(user("where is my order"), {"callbacks": [reach.tracker]})
        assert [event.intent for event in events if isinstance(event, ToolCall)] == [intent]


def test_a_table_without_intents_has_nothing_to_choose():
    with pytest.raises(ContractError, match="at least one label"):
        IntentClassifier(Chooser(rule=down), Routes())


# the judge ------------------------------------------------------------------------------------------------------------


def test_the_judge_sees_history_intent_and_descriptions_and_never_the_call():
    model = Chooser(rule=lambda _text: "crm")
    judge = Judge(model, TOOLS)
    assert judge([("user", "who am I"), ("assistant", "let me see")], "order") == "crm"
    [[system, asked]] = model.asked
    assert "crm: Customers." in system.content
    assert asked.content == "Intent: order\n\nuser: who am I\nassistant: let me see"


@pytest.mark.parametrize("rule", [down, slow, lambda _text: "no_such_tool", lambda _text: 7])
def test_a_judge_that_is_down_slow_or_names_no_registered_tool_gives_no_judgement(rule):
    judge = Judge(Chooser(rule=rule), TOOLS, timeout=0.3)
    begun = time.monotonic()
    assert judge([("user", "x")], "order") is None
    assert (judge.answers.failed, time.monotonic() - begun < 2) == (1, True)


def test_a_judge_that_stays_down_is_left_alone_and_asked_again_after_a_pause(monkeypatch):
    model = Chooser(rule=down)
    judge = Judge(model, TOOLS)
    assert [judge([("user", str(n))], "order") for n in range(20)] == [None] * 20
    assert (len(model.asked), judge.answers.failed) == (5, 20)
    model.rule = lambda _text: "crm"
    monkeypatch.setattr(answers, "monotonic", lambda: time.monotonic() + 61)
    assert judge([("user", "x")], "order") == "crm"


def test_answers_in_memory_are_bounded(monkeypatch):
    monkeypatch.setattr(answers, "_KEPT", 3)
    model = Chooser(rule=lambda _text: "crm")
    judge = Judge(model, TOOLS)
    for text in ("a", "b", "c", "d", "d", "a"):
        judge([("user", text)], "order")
    assert len(model.asked) == 5


def test_a_judge_that_is_the_agents_own_model_is_warned_of():
    with pytest.warns(UserWarning, match="agent's own model"):
        Judge(Chooser(rule=down, name_="gpt-x"), TOOLS, agent_model="openai:gpt-x")


def test_many_threads_may_ask(tmp_path):
    judge = Judge(Chooser(rule=lambda text: "crm" if "7" in text else "pay"), TOOLS, cache=tmp_path / "a.jsonl")
    found = {}
    threads = [threading.Thread(target=lambda n=n: found.__setitem__(n, judge([("user", f"n{n}")], ""))) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: "crm" if "7" in str(n) else "pay" for n in range(20)}
    assert len((tmp_path / "a.jsonl").read_text().splitlines()) == 20


def test_a_cache_that_is_none_is_told(tmp_path):
    (tmp_path / "a.jsonl").write_text("nonsense\n")
    with pytest.raises(ReachError, match="line 1"):
        Judge(Chooser(rule=down), TOOLS, cache=tmp_path / "a.jsonl")


def test_a_model_answers_an_outcome_check_and_an_instruction():
    model = Chooser(rule=lambda text: "yes" if "shipped" in text else "no")
    routes = Routes(
        intents={"order": {"steps": [{"tools": ["orders_db"], "outcome": ModelCheck(model, "Does this tell where it is?")}]}}
    )
    assert [routing_of_call(routes, "order", "crm", result).verdict for result in ({"at": "shipped"}, {"at": 7})] == [
        "alternative",
        "unneeded",
    ]
    kind = {
        "id": "kind",
        "then": {"check": ModelCheck(Chooser(rule=lambda text: "yes" if "sorry" in text else "no"), "Is it kind?")},
    }
    [atom] = Instructions(atoms=[kind]).atoms
    assert [verdict_of(atom, TurnRecord("x", "", (Act(text=text),))) for text in ("sorry", "no")] == ["obeyed", "disobeyed"]
    with pytest.raises(ReachError, match="no answer"):
        ModelCheck(Chooser(rule=down), "?")("x")


# the queue ------------------------------------------------------------------------------------------------------------


def talk(text, tool, n):
    calls = [{"id": "c", "type": "function", "function": {"name": tool, "arguments": "{}"}}]
    return {
        "id": f"{tool}-{n}",
        "reward": int(tool == "orders_db"),
        "messages": [
            {"role": "assistant", "content": "Hello!"},
            {"role": "user", "content": text},
            {"role": "assistant", "tool_calls": calls},
            {"role": "tool", "tool_call_id": "c", "content": '{"a": 1}'},
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "Thanks, that was all"},
            {"role": "assistant", "content": "Bye."},
        ],
    }


@pytest.fixture
def talks(tmp_path):
    path = tmp_path / "talks.json"
    path.write_text(json.dumps([talk("where is my order", tool, n) for tool in ("orders_db", "faq") for n in range(8)]))
    return path


def test_where_the_judge_differs_the_unit_is_in_no_rate_and_in_the_queue(talks):
    model = Chooser(rule=lambda text: "crm" if "where is my order" in text else "pay")
    reviewer = Reviewer(ROUTES, Judge(model, TOOLS), sample=0)
    scoring = Scoring(ROUTES, reviewer=reviewer)
    list(scoring.score(talks))
    assert (scoring.rates.ambiguous, scoring.rates.overall("precise").n) == (16, 0)
    assert {(item.why, item.judged, item.said) for item in reviewer.items} == {
        ("ambiguous", "crm", "where is my order"),  # reached, so that the unit closed with its turn
        ("ambiguous", "crm", "where is my order\nThanks, that was all"),
    }
    assert model.asked[0][-1].content == "Intent: order\n\nassistant: Hello!\nuser: where is my order"
    assert len(model.asked) == 1


def test_where_the_judge_agrees_the_table_stands_and_a_sample_is_looked_at(talks):
    reviewer = Reviewer(ROUTES, Judge(Chooser(rule=lambda _text: "orders_cache"), TOOLS), sample=1)
    scoring = Scoring(ROUTES, reviewer=reviewer)
    list(scoring.score(talks))
    assert (scoring.rates.ambiguous, scoring.rates.overall("precise").hits, scoring.rates.overall("precise").n) == (0, 8, 16)
    assert {(item.why, item.called) for item in reviewer.items} == {("guessed", ("faq",))}


def command(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def test_from_history_to_a_reviewed_table_by_the_command(tmp_path, talks, monkeypatch):
    labels, draft = tmp_path / "labels.yaml", tmp_path / "draft.yaml"
    labels.write_text("version: 1\nintents:\n  order: {keywords: [order]}\n")
    done = command("routes", "derive", talks, "--labels", labels, "--good", "reward>=1", "--to", draft)
    assert "order: 8 good units of 16" in done.output
    assert [step.tools for step in Routes.load(draft).steps("order")] == [("orders_db",)]

    tools, queue, new = tmp_path / "tools.json", tmp_path / "queue.yaml", tmp_path / "routes.yaml"
    tools.write_text(json.dumps(TOOLS))
    monkeypatch.setattr(answers, "chat_model", lambda name: Chooser(rule=lambda _text: "crm", name_=name))
    done = command("score", talks, "--routes", draft, "--judge", "x", "--tools", tools, "--review", queue)
    assert "16 units in doubt are in no rate; 16 to look at" in done.output
    items = yaml.safe_load(queue.read_text())
    items[0] |= {"decision": "correct", "tool": "crm", "step": 0}
    queue.write_text(yaml.safe_dump(items))
    done = command("review", queue, "--routes", draft, "--to", new)
    assert "1 of 16 decided" in done.output
    assert [step.tools for step in Routes.load(new).steps("order")] == [("orders_db", "crm")]
    assert Routes.load(new).version == "1-draft.1"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["routes", "derive", "TALKS", "--to", "x.yaml"], "none with an intent"),
        (["routes", "derive", "TALKS", "--to", "x.yaml", "--good", "=1"], "condition: expected KEY"),
        (["routes", "derive", "TALKS", "--to", "x.yaml", "--good", "colour=1"], "needs the key 'colour'"),
        (["routes", "derive", "TALKS", "--to", "x.yaml", "--good", "id>1"], "with a number"),
        (["score", "TALKS", "--classifier", "x"], "needs --routes"),
        (["score", "TALKS", "--routes", "ROUTES", "--judge", "x"], "needs --tools"),
        (["score", "TALKS", "--routes", "ROUTES", "--classifier", "nosuch:model"], "nosuch"),
    ],
)
def test_what_cannot_be_done_is_told(tmp_path, talks, arguments, said):
    routes = tmp_path / "routes.yaml"
    routes.write_text("version: 1\nintents:\n  order: {keywords: [order], steps: [[a]]}\n")
    filled = [{"TALKS": str(talks), "ROUTES": str(routes)}.get(argument, argument) for argument in arguments]
    with pytest.raises(ReachError, match=said):
        CliRunner().invoke(app, filled, catch_exceptions=False)
