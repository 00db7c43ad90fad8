"""Section 3 of the definitions, without any I/O."""

import pytest

from agent_reach.checks import OK, Finding, failed
from agent_reach.compensate import Breakers, Climb, Execute, Outcome, ServeSnapshot, climb
from agent_reach.compensate.ladder import Sleep
from agent_reach.contracts import Alternate, Compensation, ToolContract

READ = ToolContract(read_only=True)
EMPTY = Finding("empty_alias", "", "no_items", "after")


def play(answers, contract=READ, policy=None, retry_after=None, second=1.0, **more):
    """Climb with these findings, in order; returns what was done and how it ended."""
    policy = policy or Compensation()
    more.setdefault("breakers", Breakers())
    ladder = climb(Climb(tool="a", arguments={"x": 1}, contract=contract, policy=policy, started=0.0, **more))
    answers, done, now = list(answers), [], 0.0
    try:
        action = next(ladder)
        while True:
            if isinstance(action, Sleep):
                done.append(("sleep", action.seconds))
                now += action.seconds
                action = ladder.send(Outcome(OK, now))
                continue
            if isinstance(action, ServeSnapshot):
                done.append(("snapshot", action.age))
                action = ladder.send(Outcome(OK, now))
                continue
            done.append((action.rung, action.tool))
            now += second
            action = ladder.send(Outcome(answers.pop(0), now, retry_after=retry_after))
    except StopIteration as end:
        return [d for d in done if d[0] != "sleep"], end.value, done


def substitutes(*names, contract=READ):
    return lambda: [(Alternate(tool=name), contract) for name in names]


def test_a_call_that_reached_is_left_alone():
    assert play([OK])[:1] == ([("first", "a")],)


@pytest.mark.parametrize("cause", ["timeout", "rate_limited", "server_error", "network"])
def test_passing_failures_of_a_read_are_retried_twice(cause):
    done, settled, _ = play([failed(cause), failed(cause), OK])
    assert [rung for rung, _ in done] == ["first", "retry", "retry"]
    assert settled.rung == "retry"


def test_an_empty_result_is_retried_once():
    assert len(play([EMPTY, EMPTY])[0]) == 2


@pytest.mark.parametrize("cause", ["auth", "other", "unparseable"])
def test_other_failures_are_not_retried(cause):
    assert len(play([failed(cause)])[0]) == 1


@pytest.mark.parametrize("cause", ["bad_arguments", "unknown_tool", "precondition"])
def test_the_models_own_faults_go_back_to_it(cause):
    done, settled, _ = play([failed(cause)], substitutes=substitutes("b"), can_ask_human=True)
    assert len(done) == 1
    assert not settled.ask_human


@pytest.mark.parametrize("contract", [ToolContract(), ToolContract(side_effect=True)])
def test_a_tool_that_is_not_declared_repeatable_never_runs_twice(contract):
    done, settled, _ = play([failed("timeout")], contract=contract, substitutes=substitutes("b"), can_ask_human=True)
    assert done == [("first", "a")]
    assert settled.ask_human


def test_a_side_effect_is_never_replaced_even_after_a_certain_failure():
    done, _, _ = play([failed("server_error")], contract=ToolContract(side_effect=True), substitutes=substitutes("b"))
    assert done == [("first", "a")]


def test_an_idempotent_side_effect_may_be_retried():
    contract = ToolContract(side_effect=True, idempotent=True)
    assert play([failed("timeout"), OK], contract=contract)[1].rung == "retry"


def test_a_substitute_with_a_side_effect_is_never_run():
    found = substitutes("b", contract=ToolContract(side_effect=True))
    assert play([failed("other")], substitutes=found)[0] == [("first", "a")]


def test_after_the_retries_the_substitutes_come_in_order():
    done, settled, _ = play([EMPTY, EMPTY, EMPTY, OK], substitutes=substitutes("b", "c"))
    assert done == [("first", "a"), ("retry", "a"), ("reroute", "b"), ("reroute", "c")]
    assert (settled.rung, settled.served_by) == ("reroute", "c")


