"""The tool registry: what each tool needs before it is called and what it gives, and what the task is to come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import Field, ImportString, PrivateAttr, ValidationError, field_validator, model_validator

from agent_reach.contracts.conditions import Condition, Unmet
from agent_reach.contracts.expressions import Expression
from agent_reach.contracts.handoffs import as_schema
from agent_reach.contracts.load import Lines, contract_error, contract_error_at, read_yaml
from agent_reach.contracts.policy import Declaration, Version
from agent_reach.errors import ContractError

Certainty = Literal["declared", "observed", "guess"]
Function = Callable[..., Any]
Named = Annotated[Function, ImportString]
"""A function, or in files its place as `module:function`."""

CAPABILITY: Final = "agent_reach_capability"
"""Attribute by which a decorated tool or function carries its capability."""

T = TypeVar("T")


class Refusal(Exception):
    """Raised by a semantic check to say why a call must not be made, where `False` says too little.

    Args:
        reason: for the model and the log.
        kind: of the failed precondition.
    """

    def __init__(self, reason: str, kind: Unmet = "invalid") -> None:
        self.kind: Unmet = kind
        super().__init__(reason)


class Effect(Declaration):
    """A fact that holds after a successful call.

    Attributes:
        path: dotted place of its value in the result; `""` stands for the last part of the fact's name.
        value: that it has by the call's success alone, instead of one from the result.
        certainty: `declared` and `observed` (seen in results) are sure, a `guess` makes a path weak.
    """

    path: str = ""
    value: Any = None
    certainty: Certainty = "declared"

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"path": value}
        return value if isinstance(value, Mapping | Effect) else {"value": value}

    @property
    def is_value(self) -> bool:
        """Its value does not come from the result."""
        return self.value is not None


class Capability(Declaration):
    """What one tool needs and gives; as a decorator, it is attached to a function or a LangChain tool.

    Attributes:
        description: for the model.
        preconditions: that hold before a call; those on `arguments` are looked at when there is one.
        parameters: fact by parameter that it is filled from: the fact is needed, and the argument must have its value.
        arguments: JSON Schema, or pydantic model, that the arguments must satisfy.
        checks: functions of (arguments, facts) that say whether a call makes sense, such as that an id exists: true, or false, or a
            `Refusal` is raised; sync or async, given up after `check_seconds`.
        effects: facts that a successful call gives, with where their values come from: a list of names, or a mapping from
            names to a dotted path in the result or to a value other than a text (`{value: …}` for a text).
        removes: facts that no longer hold after it.
        result: JSON Schema, or pydantic model, that a result must satisfy.
        verify: condition on `arguments` and `result`, or a function of both: whether the call really did it.
        verifies: what it gives settles conflicts.
        side_effect: it changes something outside; such a call is planned, never made to see what happens.
        cost: of one call, not negative.
        milestone: a stage that cannot be skipped.
        polls: it may be called again with the same arguments though nothing has changed since.
        certainty: of its preconditions; a `guess` makes every path through it weak.
        credentials: environment variables without which it cannot be called.
        probe: a function without arguments, sync or async, that says whether it can be called now: true, false, or an exception.
        extract: a function of (result, arguments) that gives further facts as a mapping.

    Example:
        >>> @Capability(preconditions=["order.id"], effects={"order.refunded": True}, side_effect=True, milestone=True)
        ... def refund_create(order_id: str) -> str: ...
    """

    description: str = ""
    preconditions: tuple[Condition, ...] = ()
    parameters: dict[str, str] = {}
    arguments: dict[str, Any] = {}
    checks: tuple[Named, ...] = ()
    check_seconds: Annotated[float, Field(gt=0)] = 5.0
    effects: dict[str, Effect] = {}
    removes: tuple[str, ...] = ()
    result: dict[str, Any] = {}
    verify: Expression | Function | None = None
    verifies: bool = False
    side_effect: bool = False
    cost: Annotated[float, Field(ge=0)] = 1.0
    milestone: bool = False
    polls: bool = False
    certainty: Certainty = "declared"
    credentials: tuple[str, ...] = ()
    probe: Named | None = None
    extract: Named | None = None

    @field_validator("effects", mode="before")
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        return {name: Effect() for name in value} if isinstance(value, list | tuple) else value

    @field_validator("arguments", "result", mode="before")
    @classmethod
    def _as_schema(cls, value: Any) -> Any:
        return as_schema(value)

    @field_validator("verify", mode="before")
    @classmethod
    def _readable(cls, value: Any) -> Any:
        return Expression(value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _no_contradiction(self) -> Capability:
        wanted = {c.fact for c in self.preconditions if c.fact and not c.absent} | set(self.parameters.values())
        both = sorted(wanted & {c.fact for c in self.preconditions if c.absent})
        if both:
            raise ValueError(f"preconditions that can hold together, not `{both[0]}` and `not {both[0]}`")
        return self

    def __call__(self, tool: T) -> T:
        """Attach this to a function or a tool."""
        object.__setattr__(tool, CAPABILITY, self)  # a LangChain tool is a pydantic model, which takes no other attributes
        return tool


class Source(Declaration):
    """A knowledge source or another agent that a task may need.

    Attributes:
        probe: a function without arguments, sync or async: for knowledge how many entries there are, or whether it answers.
        credentials: environment variables without which it cannot be used.
    """

    probe: Named | None = None
    credentials: tuple[str, ...] = ()


class Goal(Declaration):
    """What has to hold for a task to be done; nobody else decides that, least of all the model.

    Attributes:
        conditions: all of which have to hold.
        knowledge, agents: that the task needs, by name.
    """

    conditions: tuple[Condition, ...] = Field(min_length=1)
    knowledge: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, str) or callable(value):
            return {"conditions": (value,)}
        return {"conditions": value} if isinstance(value, list | tuple) else value


class Registry(Declaration):
    """Tools by name with what they need and give, and the goals that they serve.

    Attributes:
        version: of the registry.
        given: facts that come from outside: the user, the session.
        tools: by name.
        knowledge, agents: that tasks may need, by name.
        goals: by name.
    """

    version: Version = "0"
    given: tuple[str, ...] = ()
    tools: dict[str, Capability] = {}
    knowledge: dict[str, Source] = {}
    agents: dict[str, Source] = {}
    goals: dict[str, Goal] = {}
    _file: str = PrivateAttr("")
    _lines: Lines = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _sources_exist(self) -> Registry:
        for name, goal in self.goals.items():
            for kind, wanted, known in (("knowledge", goal.knowledge, self.knowledge), ("agents", goal.agents, self.agents)):
                if unknown := sorted(set(wanted) - set(known)):
                    raise ValueError(f"goals.{name}.{kind}: one of {sorted(known)}, found {unknown[0]!r}")
        return self

    @classmethod
    def load(cls, path: str | Path) -> Registry:
        """Read a YAML or JSON file.

        Raises:
            ContractError: with file, line, key and what was expected.
        """
        data, lines = read_yaml(path)
        if not isinstance(data, dict):
            raise contract_error_at((), "a mapping with `tools`", data, lines, str(path))
        try:
            made = cls.model_validate(data)
        except ValidationError as error:
            raise contract_error(error, lines, str(path)) from None
        made._file, made._lines = str(path), lines
        return made

    @classmethod
    def of(cls, tools: Iterable[Any], **rest: Any) -> Registry:
        """From tools that carry a `Capability`; others are left out.

        Args:
            tools: LangChain tools or functions.
            **rest: further fields, such as `given` and `goals`.
        """
        found = {name_of(tool): capability for tool in tools if (capability := capability_of(tool)) is not None}
        try:
            return cls(tools={**found, **rest.pop("tools", {})}, **rest)
        except ValidationError as error:
            raise contract_error(error, {}, None) from None

    def goal(self, wanted: str | Goal | Iterable[Any]) -> Goal:
        """A goal by its name, or made of conditions.

        Raises:
            ContractError: there is no such goal, or a condition is none.
        """
        if isinstance(wanted, Goal):
            return wanted
        if isinstance(wanted, str) and wanted in self.goals:
            return self.goals[wanted]
        try:
            return Goal.model_validate(wanted)
        except ValidationError as error:
            raise contract_error(error, {}, None) from None

    def error(self, place: tuple[Any, ...], expected: str, found: object = None) -> ContractError:
        """A problem at a place of the file that this came from."""
        return contract_error_at(place, expected, found, self._lines, self._file or None)


def capability_of(tool: Any) -> Capability | None:
    """What a tool was decorated with, itself or its function."""
    carriers = [tool, getattr(tool, "func", None), getattr(tool, "coroutine", None)]
    carried = (getattr(each, CAPABILITY, None) for each in carriers)
    return next((each for each in carried if isinstance(each, Capability)), None)


def name_of(tool: Any) -> str:
    """Under which a tool or function is called."""
    return str(getattr(tool, "name", None) or getattr(tool, "__name__", ""))
