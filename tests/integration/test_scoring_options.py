"""What `score`, `baseline` and `calibrate` refuse, keep, or say of what they were given."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent_reach import ContractError, Reach, ReachError
from agent_reach.cli import app
from agent_reach.evaluation.review import decide, load, save

ROUTES = "version: 1\nintents:\n  order: {keywords: [order], steps: [[db]]}\n  refund: {steps: [[pay]]}\n"


def talk(said="my order", tool="db", **facts):
    call = {"id": "c", "type": "function", "function": {"name": tool, "arguments": "{}"}}
    messages = [
        {"role": "user", "content": said},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": '{"a": 1}'},
        {"role": "assistant", "content": "Done."},
    ]
    return {"messages": messages, **facts}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("routes.yaml").write_text(ROUTES)
    Path("talks.json").write_text(json.dumps([talk(task_id=n) for n in range(12)]))
    return tmp_path


def run(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit | ReachError):
        raise done.exception
    return done


def refusal(*arguments):
    return str(run(*arguments).exception)


def test_a_record_that_names_its_intent_is_believed(folder):
    Path("talks.json").write_text(json.dumps([talk("hello", "pay", intent="refund"), talk(intent="refnd")]))
    done = run("score", "talks.json", "--routes", "routes.yaml", "--json")
    rates = json.loads(done.stdout)["rates"]["intents"]
    assert {intent: figures["candidate"]["value"] for intent, figures in rates.items()} == {"refund": 1.0, "order": 1.0}
    assert "1 records name the intent 'refnd', which is not in the table (order, refund)" in done.stderr
    assert "intent: expected one of order, refund, found 'refnd'" in refusal(
        "routes", "derive", "talks.json", "--labels", "routes.yaml", "--to", "d.yaml"
    )


@pytest.mark.parametrize("option", [("--judge", "openai:x"), ("--review", "q.yaml"), ("--tools", "t.json")])
def test_options_about_expectations_need_them(folder, option):
    Path("t.json").write_text('{"db": "x"}')
    assert f"{option[0]}: needs --routes" in refusal("score", "talks.json", *option)


def test_scoring_again_keeps_the_decisions_of_the_queue(folder):
    Path("talks.json").write_text(json.dumps([talk(tool="other", task_id=n) for n in range(4)]))
    queue = ("score", "talks.json", "--routes", "routes.yaml", "--review", "q.yaml", "--sample", 1)
    run(*queue)
    items = load("q.yaml")
    assert {item.called for item in items} == {("other",)}
    save([decide(items[0], "drop"), *items[1:]], "q.yaml")
    done = run(*queue)
    assert [item.decision for item in load("q.yaml")].count("drop") == 1
    assert len(load("q.yaml")) == len(items)
    assert "1 decisions in q.yaml were kept" in done.stderr


def test_a_recording_under_another_name_is_the_same_conversations(folder):
    run("baseline", "save", "talks.json", "--routes", "routes.yaml", "--to", "a.json")
    Path("later.json").write_text(json.dumps([talk(tool="other", task_id=n) for n in range(12)]))
    run("baseline", "save", "later.json", "--routes", "routes.yaml", "--to", "b.json")
    done = run("baseline", "compare", "b.json", "--against", "a.json")
    assert (done.exit_code, "drift" in done.stdout) == (1, True)


def test_runs_without_a_conversation_in_common_are_not_compared(folder):
    Path("others.json").write_text(json.dumps([talk(id=f"x{n}") for n in range(3)]))
    for name in ("talks", "others"):
        run("baseline", "save", f"{name}.json", "--routes", "routes.yaml", "--to", f"{name}.base")
    assert "no conversation in common" in refusal("baseline", "compare", "talks.base", "--against", "others.base")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("score", "empty.json"), "a conversation, found an empty list"),
        (("score", "talks.json", "--instructions", "none.yaml"), "atoms"),
        (("baseline", "save", "talks.json", "--routes", "bare.yaml", "--to", "b.json"), "no task unit has a route"),
        (("replay", "silent.json", "--agent", "json:dumps", "--routes", "routes.yaml"), "expected conversations with messages of a user"),
        (("review", "q.yaml", "--routes", "nowhere.yaml"), "a readable UTF-8 file"),
        (("score", "talks.json", "--routes", "routes.yaml", "--review", "nowhere/q.yaml"), "cannot be written"),
        (("replay", "talks.json", "--agent", "json:dumps", "--routes", "routes.yaml", "--save", "nowhere/b.json"), "cannot be written"),
        (("calibrate", "talks.json", "--good", "reward>>1"), "expected one of >=, <="),
        (("calibrate", "binary", "--relevance"), "a readable UTF-8 file"),
        (("baseline", "compare", "binary"), "a file that `agent-reach baseline save` wrote"),
        (("baseline", "compare", "empty.json"), "a file that `agent-reach baseline save` wrote"),
        (("score", "talks.json", "--outlook", "binary"), "what `agent-reach calibrate --outlook` wrote"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_one_short_line(folder, arguments, said):
    Path("empty.json").write_text("[]")
    Path("silent.json").write_text('[{"messages": [{"role": "assistant", "content": "Hi."}]}]')
    Path("none.yaml").write_text("version: 1\n")
    Path("bare.yaml").write_text("intents:\n  order: {keywords: [order]}\n")
    Path("q.yaml").write_text("[]")
    Path("binary").write_bytes(b"\x7fELF\xd0\xff" * 1_000)
    text = refusal(*arguments)
    assert said in text
    assert len(text) < 300


def test_a_fragment_of_the_context_that_is_no_text_is_refused_where_it_is_given():
    with Reach().session("s") as session, pytest.raises(ContractError, match="context: expected texts"):
        session.context(["a", "b"])


def test_live_figures_can_be_printed(folder):
    reach = Reach("routes.yaml", instructions={"atoms": [{"id": "short", "then": {"max_chars": 5}}]})
    assert "candidate 0 of 0" in str(reach.rates)
    assert str(reach.coverage) == "Coverage(short 0 of 0)"
    with reach.session("s") as session:
        assert "0 of 0 of the fragments" in str(session.utilisation)
