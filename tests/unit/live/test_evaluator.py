import pytest

from agent_reach.contracts import Routes
from agent_reach.events import ToolCall, Turn, UnitClosed
from agent_reach.live import Evaluator, Notes


class Clock:
    now = 0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def call(id, status="ok", tool="a"):
    return ToolCall(session=id, turn=1, unit=1, tool=tool, status=status, first_status=status)


def test_a_band_change_is_told_once_per_link(clock):
    evaluator, seen = Evaluator(Routes(), clock, Notes()), []
    evaluator.on_band(seen.append)
    for status in ("ok", "ok", "fail", "fail"):
        evaluator.publish(call("s", status, tool=f"t{len(seen)}{status}"))
    assert [(c.link, c.before, c.after) for c in seen if c.link == "tool"] == [
        ("tool", "", "healthy"),
        ("tool", "healthy", "broken"),
    ]


def test_a_hook_and_a_sink_that_raise_are_counted_and_cost_nobody_the_event(clock):
    notes = Notes()
    evaluator, seen = Evaluator(Routes(), clock, notes), []

    def broken(_):
        raise RuntimeError("broken")

    evaluator.on_band(broken)
    evaluator.add_sink(broken)
    evaluator.add_sink(seen.append)
    evaluator.publish(call("s"))
    assert len(seen) == 1
    assert notes.counts["dropped_event"] == 1
    assert notes.counts["band_hook"] >= 1


def test_sessions_over_the_cap_are_ended_and_counted(clock):
    notes = Notes()
    evaluator, seen = Evaluator(Routes(), clock, notes, max_sessions=3), []
    evaluator.add_sink(seen.append)
    for number in range(10):
        evaluator.publish(call(f"s{number}"))
    assert notes.counts["dropped_session"] == 7
    assert sum(isinstance(e, UnitClosed) for e in seen) == 7


def test_idle_sessions_are_ended(clock):
    evaluator, seen = Evaluator(Routes(), clock, Notes(), idle_seconds=10), []
    evaluator.add_sink(seen.append)
    evaluator.publish(call("old"))
    clock.now = 11_000_000_000
    evaluator.publish(call("new"))
    assert [e.session for e in seen if isinstance(e, UnitClosed)] == ["old"]


def test_a_turn_carries_the_scores_of_the_moment(clock):
    evaluator = Evaluator(Routes(), clock, Notes())
    evaluator.publish(call("s", "fail"))
    turn = evaluator.publish(Turn(session="s", turn=1, unit=1))
    assert (turn.score, turn.tool, turn.knowledge, turn.band, turn.guessed, turn.abnormal) == (0.0, 0.0, -1.0, "broken", True, True)


def test_a_store_that_raises_is_counted(clock):
    class Store:
        def load(self, session):
            raise OSError("down")

        def save(self, session, record):
            raise OSError("down")

    notes = Notes()
    evaluator = Evaluator(Routes(), clock, notes, store=Store())
    evaluator.publish(call("s"))
    evaluator.publish(Turn(session="s", turn=1, unit=1))
    assert notes.counts["store"] == 1


def test_our_own_bug_is_noted_and_raised_only_under_pytest(monkeypatch):
    notes = Notes()
    with pytest.raises(ZeroDivisionError), notes.guard("dividing"):
        _ = 1 / 0
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    with notes.guard("dividing"):
        _ = 1 / 0
    assert notes.counts["internal"] == 2
