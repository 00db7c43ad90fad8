"""One suite for every store: what SQL says equals what the pure functions say of the same events."""

import json
import random
import shutil
import time
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent_reach.contracts import Routes, Weights
from agent_reach.contracts.instructions import Instructions
from agent_reach.errors import StoreError, UnreadableSegment
from agent_reach.events import Handoff, NodeReached, Retrieval, TaskRun, ToolCall, Turn, UnitClosed
from agent_reach.scores import Tally
from agent_reach.scores.coverage import Coverage
from agent_reach.scores.rate import RateTally
from agent_reach.scores.reach import reach_score
from agent_reach.scores.utilisation import Place, Utilisation
from agent_reach.server.figures import figures_of
from agent_reach.server.panel.evaluations import tasks
from agent_reach.store import open_store
from agent_reach.store.spool import varint
from agent_reach.telemetry.resend import encode_events
from tests.integration.serving import clickhouse_front
from tests.streams import live, random_stream

NOW = int(time.time()) // 60 * 60 * 10**9
REFRESH = ("refresh_agents", "refresh_tools", "refresh_steps", "refresh_atoms", "refresh_sources", "refresh_context")
EVERYTHING = {"from": NOW / 1e9 - 86_400, "to": NOW / 1e9 + 86_400, "agent": "", "intent": "", "version": ""}


@pytest.fixture(params=["memory", pytest.param("clickhouse", marks=pytest.mark.long)])
def store(request, tmp_path):
    """What is in memory is chDB, too, in a folder that goes with it; a server is the same engine behind another client, which
    `test_clickhouse.py` goes through."""
    if request.param == "memory":
        opened = open_store("memory:", tmp_path / "store")
        yield opened
        opened.close()
        return
    with clickhouse_front(tmp_path / "front") as port:
        opened = open_store(f"clickhouse://default@127.0.0.1:{port}/", tmp_path / "store")
        yield opened
        opened.close()


def segment(folder, events, name="a"):
    body, _ = encode_events(events, "shop")
    path = folder / f"{name}.otlp"
    path.write_bytes(varint(len(body)) + body)
    return path


def stream(seed):
    """What the evaluator emits for a random stream, as it would come from an agent: with ids, times, agents and traces."""
    dice = random.Random(seed)
    emitted = live(random_stream(dice))[1]
    made, turn_of = [], {}
    for number, event in enumerate(emitted):
        where = {
            "session": f"{seed}-{event.session}",
            "id": f"{seed:08x}{number:08x}",
            "trace": f"{seed + 1:032x}",
            "agent": dice.choice(["orders", "refunds"]),
            "time": NOW + number * 20 * 10**9,
        }
        made.append(replace(event, **where))
        if isinstance(event, Turn):
            turn_of[where["session"]] = where
    return made


def write(store, folder, seeds):
    events = [event for seed in seeds for event in stream(seed)]
    store.write_segment(segment(folder, events))
    return events


def refresh(store):
    for statement in REFRESH:
        store.execute(statement, since=0.0, now=time.time())


def tallies(events, key):
    found = defaultdict(Tally)
    for event in events:
        found[key(event)].add(event)
    return found


def same(row, score):
    for link in ("tool", "knowledge", "task", "total"):
        wanted = getattr(score, link)
        assert (row[link] is None) == (wanted is None), (row, link, wanted)
        assert wanted is None or row[link] == pytest.approx(wanted, abs=1e-9)
    assert row["band"] == score.band


def test_sql_scores_every_session_as_the_pure_functions_do(store, tmp_path):
    events = write(store, tmp_path, range(120))
    expected = tallies(events, lambda event: event.session)
    rows = {row["session"]: row for row in store.select("sessions", sessions=list(expected))}
    assert rows.keys() == expected.keys()
    routes = Routes()
    for session, tally in expected.items():
        same(rows[session], reach_score(tally, routes.weights, routes.thresholds))
        calls = {
            "calls": tally.calls.total(),
            "ok": tally.calls["ok"],
            "failed": tally.calls["fail"],
            "empty": tally.calls["empty_alias"],
        }
        assert calls.items() <= rows[session].items()


def test_other_weights_and_absent_links_are_scored_alike(store, tmp_path):
    events = write(store, tmp_path, range(40))
    routes = Routes(weights=Weights(tool=0.5, knowledge=0.2, task=0.3, taken_penalty=0.35, absent="full"))
    store.execute("settings", tool=0.5, knowledge=0.2, task=0.3, taken_penalty=0.35, absent_full=True, healthy=0.9, degraded=0.75)
    expected = tallies(events, lambda event: event.session)
    rows = {row["session"]: row for row in store.select("sessions", sessions=list(expected))}
    for session, tally in expected.items():
        same(rows[session], reach_score(tally, routes.weights, routes.thresholds))