def test_a_snapshot_follows_when_it_is_young_enough():
    done, settled, _ = play([failed("auth")], snapshot=lambda: ("old", 60.0))
    assert done[-1] == ("snapshot", 60.0)
    assert (settled.rung, settled.stale) == ("snapshot", 60.0)
    assert play([failed("auth")], snapshot=lambda: ("old", 3_601.0))[1].stale is None


def test_a_person_comes_last_and_first_when_the_link_is_broken():
    assert play([failed("auth"), failed("auth")], substitutes=substitutes("b"), can_ask_human=True)[1].ask_human
    done, settled, _ = play([EMPTY], substitutes=substitutes("b"), can_ask_human=True, link_broken=lambda: True)
    assert (len(done), settled.ask_human) == (1, True)


def test_what_is_exhausted_keeps_its_own_finding():
    settled = play([EMPTY, EMPTY, failed("auth")], substitutes=substitutes("b"))[1]
    assert settled.outcome.finding == EMPTY
    assert settled.tried == (("a", "empty (no_items)"), ("a", "empty (no_items)"), ("b", "auth"))


def test_retry_after_is_obeyed_and_a_wait_over_the_budget_is_not_begun():
    assert ("sleep", 7.0) in play([failed("rate_limited"), OK], retry_after=7.0)[2]
    assert len(play([failed("rate_limited")], retry_after=99.0)[0]) == 1


def test_waits_stay_within_the_exponential_bound():
    for _ in range(50):
        waits = [
            s for rung, s in play([failed("network")] * 3, policy=Compensation(backoff=0.5, backoff_max=0.8))[2] if rung == "sleep"
        ]
        assert all(0 <= wait <= 0.8 for wait in waits)
        assert len(waits) == 2


def test_attempts_time_and_cost_are_bounded():
    many = substitutes(*"bcdefg")
    assert len(play([failed("auth")] * 9, substitutes=many, policy=Compensation(attempts=3))[0]) == 3
    assert len(play([failed("auth")] * 9, substitutes=many, policy=Compensation(time_budget=2.5))[0]) == 3
    assert len(play([failed("auth")] * 9, substitutes=many, afford=lambda cost: False)[0]) == 1


def test_five_failures_in_a_row_open_the_breaker_and_a_pause_lets_one_through():
    breakers, policy = Breakers(), Compensation()
    for now in range(5):
        assert breakers.blocked("a", now) is None
        breakers.record("a", failed("timeout"), now, policy)
    assert breakers.blocked("a", 5).stage == "before"
    assert breakers.open(5) == {"a": 29}
    assert breakers.blocked("a", 34) is None
    assert breakers.blocked("a", 34) is not None
    breakers.record("a", OK, 35, policy)
    assert breakers.blocked("a", 35) is None


def test_an_open_breaker_goes_straight_to_the_substitute():
    breakers = Breakers()
    for _ in range(5):
        breakers.record("a", failed("timeout"), 0.0, Compensation())
    done, settled, _ = play([OK], breakers=breakers, substitutes=substitutes("b"))
    assert done == [("reroute", "b")]
    assert settled.served_by == "b"


def test_empty_results_do_not_open_a_breaker():
    breakers = Breakers()
    for _ in range(9):
        breakers.record("a", EMPTY, 0.0, Compensation())
    assert breakers.blocked("a", 0.0) is None


def test_an_execute_carries_the_mapped_arguments_and_the_timeout():
    contract = ToolContract(read_only=True, timeout_s=3)
    found = [(Alternate(tool="b", arguments={"x": "y"}), contract)]
    ladder = climb(
        Climb(
            tool="a",
            arguments={"x": 1},
            contract=contract,
            policy=Compensation(),
            started=0,
            breakers=Breakers(),
            substitutes=lambda: found,
        )
    )
    assert next(ladder) == Execute("a", "first", timeout=3)
    assert ladder.send(Outcome(failed("auth"), 1.0)) == Execute("b", "reroute", "auth", {"y": 1}, timeout=3)
