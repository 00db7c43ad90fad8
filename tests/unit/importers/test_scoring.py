import json

import pytest

from agent_reach import FormatError, Routes
from agent_reach.events import ToolCall, Turn, UnitClosed, line_from_event
from agent_reach.importers import scoring as module
from agent_reach.importers.files import is_event_lines, read_conversations
from agent_reach.importers.scoring import Scoring
from agent_reach.importers.scoring import figures as figures_of

CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"x": 1}'}}
CHAT = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "[]"},
    {"role": "assistant", "content": "done"},
]


def figures(tmp_path, data, routes=None, text=None):
    path = tmp_path / "file.json"
    path.write_text(text or json.dumps(data), encoding="utf-8")
    return total(path, routes)


def total(path, routes=None):
    scoring = Scoring(routes)
    list(scoring.score(path))
    return figures_of(scoring.total, scoring.used)


def counts(found):
    return found["calls"], found["ok"], found["failed"], found["empty"], found["uncounted"]


def with_result(content, **more):
    return [*CHAT[:2], {"role": "tool", "tool_call_id": "c1", "content": content, **more}, CHAT[3]]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda c: c,
        lambda c: [c],
        lambda c: {"messages": c},
        lambda c: [{"traj": c}, {"history": c}][:1],
        lambda c: {"output": {"messages": c}},
    ],
)
def test_conversations_are_found_wherever_they_stand(tmp_path, wrap):
    assert counts(figures(tmp_path, wrap(CHAT))) == (1, 0, 0, 1, 0)


def test_lines_of_conversations_and_lines_of_messages_are_read(tmp_path):
    one_a_line = "\n".join(json.dumps({"messages": CHAT}) for _ in range(3))
    assert counts(figures(tmp_path, None, text=one_a_line)) == (3, 0, 0, 3, 0)
    message_a_line = "\n".join(json.dumps(m) for m in CHAT)
    assert counts(figures(tmp_path, None, text=message_a_line)) == (1, 0, 0, 1, 0)


LANGCHAIN = [
    [
        {"type": "human", "content": "hi"},
        {"type": "ai", "content": "", "tool_calls": [{"name": "find", "args": {"x": 1}, "id": "c1"}]},
        {"type": "tool", "content": "boom", "tool_call_id": "c1", "status": "error"},
    ],
    [
        {"type": "human", "data": {"content": "hi"}},
        {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "find", "args": {}, "id": "c1"}]}},
        {"type": "tool", "data": {"content": "Error: boom", "tool_call_id": "c1"}},
    ],
    [
        {"lc": 1, "type": "constructor", "id": ["x", "HumanMessage"], "kwargs": {"content": "hi"}},
        {
            "lc": 1,
            "type": "constructor",
            "id": ["x", "AIMessage"],
            "kwargs": {"content": "", "tool_calls": [{"name": "find", "args": {}, "id": "c1"}]},
        },
        {"lc": 1, "type": "constructor", "id": ["x", "ToolMessage"], "kwargs": {"content": '{"error": "x"}', "tool_call_id": "c1"}},
    ],
    [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "find", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x", "is_error": True}]},
    ],
    [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "function_call": {"name": "find", "arguments": "{}"}},
        {"role": "function", "name": "find", "content": "Error: x"},
    ],
]


@pytest.mark.parametrize("messages", LANGCHAIN)
def test_other_dialects_are_read(tmp_path, messages):
    assert counts(figures(tmp_path, messages)) == (1, 0, 1, 0, 0)


def test_python_literals_and_calls_without_ids_are_read(tmp_path):
    calls = [{"type": "function", "function": {"name": n, "arguments": "{'x': None, 'y': 'a\\'b'}"}} for n in ("a", "b")]
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": calls}]
    chat += [{"role": "tool", "name": "b", "content": "[]"}, {"role": "tool", "name": "a", "content": "x"}]
    path = tmp_path / "f.json"
    path.write_text(json.dumps(chat))
    seen = []
    list(Scoring(keep=seen.append).score(path))
    assert [(e.tool, e.status, e.argument_names) for e in seen if isinstance(e, ToolCall)] == [
        ("b", "empty_alias", ("x", "y")),
        ("a", "ok", ("x", "y")),
    ]


def test_a_call_that_nothing_answers_is_not_counted(tmp_path):
    assert counts(figures(tmp_path, CHAT[:2])) == (1, 0, 0, 0, 1)


def test_a_conversation_may_begin_in_the_middle(tmp_path):
    assert counts(figures(tmp_path, [{"role": "tool", "content": "x"}, *CHAT[1:]])) == (1, 0, 0, 1, 0)


def test_a_route_table_gives_expectations(tmp_path):
    routes = Routes(intents={"q": {"keywords": ["hi"], "steps": [["find"], ["book"]]}})
    assert figures(tmp_path, with_result("yes"), routes)["tool"] == 0.5
    assert figures(tmp_path, with_result("yes"))["tool"] == 1.0


