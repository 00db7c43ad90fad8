"""How likely a conversation ends well, from its signals alone, calibrated per domain on labelled history.

The weight of a signal is its correlation with the outcome: with a few dozen conversations, weights that are fitted together follow
the noise of one another (the "independence rule": P. Bickel and E. Levina, 2004).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import log1p, sqrt
from pathlib import Path

from agent_reach.checks.signals import NAMES
from agent_reach.errors import FormatError, ReachError
from agent_reach.scores.logistic import fit_logistic, logistic

_ENOUGH = 10


@dataclass(frozen=True, slots=True)
class Outlook:
    """A fitted judge of one domain.

    Attributes:
        names: of the signals.
        means, scales: of their logarithms (1 + x).
        weights: correlations with the outcome.
        slope, offset: of the logistic that makes a probability of the weighted sum.
        n: conversations that it was fitted to.
    """

    names: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    slope: float
    offset: float
    n: int

    def sum(self, signals: Sequence[float]) -> float:
        """The weighted sum: higher is better."""
        rows = zip(signals, self.means, self.scales, self.weights, strict=True)
        return sum(weight * (log1p(value) - mean) / scale for value, mean, scale, weight in rows)

    def probability(self, signals: Sequence[float]) -> float:
        """That a conversation with these signals ends well."""
        return logistic(self.slope * self.sum(signals) + self.offset)

    def save(self, path: str | Path) -> None:
        """Write it as JSON.

        Raises:
            ReachError: the file cannot be written.
        """
        try:
            Path(path).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise ReachError(f"{path}: cannot be written: {error.strerror}") from None

    @classmethod
    def load(cls, path: str | Path) -> Outlook:
        """The inverse of `save`.

        Raises:
            FormatError: it is no outlook with the signals of this version.
        """
        try:
            record = json.loads(Path(path).read_text(encoding="utf-8"))
            lists = {key: tuple(record[key]) for key in ("names", "means", "scales", "weights")}
            made = cls(**lists, slope=float(record["slope"]), offset=float(record["offset"]), n=int(record["n"]))
        except OSError as error:
            raise FormatError(str(path), None, "", f"a readable file ({error.strerror})") from None
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError(str(path), None, "", f"what `agent-reach calibrate --outlook` wrote ({error!r})") from None
        if made.names != NAMES or {len(made.means), len(made.scales), len(made.weights)} != {len(NAMES)}:
            raise FormatError(str(path), None, "names", "the signals of this version; fit it again")
        return made


def fit_outlook(rows: Sequence[Sequence[float]], well: Sequence[bool]) -> Outlook:
    """Fit the judge of a domain.

    Args:
        rows: signals of each conversation.
        well: whether it ended well.

    Raises:
        ReachError: fewer than ten conversations of a label.
    """
    if min(sum(well), len(well) - sum(well)) < _ENOUGH:
        raise ReachError(f"outlook: expected ten conversations of each label, found {sum(well)} and {len(well) - sum(well)}")
    columns = [[log1p(value) for value in column] for column in zip(*rows, strict=True)]
    means = tuple(sum(column) / len(column) for column in columns)
    scales = tuple(_deviation(column, mean) or 1.0 for column, mean in zip(columns, means, strict=True))
    share = sum(well) / len(well)
    spread = sqrt(share * (1 - share))
    weights = tuple(
        sum((x - mean) / scale * (label - share) for x, label in zip(column, well, strict=True)) / len(well) / spread
        for column, mean, scale in zip(columns, means, scales, strict=True)
    )
    made = Outlook(NAMES, means, scales, weights, 1.0, 0.0, len(well))
    slope, offset = fit_logistic([(made.sum(row),) for row in rows], well, ridge=1.0)
    return Outlook(NAMES, means, scales, weights, slope, offset, len(well))


def _deviation(column: Sequence[float], mean: float) -> float:
    return sqrt(sum((x - mean) ** 2 for x in column) / len(column))