def test_minute_snapshots_add_up_to_the_figures_of_each_agent(store, tmp_path):
    events = write(store, tmp_path, range(60))
    refresh(store)
    routes = Routes()
    found = store.select("agents", **EVERYTHING)
    rows = {row["agent"]: row for row in found if not row["together"]}
    assert found[-1]["sessions"] == len({event.session for event in events})
    for agent, tally in tallies(events, lambda event: event.agent).items():
        expected, found = reach_score(tally, routes.weights, routes.thresholds), figures_of(rows[agent], routes)
        for link in ("tool", "knowledge", "task", "total"):
            wanted = getattr(expected, link)
            assert getattr(found, link) == (wanted if wanted is None else pytest.approx(wanted, abs=1e-9))
        assert rows[agent]["calls"] == tally.calls.total()
        assert rows[agent]["taken"] == sum(shape.taken * n for shape, n in tally.units.items())
        sessions = {event.session for event in events if event.agent == agent}
        assert rows[agent]["sessions"] == len(sessions)


def test_snapshots_taken_again_change_nothing(store, tmp_path):
    write(store, tmp_path, range(10))
    refresh(store)
    before = store.select("agents", **EVERYTHING)
    refresh(store)
    again = store.select("agents", **EVERYTHING)
    assert [{**row, "taken_at": 0} for row in again] == [{**row, "taken_at": 0} for row in before]
    tools = {row["tool"]: row["calls"] for row in store.select("tools", **EVERYTHING)}
    assert sum(tools.values()) == before[-1]["calls"]


def test_spans_that_come_twice_count_once(store, tmp_path):
    events = stream(7)
    store.write_segment(segment(tmp_path, events, "first"))
    store.write_segment(segment(tmp_path, events, "again"))
    refresh(store)
    calls = sum(isinstance(event, ToolCall) for event in events)
    assert store.select("agents", **EVERYTHING)[-1]["calls"] == calls
    sessions = sorted({event.session for event in events})
    assert sum(row["calls"] for row in store.select("sessions", sessions=sessions)) == calls


def test_a_segment_that_is_written_twice_is_stored_once(store, tmp_path):
    path = segment(tmp_path, stream(3))
    store.write_segment(path)
    before = store.select("stored")
    store.write_segment(path)
    assert store.select("stored") == before
    assert before[0]["spans"] > 0


def test_a_segment_that_is_none_is_refused_and_the_next_one_taken(store, tmp_path):
    bad = tmp_path / "bad.otlp"
    bad.write_bytes(varint(200) + b"\xff" * 200)
    with pytest.raises(UnreadableSegment, match="bad"):
        store.write_segment(bad)
    store.write_segment(segment(tmp_path, stream(1)))
    assert store.select("stored")[0]["events"] > 0


def test_sql_in_a_value_stays_a_value(store, tmp_path):
    evil = "'; DROP TABLE agent_reach.reach_events; --\\"
    call = ToolCall(session=evil, agent=evil, tool=evil, status="fail", fail_cause="other", time=NOW, id="a" * 16, trace="b" * 32)
    store.write_segment(segment(tmp_path, [call]))
    refresh(store)
    assert [row["tool"] for row in store.select("session_events", session=evil, limit=5, begun=0.0, seen=2e9)] == [evil]
    assert store.select("agents", **{**EVERYTHING, "agent": evil})[0]["failed"] == 1
    assert store.select("agents", **{**EVERYTHING, "agent": "\t\n\\N"}) == []


def test_every_query_of_the_panel_runs_on_an_empty_store(store):
    from agent_reach.store.named import queries

    more = {"limit": 5, "bucket": 60, "session": "s", "trace": "t", "id": "i", "search": "", "broken": False,
            "since": 0.0, "settled": 0.0, "silent": 0.0, "sessions": ["a", "b'"], "begun": 0.0, "seen": 1e9}  # fmt: skip
    for name, statement in queries().items():
        if not statement.lstrip("- \n").startswith("INSERT") and "INSERT INTO" not in statement:
            store.select(name, **EVERYTHING, **more)


