"""Thresholds and probabilities fitted to labelled history (definitions, section 2)."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, Final, NamedTuple

from agent_reach.errors import ReachError
from agent_reach.scores.logistic import fit_logistic, logistic
from agent_reach.scores.rate import Rate, rate_of
from agent_reach.scores.stats import Z95, Interval

CUTS: Final = (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
_ENOUGH: Final = 10
_DISTURBED: Final = 0.1
_CAUGHT: Final = 0.9
_BINS: Final = 10

Example = tuple[float, bool]
"""A score from 0 to 1, and whether it went well (of a fragment: whether it was needed)."""


class Cut(NamedTuple):
    """What a threshold would do: `caught` failures and `disturbed` good sessions lie below it."""

    at: float
    caught: Rate
    disturbed: Rate


class Bin(NamedTuple):
    """Examples whose score lies in a tenth of the range: how many, their mean score, and how many went well."""

    low: float
    mean: float
    well: Rate


class Bands(NamedTuple):
    """What labelled sessions say of the score.

    Attributes:
        auc: chance that a good session scores higher than a failed one, with its 95 % interval.
        cuts: what each threshold would do.
        bins: reliability by tenths of the score.
        degraded, healthy: suggested lower ends of these bands: the highest cut that disturbs at most a tenth of the good sessions,
            and the lowest that catches nine tenths of the failures; None where no cut does.
    """

    auc: float
    interval: Interval
    cuts: tuple[Cut, ...]
    bins: tuple[Bin, ...]
    degraded: float | None
    healthy: float | None

    @property
    def tells(self) -> bool:
        """The score tells good sessions from failed ones: the interval of its AUC lies above one half."""
        return self.interval.low > 0.5


def calibrate_bands(examples: Sequence[Example]) -> Bands:
    """Fit the cuts of the bands.

    Raises:
        ReachError: fewer than ten good or ten failed sessions.
    """
    good, bad = _both(examples, "sessions")
    cuts = tuple(
        Cut(cut, rate_of(sum(s < cut for s in bad), len(bad)), rate_of(sum(s < cut for s in good), len(good))) for cut in CUTS
    )
    mild = [cut.at for cut in cuts if (cut.disturbed.value or 0.0) <= _DISTURBED and cut.caught.hits]
    strict = [cut.at for cut in cuts if (cut.caught.value or 0.0) >= _CAUGHT]
    degraded = max(mild, default=None)
    healthy = min((at for at in strict if degraded is None or at > degraded), default=None)
    chance = auc(good, bad)
    return Bands(chance, auc_interval(chance, len(good), len(bad)), cuts, reliability(examples), degraded, healthy)


class Relevances(NamedTuple):
    """A relevance as a probability: logistic(slope × relevance + offset).

    Attributes:
        slope, offset: of the fit (J. Platt, 1999).
        error: expected calibration error over tenths, of predictions on folds that were left out.
        brier, base: Brier score of those predictions, and of always saying the share that is needed.
        bins: reliability of the raw relevance.
    """

    slope: float
    offset: float
    error: float
    brier: float
    base: float
    bins: tuple[Bin, ...]


def calibrate_relevance(queries: Sequence[Sequence[Example]], folds: int = 5) -> Relevances:
    """Fit a relevance to labelled fragments.

    Args:
        queries: of each query the relevance of its fragments, and whether they were needed.
        folds: of the cross-validation; the fragments of a query stay together, or their rank would tell.

    Raises:
        ReachError: fewer than ten needed or ten other fragments.
    """
    examples = [example for query in queries for example in query]
    _both(examples, "fragments")
    predicted: list[Example] = []
    for fold in range(folds):
        rest = [example for i, query in enumerate(queries) if i % folds != fold for example in query]
        if len({needed for _, needed in rest}) < 2:
            continue
        slope, offset = _fit(rest)
        predicted += [(logistic(slope * x + offset), needed) for query in queries[fold::folds] for x, needed in query]
    share = sum(needed for _, needed in examples) / len(examples)
    brier = sum((p - needed) ** 2 for p, needed in predicted) / len(predicted)
    error = sum(b.well.n * abs(b.mean - (b.well.value or 0.0)) for b in reliability(predicted)) / len(predicted)
    slope, offset = _fit(examples)
    return Relevances(slope, offset, error, brier, share * (1 - share), reliability(examples))


def _fit(examples: Sequence[Example]) -> tuple[float, float]:
    slope, offset = fit_logistic([(x,) for x, _ in examples], [needed for _, needed in examples])
    return slope, offset


def reliability(examples: Sequence[Example]) -> tuple[Bin, ...]:
    """Tenths of the score that hold any example."""
    bins: list[list[Example]] = [[] for _ in range(_BINS)]
    for score, well in examples:
        bins[min(_BINS - 1, max(0, int(score * _BINS)))].append((score, well))
    return tuple(
        Bin(number / _BINS, sum(s for s, _ in found) / len(found), rate_of(sum(w for _, w in found), len(found)))
        for number, found in enumerate(bins)
        if found
    )


def auc(high: Sequence[float], low: Sequence[float]) -> float:
    """Chance that one of `high` exceeds one of `low`; equals count half.

    Raises:
        ZeroDivisionError: one of them is empty.
    """
    ranked = sorted([(value, True) for value in high] + [(value, False) for value in low])
    won, below, at = 0.0, 0, 0
    while at < len(ranked):
        end = at
        while end < len(ranked) and ranked[end][0] == ranked[at][0]:
            end += 1
        ups = sum(is_high for _, is_high in ranked[at:end])
        downs = end - at - ups
        won += ups * (below + downs / 2)
        below += downs
        at = end
    return won / (len(high) * len(low))


def auc_interval(value: float, n: int, m: int) -> Interval:
    """95 % interval of an AUC (J. Hanley and B. McNeil, 1982).

    Args:
        value: the AUC.
        n, m: examples on each side.
    """
    q1, q2 = value / (2 - value), 2 * value * value / (1 + value)
    variance = (value * (1 - value) + (n - 1) * (q1 - value * value) + (m - 1) * (q2 - value * value)) / (n * m)
    margin = Z95 * sqrt(max(0.0, variance))
    return Interval(max(0.0, value - margin), min(1.0, value + margin))


def _both(examples: Sequence[Example], noun: str) -> tuple[list[float], list[float]]:
    well, ill = [s for s, w in examples if w], [s for s, w in examples if not w]
    if min(len(well), len(ill)) < _ENOUGH:
        raise ReachError(f"calibrate: expected at least {_ENOUGH} {noun} of each label, found {len(well)} and {len(ill)}")
    return well, ill


def to_record(found: Bands | Relevances) -> dict[str, Any]:
    """As JSON-ready values."""
    record = found._asdict()
    record["bins"] = [{"low": b.low, "mean": b.mean, **b.well.to_record()} for b in found.bins]
    if isinstance(found, Bands):
        record["cuts"] = [{"at": c.at, "caught": c.caught.to_record(), "disturbed": c.disturbed.to_record()} for c in found.cuts]
    return record
