"""What a step needs and gives, as facts by name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Operator:
    """A step that may be taken: a call of a tool, or a link from what one tool gave to what another one takes.

    Attributes:
        name: of the tool or the link.
        needs: facts that have to hold before.
        gives, takes_away: facts that hold after it, and that no longer do.
        cost: of one execution, not negative.
        guess: that its needs or effects are as declared is a guess: a path with it is weak.
        score: 0 to 1; ranks among equal verdict and cost.
        link: no call of its own, so that it does not count in the length of a path.
        milestone: a stage of the task; comes before other steps of the same verdict and adds 0.2 to the score.
    """

    name: str
    needs: frozenset[str] = frozenset()
    gives: frozenset[str] = frozenset()
    takes_away: frozenset[str] = frozenset()
    cost: float = 1.0
    guess: bool = False
    score: float = 0.0
    milestone: bool = False
    link: bool = False

    @property
    def rank(self) -> float:
        """What decides between steps of equal verdict and cost; higher comes first."""
        return self.score + (0.2 if self.milestone else 0.0)

    def applied(self, facts: frozenset[str]) -> frozenset[str]:
        """The facts after it."""
        return (facts - self.takes_away) | self.gives