def test_the_verdicts_of_retrievals_and_handoffs_reach_their_rows(store, tmp_path):
    where = {"session": "s", "agent": "a", "trace": "c" * 32}
    events = [
        Retrieval(**where, id="1" * 16, time=NOW, source="faq", retrieved=4, relevant=1, admitted=1, ideal=2),
        Handoff(**where, id="2" * 16, time=NOW + 1, sender="a", receiver="b", missing=("order_id",)),
        UnitClosed(**where, id="3" * 16, time=NOW + 2, needs=2, reached=1, first_reached=0, taken=1, guessed=True),
    ]
    store.write_segment(segment(tmp_path, events))
    refresh(store)
    source = store.select("sources", **EVERYTHING)[0]
    assert (source["retrieved"], source["admitted"], source["recall"], source["hit"]) == (4, 1, 0.5, 0.25)
    failures = store.select("failures", **EVERYTHING, limit=9)
    assert {(row["kind"], row["missing"]) for row in failures} == {("handoff", '["order_id"]'), ("retrieval", "")}
    assert store.select("sessions", sessions=["s"])[0]["tool"] == pytest.approx(0.3)


def test_routing_by_step_is_what_the_pure_function_counts(store, tmp_path):
    events = write(store, tmp_path, range(60))
    refresh(store)
    expected = RateTally()
    for event in events:
        expected.observe(event)
    rows = {(row["intent"], row["needed"], row["turns"]): row for row in store.select("heat", **EVERYTHING)}
    for figure in ("candidate", "precise", "first"):
        rates = expected.rates(figure, ["intent", "tool", "turns"])
        assert {key: (row[figure], row["n"]) for key, row in rows.items()} == {key: (r.hits, r.n) for key, r in rates.items()}
    found = store.select("misses", **EVERYTHING, limit=10_000)
    misses = {(m.session, m.cell.tool, m.reason, m.called) for m in expected.misses}
    assert found
    assert {(m["session"], m["needed"], m["reason"], tuple(json.loads(m["called"] or "[]"))) for m in found} <= misses


def test_context_utilisation_by_place_is_what_the_pure_function_counts(store, tmp_path):
    where = {"session": "s", "agent": "a", "trace": "c" * 32}
    turns = [
        Turn(
            **where,
            id=f"{n + 1:016x}",
            time=NOW + n,
            context_sources=tuple("ab"[i % 2] for i in range(n)),
            context_groups=tuple("stock" if i % 3 else "" for i in range(n)) if n % 2 else (),
            context_cited=tuple("1" if (i + n) % 3 == 0 else "0" for i in range(n)),
        )
        for n in range(12)
    ]
    store.write_segment(segment(tmp_path, turns))
    refresh(store)
    expected, found = Utilisation(), Utilisation()
    for turn in turns:
        expected.observe(turn)
    for row in store.select("utilisation", **EVERYTHING, bucket=60):
        found.add(Place("", row["label"], row["fifth"]), row["n"], row["cited"])
    assert found.by("fifth") == expected.by("fifth")
    assert found.by("label") == expected.by("label")
    sources = {row["source"]: (row["cited"], row["injected"]) for row in store.select("sources", **EVERYTHING)}
    assert sources == {source: (rate.hits, rate.n) for source, rate in expected.by("source").items()}


def test_instructions_by_atom_are_what_the_pure_function_counts(store, tmp_path):
    where = {"session": "s", "agent": "a", "trace": "c" * 32}
    told = [("obeyed be kind", "disobeyed short"), ("over_obeyed be kind",), (), ("obeyed be kind", "obeyed short")]
    turns = [Turn(**where, id=f"{n + 1:016x}", time=NOW + n, instructions=texts) for n, texts in enumerate(told)]
    store.write_segment(segment(tmp_path, turns))
    refresh(store)
    atoms = [{"id": "be kind", "then": {"not_say": "x"}}, {"id": "short", "then": {"max_chars": 9}}]
    coverage = Coverage(Instructions(atoms=atoms))
    for turn in turns:
        coverage.observe_event(turn)
    rows = {row["atom"]: (row["obeyed"], row["triggered"], row["over"]) for row in store.select("atoms", **EVERYTHING)}
    assert rows == {atom: (*coverage.rate(atom)[:2], coverage.over_obeyed[atom]) for atom in ("be kind", "short")}


def test_the_newest_word_of_each_process_tells_whether_a_breaker_is_open(store):
    begun = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=1)
    rows = [("p1", "pay", 0.0, 1.0), ("p1", "pay", 5.0, 0.0), ("p2", "pay", 3.0, 1.0), ("p1", "find", 1.0, 0.0)]
    counters = [
        {"time": (begun + timedelta(seconds=at)).strftime("%Y-%m-%d %H:%M:%S"), "service": "desk", "instance": instance, "name": "agent_reach.breaker.open",
         "attributes": {"gen_ai.tool.name": tool}, "value": value}
        for instance, tool, at, value in rows
    ]  # fmt: skip
    store.insert("reach_counters", counters)
    found = store.select("breakers", since=begun.timestamp())
    assert [(row["tool"], row["open"], row["processes"]) for row in found] == [("pay", 1, 2), ("find", 0, 1)]


