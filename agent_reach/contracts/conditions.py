"""What has to be true of the facts before a tool is called, or for a task to be done."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Annotated, Any, Final, Literal

from pydantic import Field, field_validator, model_validator

from agent_reach.contracts.expressions import Expression
from agent_reach.contracts.policy import Declaration, Share

Unmet = Literal["missing", "stale", "forbidden", "invalid"]
"""Why a condition does not hold: the fact is not there, too old, not allowed, or not as it should be."""

_NAME: Final = re.compile(r"(not\s+)?([\w\-:/]+(?:\.[\w\-:/]+)*(?:\.\*)?)")
_MENTIONED: Final = re.compile(r"\bfacts\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")


class Condition(Declaration):
    """One thing that a machine can check.

    In files and in code a text will do: `order.verified` (the fact holds), `not order.locked`, `no conflicts`, or an expression in
    JMESPath or JSONPath on `facts`, `arguments` and `conflicts`, such as "facts.order.amount < `500`". A function of the facts will
    do, too.

    A fact holds when its value is neither nothing, false nor empty.

    Attributes:
        fact: its name; `order.*` stands for every fact below `order`, of which there must be one.
        absent: it must not hold.
        equals: the value that it must have.
        max_age: seconds after which it is stale.
        confidence: that it must have at least.
        sources: that each fact must have at least, such as the tools that found it.
        sources_together: that the facts must have among them at least.
        conflicts: open conflicts that there may be among the facts, at most; with `fact`, among those.
        expression: on `facts` (nested by the dots of their names), `arguments` and `conflicts`.
        predicate: a function of the facts, by name, that says whether it holds.
        reads: names of the facts that the predicate looks at.
        kind, reason: what is said when it does not hold; by default what was found.
    """

    fact: str = ""
    absent: bool = False
    equals: Any = None
    max_age: Annotated[float, Field(gt=0)] | None = None
    confidence: Share = 0.0
    sources: Annotated[int, Field(ge=1)] = 1
    sources_together: Annotated[int, Field(ge=0)] = 0
    conflicts: Annotated[int, Field(ge=0)] | None = None
    expression: Expression | None = None
    predicate: Callable[[Any], Any] | None = None
    reads: tuple[str, ...] = ()
    kind: Literal["", "missing", "stale", "forbidden", "invalid"] = ""
    reason: str = ""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, str):
            return _read(value)
        if callable(value) and not isinstance(value, type):
            return {"predicate": value}
        return value

    @field_validator("expression", mode="before")
    @classmethod
    def _readable(cls, value: Any) -> Any:
        return Expression(value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _says_one_thing(self) -> Condition:
        said = [bool(self.fact) or self.conflicts is not None, self.expression is not None, self.predicate is not None]
        if sum(said) != 1:
            raise ValueError("a fact's name, an expression or a function")
        if self.absent and (self._further or self.fact.endswith("*")):
            raise ValueError("`absent` with nothing but the name of one fact")
        return self

    @property
    def _further(self) -> bool:
        return bool({"equals", "max_age", "confidence", "sources", "sources_together", "conflicts"} & self.model_fields_set)

    @cached_property
    def is_plain(self) -> bool:
        """Nothing but that one fact holds, or does not."""
        return bool(self.fact) and not self._further and not self.fact.endswith("*")

    @cached_property
    def wants_value(self) -> bool:
        """It names the value that the fact must have."""
        return "equals" in self.model_fields_set

    @cached_property
    def is_of_arguments(self) -> bool:
        """It looks at the arguments of a call, and says nothing while there is none."""
        return self.expression is not None and re.search(r"\barguments\b", self.expression.text) is not None

    @cached_property
    def mentions(self) -> tuple[str, ...]:
        """Facts that it looks at, as far as that is known."""
        if self.fact:
            return (self.fact,)
        return tuple(_MENTIONED.findall(self.expression.text)) if self.expression is not None else self.reads

    @cached_property
    def name(self) -> str:
        """As it is told, and as the search knows it."""
        if self.expression is not None:
            return self.expression.text
        if self.predicate is not None:
            return getattr(self.predicate, "__name__", None) or repr(self.predicate)
        return f"not {self.fact}" if self.absent else " ".join([self.fact, *self._wishes()]).strip()

    def _wishes(self) -> Iterable[str]:
        if self.wants_value:
            yield f"= {self.equals!r}"
        if self.sources > 1:
            yield f"from {self.sources} sources each"
        if self.sources_together:
            yield f"from {self.sources_together} sources together"
        if self.max_age is not None:
            yield f"not older than {self.max_age:g} s"
        if self.confidence:
            yield f"with confidence {self.confidence:g}"
        if self.conflicts is not None:
            yield f"with at most {self.conflicts} open conflicts" if self.conflicts else "without open conflicts"

    def covers(self, fact: str) -> bool:
        """The fact is one of those that it names; a part of one, or what one is a part of, counts for an expression."""
        if self.fact:
            return fact.startswith(self.fact[:-1]) if self.fact.endswith("*") else fact == self.fact
        if self.conflicts is not None:
            return True
        return any(fact == name or name.startswith(f"{fact}.") or fact.startswith(f"{name}.") for name in self.mentions)

    def __str__(self) -> str:
        return self.name


def _read(text: str) -> dict[str, Any]:
    if text.strip() == "no conflicts":
        return {"conflicts": 0}
    if (found := _NAME.fullmatch(text.strip())) and not found[2].startswith(("facts.", "arguments.")):
        return {"fact": found[2], "absent": bool(found[1])} if found[1] else {"fact": found[2]}
    return {"expression": text}