@pytest.mark.parametrize(
    ("text", "record", "key"),
    [
        ("", None, ""),
        ("nonsense", 0, ""),
        ("[1, 2]", 0, "record"),
        ('{"a": 1}', 0, "record"),
        ('{"messages": 3}', 0, "messages"),
        ('[{"messages": []}, {"messages": [7]}]', 1, "message 0: message"),
        ('[{"messages": [{"content": "x"}]}]', 0, "message 0: role"),
        ('[{"messages": [{"role": "assistant", "tool_calls": [{"function": {}}]}]}]', 0, "message 0: tool_calls[0].name"),
        ('[{"messages": [{"role": "assistant", "tool_calls": "x"}]}]', 0, "message 0: tool_calls"),
    ],
)
def test_what_cannot_be_read_is_told_with_file_record_and_key(tmp_path, text, record, key):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"bad\.json") as caught:
        list(read_conversations(path))
    assert (caught.value.record, caught.value.key) == (record, key)


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(FormatError, match="readable"):
        is_event_lines(tmp_path / "nowhere.json")


def test_recorded_events_give_the_same_figures_again_also_interleaved(tmp_path):
    events = [
        ToolCall(session="a", turn=1, unit=1, tool="x", time=1),
        ToolCall(session="b", turn=1, unit=1, tool="x", status="fail", first_status="fail", time=2),
        UnitClosed(session="a", turn=1, unit=1, needs=2, reached=1),
        Turn(session="b", turn=1, unit=1, time=3),
    ]
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(map(line_from_event, events)) + "\n")
    assert is_event_lines(path)
    assert {row["session"]: row["tool"] for row in Scoring().score(path)} == {"a": 0.5, "b": 0.0}
    assert {row["session"]: row["tool"] for row in Scoring(Routes()).score(path)} == {"a": 1.0, "b": 0.0}


def stream(sessions):
    """Sessions of two turns, interleaved, as they were observed live."""
    found = []
    for turn in (1, 2):
        for number in range(sessions):
            where = {"session": f"s{number}", "turn": turn, "unit": turn, "intent": "q"}
            tool = ("find", "book", "other")[number % 3]
            found.append(ToolCall(**where, tool=tool, time=turn * 1000 + number, status=("ok", "fail")[number % 2]))
            found.append(Turn(**where, time=turn * 1000 + number))
            found.append(UnitClosed(**where, needs=1, reached=int(number % 2 == 0)))
    return found


TABLE = Routes(intents={"q": {"steps": [["find"], ["book"]]}})


@pytest.mark.parametrize("routes", [None, TABLE], ids=["as recorded", "by a route table"])
def test_several_processes_and_one_come_to_the_same(tmp_path, monkeypatch, routes):
    monkeypatch.setattr(module, "WORTH_PROCESSES", 0)
    path = tmp_path / "events.jsonl"
    nameless = [ToolCall(tool="find", unit=1, turn=1), ToolCall(session="é", tool="find", unit=1, turn=1)]
    lines = [line_from_event(event) for event in [*stream(40), *nameless]]
    lines.append(lines[-1].replace("\\u00e9", "é"))  # another writer's way to write the same session
    path.write_text("\n".join(lines), encoding="utf-8")
    alone, together = Scoring(routes), Scoring(routes)

    def ordered(rows):
        return sorted(rows, key=lambda row: row["session"])

    assert ordered(alone.score_all([path], 1)) == ordered(together.score_all([path], 2))
    assert alone.total == together.total
    assert alone.to_record() == together.to_record()
    assert bool(alone.rates.trials) == (routes is not None)


def test_a_session_that_many_others_followed_is_over(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SESSIONS_KEPT", 10)
    path = tmp_path / "events.jsonl"
    path.write_text("".join(line_from_event(event) + "\n" for event in stream(40)))
    scoring = Scoring()
    rows = list(scoring.score(path))
    assert (len(rows), scoring.total.calls.total(), scoring.total.closed) == (80, 80, 80)


def test_a_broken_line_among_events_is_told(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(line_from_event(ToolCall(session="a")) + "\nnonsense\n")
    with pytest.raises(FormatError, match="record 1"):
        list(Scoring().score(path))


def test_tau_airline_comes_out_as_counted_by_hand(data):
    scoring = Scoring()
    assert len(list(scoring.score(data / "tau_airline" / "runs.json"))) == 100
    assert counts(figures_of(scoring.total, scoring.used)) == (577, 547, 21, 9, 0)


@pytest.mark.parametrize("name", ["assertions", "preconditions", "tool_calling"])
def test_tau_retail_is_read_whole_with_literals_and_without_ids(data, name):
    path = data / "tau_retail" / f"{name}.json"
    raw = json.loads(path.read_text())
    calls = sum(len(m.get("tool_calls") or ()) for r in raw for m in r["traj"])
    assert counts(total(path))[0] == calls


def test_every_real_conversation_can_be_read(data):
    for path in (data / "who_and_when").glob("*/*.json"):
        assert next(iter(read_conversations(path))).messages


def test_a_conversation_of_ten_thousand_turns_is_scored_like_a_short_one(tmp_path):
    path = tmp_path / "long.json"
    turns = [{**CHAT[0], "content": "order please"}, *with_result('{"a": 1}')[1:]]
    path.write_text(json.dumps(turns * 10_000))
    routes = Routes(intents={"q": {"keywords": ["order"], "steps": [["find"], ["book"]]}})
    scoring = Scoring(routes)
    [row] = scoring.score(path)
    assert (row["calls"], row["tool"]) == (10_000, 0.5)
    assert (scoring.rates.overall("candidate").hits, scoring.rates.overall("candidate").n) == (1, 2)