def test_runs_of_evaluations_are_counted_by_task_and_agent(store, tmp_path):
    run = {
        "time": NOW,
        "task": "refund",
        "version": "1",
        "agent_version": "v2",
        "ended": "finished",
        "composite": 0.5,
        "depth": 0.5,
    }
    node = {"task": "refund", "node_type": "must", "time": NOW}
    events = [
        TaskRun(**run, id="00000000000000a1", trace=f"{1:032x}", run=1, gate=True, purity=1.0, tokens=10, session="refund#1"),
        NodeReached(**node, id="n1", parent="00000000000000a1", trace=f"{1:032x}", node="look", level=1),
        NodeReached(**node, id="n2", parent="00000000000000a1", trace=f"{1:032x}", node="pay", level=2),
        TaskRun(**run, id="00000000000000a2", trace=f"{2:032x}", run=2, missed=("pay",), left_at=2, tokens=30, session="refund#2"),
        NodeReached(**node, id="n3", parent="00000000000000a2", trace=f"{2:032x}", node="look", level=1),
    ]
    for name in ("a", "again"):
        store.write_segment(segment(tmp_path, events, name))
    (row,) = store.select("task_runs", **EVERYTHING)
    assert (row["task"], row["task_version"], row["agent_version"], row["runs"], row["passed"]) == ("refund", "1", "v2", 2, 1)
    assert (row["composite_sum"], row["purity_sum"], row["purities"], row["digestions"], row["tokens"]) == (1.0, 1.0, 1, 0, 40)
    nodes = store.select("task_nodes", **EVERYTHING)
    assert [(each["node"], each["reached"], each["missed"], each["level"]) for each in nodes] == [
        ("look", 2, 0, 1),
        ("pay", 1, 1, 2),
    ]
    newest = store.select("newest_runs", **EVERYTHING, limit=1)
    assert [(each["session"], each["gate"], each["missed"], each["left_at"]) for each in newest] == [
        ("refund#2", False, ["pay"], 2)
    ]
    (task,) = tasks([row], nodes)
    assert (task["agents"][0]["share"], task["nodes"]["pay"]["v2"]["share"]) == (0.5, 0.5)


def test_an_unknown_query_and_a_missing_parameter_say_so(store):
    with pytest.raises(StoreError, match="no query is named 'nosuch'"):
        store.select("nosuch")
    with pytest.raises(StoreError, match="needs agent"):
        store.select("agents")


# folders --------------------------------------------------------------------------------------------------------------


def test_what_was_stored_is_there_when_the_folder_is_opened_again(tmp_path):
    first = open_store("", tmp_path / "store")
    first.write_segment(segment(tmp_path, stream(2)))
    before = first.select("stored")
    first.close()
    second = open_store("", tmp_path / "store")
    assert second.select("stored") == before
    second.close()


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(StoreError, match="holds something else"):
        open_store("", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_folder_may_be_named_from_here_but_not_by_a_pattern(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    opened = open_store("", Path("near by"))
    (tmp_path / "near by" / "spool").mkdir()
    opened.write_segment(segment(Path("near by/spool"), stream(2)))
    assert opened.select("stored")[0]["events"] > 0
    opened.close()
    for name in ("a{b}", "it's", "x*"):
        with pytest.raises(StoreError, match="in its name"):
            open_store("", tmp_path / name)


def test_a_folder_that_is_open_elsewhere_names_who_has_it(tmp_path):
    opened = open_store("", tmp_path / "store")
    with pytest.raises(StoreError, match="in use by process"):
        open_store("", tmp_path / "store")
    opened.close()
    open_store("", tmp_path / "store").close()


def test_a_database_of_a_newer_version_is_not_touched(tmp_path):
    opened = open_store("", tmp_path / "store")
    opened.insert("reach_migrations", [{"number": 9_999, "name": "future"}])
    opened.close()
    with pytest.raises(StoreError, match="migration 9999"):
        open_store("", tmp_path / "store")


def test_a_server_that_is_not_there_is_named_without_its_password(tmp_path):
    with pytest.raises(StoreError, match="cannot connect") as caught:
        open_store("clickhouse://reach:s3cret@127.0.0.1:9/", tmp_path / "store")
    assert "s3cret" not in str(caught.value)
    with pytest.raises(StoreError, match="expected clickhouse://"):
        open_store("mysql://x/", tmp_path / "other")


def test_the_folder_of_a_memory_store_is_gone_when_it_is_closed(tmp_path):
    opened = open_store("memory:", tmp_path)
    folder = opened._temporary.name
    opened.close()
    assert not shutil.os.path.exists(folder)
