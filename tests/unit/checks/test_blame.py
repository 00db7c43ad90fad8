"""Blame: which step of a transcript was the first mistake."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_reach.checks.blame import Step, blame
from agent_reach.errors import FormatError
from agent_reach.importers.transcripts import read_transcripts

TASK = "How many wheels do the locomotives have?"
CODE = "```python\nprint(1)\n```"


def run(*steps):
    return [Step("manager", f"The task: {TASK}"), *(Step(*step) for step in steps)]


def test_code_that_failed_is_blamed_before_its_output():
    found = blame(run(("coder", CODE), ("Computer_terminal", "exitcode: 1 (execution failed)"), ("coder", "Let me see.")), TASK)
    assert (found[0].step, found[0].agent, found[0].reasons[0]) == (1, "coder", "its code failed")


def test_a_result_that_comes_from_nowhere_is_blamed():
    steps = run(("a", "I will look."), ("expert", "Here are the wheels: 12, 18 and 24, 54 together."), ("a", "Thank you."))
    found = blame(steps, TASK)
    assert found[0].step == 2
    assert "numbers that nothing before it gave" in found[0].reasons


def test_a_plan_that_misses_the_task_is_blamed():
    steps = [
        Step("manager", f"Write a program about the weather. {CODE}"),
        Step("Computer_terminal", "exitcode: 0"),
        Step("a", "Done."),
    ]
    assert blame(steps, TASK)[0].step == 0


def test_assumptions_are_blamed():
    found = blame(run(("a", "I will look."), ("b", "Let us assume a hypothetical file path/to/data."), ("a", "Fine.")), TASK)
    assert (found[0].step, found[0].reasons) == (2, ("it assumes or makes things up",))


def test_under_a_coordinator_those_who_act_are_looked_at_first():
    steps = [
        Step("human", TASK),
        Step("boss", "Go.", "surfer"),
        Step("surfer", "Nothing."),
        Step("boss", "Go.", "surfer"),
        Step("surfer", "X"),
    ]
    assert [each.step for each in blame(steps)][:2] == [2, 4]


@given(
    st.lists(
        st.builds(Step, st.sampled_from(["a", "b", "Computer_terminal"]), st.text(max_size=40), st.sampled_from(["", "", "b"]))
    )
)
def test_every_step_has_a_share_and_all_sum_to_one(steps):
    found = blame(steps, TASK)
    assert sorted(each.step for each in found) == list(range(len(steps)))
    assert not steps or sum(each.share for each in found) == pytest.approx(1)
    assert found == blame(steps, TASK)


def test_transcripts_name_their_speakers_and_whom_they_instruct(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(
        "{\"question\": \"q\", \"history\": \"[{'role': 'Boss (-> Web)', 'content': 'go'}, {'role': 'Boss (thought)', 'content': 'hm'}]\"}"
    )
    (found,) = read_transcripts(path)
    assert (found.task, found.steps) == ("q", [Step("Boss", "go", "Web"), Step("Boss", "hm")])


@pytest.mark.parametrize("text", ["", "[1]", '{"history": "nonsense"}', '{"history": [1]}', "{}"])
def test_what_is_no_transcript_is_told(tmp_path, text):
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(FormatError):
        list(read_transcripts(path))
