"""Intervals that say how much a share can be trusted."""

from __future__ import annotations

from math import sqrt
from typing import Final, NamedTuple

Z95: Final = 1.959963984540054


class Interval(NamedTuple):
    """Lower and upper end."""

    low: float
    high: float


def wilson(successes: int, n: int, z: float = Z95) -> Interval:
    """Wilson's score interval of a share (E. B. Wilson, 1927); 95 % by default.

    Args:
        successes: 0 to n.
        n: trials.
        z: quantile of the normal distribution.

    Raises:
        ValueError: n is not positive, or successes lie outside 0 to n.
    """
    if n <= 0 or not 0 <= successes <= n:
        raise ValueError(f"expected 0 <= successes <= n and n > 0, found {successes} of {n}")
    share, square = successes / n, z * z
    centre = (share + square / (2 * n)) / (1 + square / n)
    margin = z / (1 + square / n) * sqrt(share * (1 - share) / n + square / (4 * n * n))
    return Interval(max(0.0, centre - margin), min(1.0, centre + margin))
