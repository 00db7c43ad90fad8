"""Intervals and tests that draw: of figures over several tasks, and of two agents on the same tasks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import sqrt
from random import Random
from typing import Final

from agent_reach.scores.stats import Z95, Interval

_DRAWS: Final = 2_000
_MANY: Final = 500
"""Clusters above which nothing is drawn any more."""
_EXACT: Final = 14
"""Tasks up to which all sign changes are counted instead of drawn."""


def clustered_interval(groups: Sequence[Sequence[float]], *, draws: int = _DRAWS, seed: int = 0) -> Interval | None:
    """95 % interval of the mean over all runs, by drawing whole tasks (B. Efron, 1979; clusters: A. Davison and D. Hinkley, 1997).

    Args:
        groups: one a task: a figure of each of its runs. With a single task its runs are drawn instead.
        draws, seed: of the bootstrap.

    Returns:
        None without a value.
    """
    full = [list(group) for group in groups if group]
    if not full:
        return None
    if len(full) == 1:
        full = [[value] for value in full[0]]
    sums = [(sum(group), len(group)) for group in full]
    if len(sums) > _MANY:
        return _normal_interval(sums)
    dice = Random(seed)
    means = []
    for _ in range(draws):
        drawn = dice.choices(sums, k=len(sums))
        means.append(sum(total for total, _ in drawn) / sum(n for _, n in drawn))
    means.sort()
    return Interval(means[int(0.025 * draws)], means[min(draws - 1, int(0.975 * draws))])


def _normal_interval(sums: Sequence[tuple[float, int]]) -> Interval:
    """The same from the variance between tasks: what the bootstrap comes to where there are many."""
    n = sum(count for _, count in sums)
    mean = sum(total for total, _ in sums) / n
    error = sqrt(sum((total - mean * count) ** 2 for total, count in sums)) / n
    return Interval(mean - Z95 * error, mean + Z95 * error)


def difference_interval(first: Sequence[float], second: Sequence[float], *, draws: int = _DRAWS, seed: int = 0) -> Interval:
    """95 % interval of the difference of the means of two sets of runs of one task, each drawn anew."""
    dice = Random(seed)
    found = sorted(
        sum(dice.choices(second, k=len(second))) / len(second) - sum(dice.choices(first, k=len(first))) / len(first)
        for _ in range(draws)
    )
    return Interval(found[int(0.025 * draws)], found[min(draws - 1, int(0.975 * draws))])


def paired_p(differences: Sequence[float], *, draws: int = 10_000, seed: int = 0) -> float:
    """Two-sided p-value of a sign-flip test on paired differences (R. Fisher, 1935); exact up to 14 pairs.

    Args:
        differences: one a task.
        draws, seed: where signs are drawn.
    """
    kept = [d for d in differences if d]
    if not kept:
        return 1.0
    seen = abs(sum(kept)) - 1e-12
    if len(kept) <= _EXACT:
        totals = [sum(sign * d for sign, d in zip(signs, kept, strict=True)) for signs in product((1, -1), repeat=len(kept))]
        return sum(abs(total) >= seen for total in totals) / len(totals)
    dice = Random(seed)
    hits = sum(abs(sum(d if dice.random() < 0.5 else -d for d in kept)) >= seen for _ in range(draws))
    return (hits + 1) / (draws + 1)


def unpaired_p(first: Sequence[float], second: Sequence[float], *, draws: int = 10_000, seed: int = 0) -> float:
    """Two-sided p-value of a permutation test on two sets of runs of one task."""
    if not first or not second:
        return 1.0
    both = [*first, *second]
    seen = abs(sum(first) / len(first) - sum(second) / len(second)) - 1e-12
    dice = Random(seed)
    hits = 0
    for _ in range(draws):
        dice.shuffle(both)
        one, other = both[: len(first)], both[len(first) :]
        hits += abs(sum(one) / len(one) - sum(other) / len(other)) >= seen
    return (hits + 1) / (draws + 1)
