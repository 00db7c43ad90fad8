"""Baselines: what is kept, and when a later run drifted."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_reach import FormatError, ReachError
from agent_reach.evaluation.baseline import Baseline, against_first_values, compare, mcnemar, paired_difference
from agent_reach.events import Decision, UnitClosed
from agent_reach.scores.steps import StepOutcome


def run(hits, *, intent="order", tools=("db",), version="1"):
    """One unit a conversation; `hits` says of each whether its best tool was called."""
    made = Baseline()
    made.observe(Decision(session="s0", model="m1", prompt_hash="aa"))
    for number, hit in enumerate(hits):
        steps = [StepOutcome(tool, "1–2", hit, hit, hit).to_text() for tool in tools]
        made.observe(UnitClosed(session=f"s{number}", unit=1, intent=intent, steps=tuple(steps), route_version=version))
    return made


def verdicts(before, after):
    return {(f.intent, f.figure): f.verdict for f in compare(before, after)}


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ([True] * 40, [True] * 40, "no evidence"),
        ([True] * 40, [True] * 39 + [False], "no evidence"),
        ([True] * 40, [True] * 30 + [False] * 10, "drift"),
        ([True] * 30 + [False] * 10, [True] * 40, "gain"),
        ([True] * 9, [False] * 9, "insufficient data"),
    ],
)
def test_a_drop_is_drift_when_its_interval_excludes_zero(old, new, verdict):
    assert set(verdicts(run(old), run(new)).values()) == {verdict}


def test_only_pairs_of_both_runs_are_compared():
    [finding] = [f for f in compare(run([True] * 40), run([False] * 12)) if f.figure == "precise"]
    assert (finding.n, finding.before, finding.after, finding.verdict) == (12, 1.0, 0.0, "drift")
    found = verdicts(run([True] * 40), run([True] * 40, intent="refund"))
    assert set(found.values()) == {"insufficient data"}


def test_figures_of_different_route_versions_are_not_compared():
    with pytest.raises(ReachError, match="route table version 1, new run: 2"):
        compare(run([True] * 40), run([True] * 40, version="2"))


def test_without_a_baseline_the_first_values_hold():
    simple, several = run([True] * 24 + [False] * 16), run([True] * 24 + [False] * 16, tools=("db", "pay"))
    assert [(f.before, f.verdict) for f in against_first_values(simple)] == [(0.9, "below")]
    assert [(f.before, f.verdict) for f in against_first_values(several)] == [(0.7, "reached")]
    assert [f.verdict for f in against_first_values(run([False] * 9))] == ["insufficient data"]


def test_a_baseline_is_the_same_after_a_file(tmp_path):
    made = run([True, False, True])
    made.save(tmp_path / "b.json")
    assert Baseline.load(tmp_path / "b.json") == made
    record = json.loads((tmp_path / "b.json").read_text())
    assert (record["models"], record["prompts"], record["routes"]) == (["m1"], ["aa"], ["1"])
    assert record["intents"]["order"]["precise"]["n"] == 3


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"v": 2}', '{"v": 1, "routes": [], "models": [], "prompts": [], "pairs": [["s", 1, "i", "t", 7, 0, 0]]}'],
)
def test_a_file_that_is_no_baseline_is_told(tmp_path, text):
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"b\.json"):
        Baseline.load(path)
    with pytest.raises(FormatError, match="readable"):
        Baseline.load(tmp_path / "nowhere.json")


def test_the_paired_interval_is_that_of_the_literature():
    """Agresti and Min 2005, table 1: n = 1144 with 150 and 86 discordant pairs gives about (0.030, 0.082)."""
    assert paired_difference(86, 150, 1144) == pytest.approx((0.030, 0.082), abs=6e-4)
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(1, 7) == pytest.approx(18 / 256)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 100))
def test_the_interval_turns_with_the_sides_and_the_test_is_a_probability(lost, won, same):
    n = lost + won + same
    if not n:
        return
    low, high = paired_difference(lost, won, n)
    assert paired_difference(won, lost, n) == pytest.approx((-high, -low))
    assert -1 <= low <= high <= 1
    assert 0 <= mcnemar(lost, won) == mcnemar(won, lost) <= 1
