"""How likely a conversation ends well, from its signals alone, calibrated per domain on labelled history.

The weight of a signal is its correlation with the outcome: with a few dozen conversations, weights that are fitted together follow
the noise of one another (the "independence rule": P. Bickel and E. Levina, 2004).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import log1p, sqrt
from pathlib import Path

from agent_reach.checks.signals import NAMES
from agent_reach.contracts import Routes
from agent_reach.errors import FormatError, ReachError, briefly
from agent_reach.evaluation.calibration import auc
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
        effects: tools with side effects, as the route table said: some signals count their calls.
        auc: chance that a good conversation ranks above a failed one, each judged by a fit to the other folds; -1 when unknown.
    """

    names: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    slope: float
    offset: float
    n: int
    effects: tuple[str, ...] = ()
    auc: float = -1.0

    def sum(self, signals: Sequence[float]) -> float:
        """The weighted sum: higher is better."""
        rows = zip(signals, self.means, self.scales, self.weights, strict=True)
        return sum(weight * (log1p(value) - mean) / scale for value, mean, scale, weight in rows)

    def probability(self, signals: Sequence[float]) -> float:
        """That a conversation with these signals ends well."""
        return logistic(self.slope * self.sum(signals) + self.offset)

    def check_effects(self, routes: Routes, where: str) -> None:
        """Its signals mean the same by this table.

        Raises:
            ReachError: another one told the side effects when it was fitted.
        """
        if effects_of(routes) != self.effects:
            fitted, given = (", ".join(names) or "none" for names in (self.effects, effects_of(routes)))
            raise ReachError(f"{where}: was fitted with the side effects {fitted}, found {given}: give the same --routes")

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
            slope, offset, area = (float(record[key]) for key in ("slope", "offset", "auc"))
            made = cls(**lists, slope=slope, offset=offset, n=int(record["n"]), effects=tuple(record["effects"]), auc=area)
        except OSError as error:
            raise FormatError(str(path), None, "", f"a readable file ({error.strerror})") from None
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError(str(path), None, "", f"what `agent-reach calibrate --outlook` wrote ({briefly(error)})") from None
        if made.names != NAMES or {len(made.means), len(made.scales), len(made.weights)} != {len(NAMES)}:
            raise FormatError(str(path), None, "names", "the signals of this version; fit it again")
        return made


def effects_of(routes: Routes) -> tuple[str, ...]:
    """Tools with side effects."""
    return tuple(sorted(name for name, contract in routes.tools.items() if contract.side_effect))


def fit_outlook(rows: Sequence[Sequence[float]], well: Sequence[bool], effects: tuple[str, ...] = (), folds: int = 5) -> Outlook:
    """Fit the judge of a domain.

    Args:
        rows: signals of each conversation.
        well: whether it ended well.
        effects: tools with side effects, by which the signals were made.
        folds: of the cross-validation.

    Raises:
        ReachError: fewer than ten conversations of a label.
    """
    if min(sum(well), len(well) - sum(well)) < _ENOUGH:
        raise ReachError(f"outlook: expected ten conversations of each label, found {sum(well)} and {len(well) - sum(well)}")
    judged: list[tuple[float, bool]] = []
    for fold in range(folds):
        kept = [i for i in range(len(rows)) if i % folds != fold]
        part = _fit([rows[i] for i in kept], [well[i] for i in kept])
        judged += [(part.probability(rows[i]), well[i]) for i in range(fold, len(rows), folds)]
    area = auc([p for p, good in judged if good], [p for p, good in judged if not good])
    return replace(_fit(rows, well), effects=effects, auc=area)


def _fit(rows: Sequence[Sequence[float]], well: Sequence[bool]) -> Outlook:
    columns = [[log1p(value) for value in column] for column in zip(*rows, strict=True)]
    means = tuple(sum(column) / len(column) for column in columns)
    scales = tuple(_deviation(column, mean) or 1.0 for column, mean in zip(columns, means, strict=True))
    share = sum(well) / len(well)
    spread = sqrt(share * (1 - share)) or 1.0
    weights = tuple(
        sum((x - mean) / scale * (label - share) for x, label in zip(column, well, strict=True)) / len(well) / spread
        for column, mean, scale in zip(columns, means, scales, strict=True)
    )
    made = Outlook(NAMES, means, scales, weights, 1.0, 0.0, len(well))
    slope, offset = fit_logistic([(made.sum(row),) for row in rows], well, ridge=1.0)
    return Outlook(NAMES, means, scales, weights, slope, offset, len(well))


def _deviation(column: Sequence[float], mean: float) -> float:
    return sqrt(sum((x - mean) ** 2 for x in column) / len(column))
