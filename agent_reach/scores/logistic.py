"""Logistic regression with a ridge, by Newton's method, without a library: for a handful of features."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

_STEPS = 50
_SETTLED = 1e-10


def logistic(x: float) -> float:
    """1 / (1 + exp(−x)), without overflow."""
    if x >= 0:
        return 1 / (1 + exp(-x))
    grown = exp(x)
    return grown / (1 + grown)


def fit_logistic(rows: Sequence[Sequence[float]], labels: Sequence[bool], ridge: float = 1e-6) -> list[float]:
    """Weights of the features, the intercept last.

    Args:
        rows: features of each example, all of the same number, best near unit size.
        labels: of each.
        ridge: penalty on the square of the weights, not of the intercept; above 0, so that separable data have an optimum.

    Raises:
        ValueError: no examples, or only one label among them.
    """
    if len(set(labels)) < 2:
        raise ValueError("expected examples of both labels")
    examples = [(*row, 1.0) for row in rows]
    size = len(examples[0])
    weights = [0.0] * size
    for _ in range(_STEPS):
        step = _newton_step(examples, labels, weights, ridge)
        weights = [w - s for w, s in zip(weights, step, strict=True)]
        if max(map(abs, step)) < _SETTLED:
            break
    return weights


def _newton_step(examples: list[tuple[float, ...]], labels: Sequence[bool], weights: list[float], ridge: float) -> list[float]:
    size = len(weights)
    gradient = [ridge * w for w in weights[:-1]] + [0.0]
    curvature = [[ridge * (i == j) * (i < size - 1) for j in range(size)] for i in range(size)]
    for row, label in zip(examples, labels, strict=True):
        p = logistic(sum(w * x for w, x in zip(weights, row, strict=True)))
        spread = max(p * (1 - p), 1e-9)
        for i, x in enumerate(row):
            gradient[i] += (p - label) * x
            for j in range(size):
                curvature[i][j] += spread * x * row[j]
    return _solve(curvature, gradient)


def _solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Gaussian elimination with the largest pivot of each column."""
    size = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda i: abs(rows[i][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        head = rows[column][column] or 1e-12
        for i in range(column + 1, size):
            factor = rows[i][column] / head
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[column], strict=True)]
    found = [0.0] * size
    for i in reversed(range(size)):
        rest = sum(rows[i][j] * found[j] for j in range(i + 1, size))
        found[i] = (rows[i][size] - rest) / (rows[i][i] or 1e-12)
    return found
