"""Thresholds, weights and the compensation policy."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

Share = Annotated[float, Field(ge=0, le=1)]


def _version(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) or hasattr(value, "isoformat") else value


Version = Annotated[str, BeforeValidator(_version)]
"""A text, number or date that names a version."""


class Declaration(BaseModel):
    """Base of everything that a user declares: frozen, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class Thresholds(Declaration):
    """Lower ends of the bands, compared after rounding to nine decimals."""

    healthy: Share = 0.9
    degraded: Share = 0.75
    relevance: Share = 0.35

    @model_validator(mode="after")
    def _in_order(self) -> Thresholds:
        if self.degraded > self.healthy:
            raise ValueError("degraded must not be above healthy")
        return self


class Weights(Declaration):
    """Weights of ReachScore and the penalty for an empty result taken as success (definitions, section 2)."""

    tool: Share = 0.4
    knowledge: Share = 0.3
    task: Share = 0.3
    taken_penalty: Share = 0.2
    absent: Literal["share", "full"] = "share"
    """What a link with no event does: share its weight among the others, or count as 1.0."""

    @model_validator(mode="after")
    def _sum_to_one(self) -> Weights:
        if abs(self.tool + self.knowledge + self.task - 1) > 1e-9:
            raise ValueError("tool, knowledge and task must sum to 1")
        return self


class Compensation(Declaration):
    """What may be done about a call that did not reach (definitions, section 3).

    Durations are in seconds. Tools with side effects are never retried or replaced, whatever stands here.

    Attributes:
        dry_run: report what would be done, do nothing.
        retries: retries per call; an empty result is retried once at most.
        backoff, backoff_max: first and longest wait of the exponential backoff with full jitter; `Retry-After` is obeyed.
        reroute: use the other tools of the step, then declared alternates.
        snapshot_age: oldest earlier result that may stand in; 0 turns snapshots off.
        supply: add missing handoff parameters from shared facts, or ask the upstream agent once.
        human: `interrupt` pauses the graph for a person; `node:NAME` sends to that node; empty turns the rung off.
        time_budget: for all rungs of one call together.
        attempts: executions of one call together, reroutes included.
        cost_budget: for all attempts of one session after their first, in the unit of the tools' `cost`.
        breaker_failures, breaker_pause: failures in a row that open a tool's breaker, and how long it stays open.
    """

    dry_run: bool = False
    retries: Annotated[int, Field(ge=0, le=2)] = 2
    backoff: Annotated[float, Field(ge=0)] = 0.2
    backoff_max: Annotated[float, Field(ge=0)] = 5.0
    reroute: bool = True
    snapshot_age: Annotated[float, Field(ge=0, le=3600)] = 3600.0
    supply: bool = True
    human: Annotated[str, Field(pattern=r"^(|interrupt|node:.+)$")] = ""
    time_budget: Annotated[float, Field(gt=0)] = 30.0
    attempts: Annotated[int, Field(ge=1)] = 6
    cost_budget: Annotated[float, Field(ge=0)] = 1000.0
    breaker_failures: Annotated[int, Field(ge=1)] = 5
    breaker_pause: Annotated[float, Field(gt=0)] = 30.0

    @property
    def human_node(self) -> str:
        """The node that `node:NAME` names, else empty."""
        return self.human.removeprefix("node:") if self.human.startswith("node:") else ""
