"""What a tool promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from agent_reach.contracts.policy import Declaration


class Alternate(Declaration):
    """Another tool that gives the same data.

    Attributes:
        tool: its name.
        arguments: its argument name for each of ours that differs: `{ours: theirs}`. Names not listed are kept.
        drop: our arguments that it does not take.
        constants: further arguments, with their values.
    """

    tool: str
    arguments: dict[str, str] = {}
    drop: tuple[str, ...] = ()
    constants: dict[str, Any] = {}

    def map(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Our arguments as this tool takes them."""
        kept = {self.arguments.get(k, k): v for k, v in arguments.items() if k not in self.drop}
        return {**kept, **self.constants}


class ToolContract(Declaration):
    """What a tool promises.

    A tool that declares none of `read_only`, `idempotent` and `side_effect` is never run twice for one call.

    Attributes:
        read_only: it changes nothing.
        idempotent: running it twice with the same arguments changes no more than once.
        side_effect: it changes something outside; never retried unless also idempotent, never replaced by another tool.
        empty: whether an empty result is an alias of failure or an answer (`think` has `answer` by default).
        data_path: dotted path of the data in the result; `""` means all keys that are no envelope.
        envelope: tells whether a result is an error envelope, instead of the built-in rule.
        error_prose, empty_prose: read "Error: …" and "No results found." as failure and empty.
        baseline_ms: normal latency; over three times that is `slow`.
        timeout_s: after which an attempt of an async tool is given up; a sync body cannot be stopped.
        cost: of one execution, in any unit (see `Compensation.cost_budget`).
        alternates: tools that can stand in, in order.
    """

    read_only: bool = False
    idempotent: bool = False
    side_effect: bool = False
    empty: Literal["alias", "answer"] = "alias"
    data_path: str = ""
    envelope: Callable[[Any], bool] | None = None
    error_prose: bool = True
    empty_prose: bool = True
    baseline_ms: Annotated[float, Field(gt=0)] | None = None
    timeout_s: Annotated[float, Field(gt=0)] | None = None
    cost: Annotated[float, Field(ge=0)] = 1.0
    alternates: tuple[Alternate, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _short_alternates(cls, values: Any) -> Any:
        if isinstance(values, dict) and isinstance(values.get("alternates"), list | tuple):
            full = [{"tool": a} if isinstance(a, str) else a for a in values["alternates"]]
            return {**values, "alternates": full}
        return values

    @model_validator(mode="after")
    def _consistent(self) -> ToolContract:
        if self.read_only and self.side_effect:
            raise ValueError("a tool is read_only or has a side_effect, not both")
        return self

    @property
    def repeatable(self) -> bool:
        """It may run twice for one call."""
        return self.read_only or self.idempotent

    @property
    def replaceable(self) -> bool:
        """Another tool may answer after this one was tried: it had no effect, or declares that repeating is safe."""
        return self.repeatable and not self.side_effect


DEFAULT_CONTRACTS = {"think": ToolContract(empty="answer", read_only=True)}
