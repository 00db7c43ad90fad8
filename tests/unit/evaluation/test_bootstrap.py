"""Intervals and tests that draw."""

from statistics import NormalDist, fmean

import pytest

from agent_reach.evaluation.bootstrap import clustered_interval, difference_interval, paired_p, unpaired_p


def test_an_interval_holds_the_mean_and_is_the_same_each_time():
    groups = [[0.0, 1.0], [1.0, 1.0], [0.5]]
    found = clustered_interval(groups)
    assert found.low <= fmean([0, 1, 1, 1, 0.5]) <= found.high
    assert found == clustered_interval(groups)


def test_tasks_that_differ_make_it_wide_however_many_runs_they_have():
    wide = clustered_interval([[0.0] * 50, [1.0] * 50])
    assert (wide.low, wide.high) == (0.0, 1.0)
    narrow = clustered_interval([[0.0, 1.0] * 25, [0.0, 1.0] * 25])
    assert (narrow.low, narrow.high) == (0.5, 0.5)


def test_many_clusters_come_to_the_same_without_draws():
    values = [NormalDist(0.5, 0.1).inv_cdf((i + 0.5) / 600) for i in range(600)]
    many, few = clustered_interval([[v] for v in values]), clustered_interval([[v] for v in values[::2]])
    assert many.high - many.low == pytest.approx(2 * 1.96 * 0.1 / 600**0.5, rel=0.05)
    assert few.high - few.low == pytest.approx((many.high - many.low) * 2**0.5, rel=0.15)


def test_nothing_has_no_interval():
    assert clustered_interval([[], []]) is None


def test_five_tasks_that_all_got_better_have_a_p_of_two_in_thirty_two():
    assert paired_p([0.1, 0.2, 0.1, 0.3, 0.2]) == 2 / 32


def test_no_difference_has_a_p_of_one():
    assert paired_p([0.0, 0.0]) == 1.0
    assert paired_p([0.1, -0.1]) == 1.0
    assert unpaired_p([1.0, 0.0], [0.0, 1.0]) == 1.0


def test_many_tasks_are_drawn_and_a_clear_difference_is_seen():
    assert paired_p([0.1] * 30) < 0.001
    assert unpaired_p([0.0] * 10, [1.0] * 10) < 0.001
    interval = difference_interval([0.0] * 10, [1.0] * 10)
    assert (interval.low, interval.high) == (1.0, 1.0)
