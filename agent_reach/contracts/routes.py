"""The route table: which tools each intent needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field, PrivateAttr, ValidationError, field_validator, model_validator

from agent_reach.contracts.handoffs import HandoffContract, as_schema
from agent_reach.contracts.load import Lines, contract_error, contract_error_at, read_yaml
from agent_reach.contracts.policy import Compensation, Declaration, Thresholds, Version, Weights
from agent_reach.contracts.tools import DEFAULT_CONTRACTS, Alternate, ToolContract

Classifier = Callable[[str], str | None]


class Step(Declaration):
    """One need.

    Attributes:
        tools: interchangeable ones, the best first.
        outcome: what any other tool's result must look like to serve the need as well: a JSON Schema, a pydantic model, or a
            function of the result that says so. Such a call is an alternative path.
    """

    tools: tuple[str, ...] = Field(min_length=1)
    outcome: dict[str, Any] | Callable[[Any], bool] | None = None

    @field_validator("outcome", mode="before")
    @classmethod
    def _is_schema(cls, value: Any) -> Any:
        return as_schema(value) if isinstance(value, dict | type) else value


class Intent(Declaration):
    """How an intent is recognised, and the steps that serve it.

    Attributes:
        keywords: any of them in the user's message, letter case ignored; Latin words match whole.
        patterns: regular expressions, letter case ignored.
        steps: the needs; a list of tool names stands for one step.
    """

    keywords: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()

    @field_validator("steps", mode="before")
    @classmethod
    def _short_steps(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        short = [[item] if isinstance(item, str) else item for item in value]
        return [{"tools": item} if isinstance(item, list | tuple) else item for item in short]

    @field_validator("patterns")
    @classmethod
    def _compiles(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in value:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"a regular expression ({error}): {pattern!r}") from None
        return value

    @cached_property
    def matcher(self) -> re.Pattern[str] | None:
        """All keywords and patterns as one expression, None when there are none."""
        words = [rf"\b{re.escape(k)}\b" if k.isascii() else re.escape(k) for k in self.keywords]
        parts = [*words, *(f"(?:{p})" for p in self.patterns)]
        return re.compile("|".join(parts), re.IGNORECASE) if parts else None


class Source(Declaration):
    """A knowledge source.

    Attributes:
        ideal: fragments that a query should bring.
        label: key in a fragment's metadata that says whether it is needed.
        group: key in a fragment's metadata by whose value context utilisation is counted, such as `kind`.
    """

    ideal: int = Field(default=3, ge=0)
    label: str = ""
    group: str = ""


class Routes(Declaration):
    """What should happen: intents with their steps, and the contracts of tools, handoffs and sources.

    Example:
        >>> routes = Routes(intents={"order_query": {"keywords": ["order"], "steps": [["orders_db", "orders_cache"]]}})
        >>> routes.classify("Where is my order?")
        'order_query'
    """

    version: Version = "0"
    intents: dict[str, Intent] = {}
    tools: dict[str, ToolContract] = {}
    handoffs: dict[str, HandoffContract] = {}
    knowledge: dict[str, Source] = {}
    thresholds: Thresholds = Thresholds()
    weights: Weights = Weights()
    compensation: Compensation | None = None
    classifier: Classifier | None = None
    _file: str = PrivateAttr("")
    _lines: Lines = PrivateAttr(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _name_receivers(cls, values: Any) -> Any:
        handoffs = values.get("handoffs") if isinstance(values, dict) else None
        if not isinstance(handoffs, dict):
            return values
        named = {
            name: {"receiver": name, **contract}
            if isinstance(contract, dict)
            else contract.model_copy(update={"receiver": name})
            if isinstance(contract, HandoffContract)
            else contract
            for name, contract in handoffs.items()
        }
        return {**values, "handoffs": named}

    @classmethod
    def load(cls, path: str | Path, *, tools: Iterable[str] | None = None, classifier: Classifier | None = None) -> Routes:
        """Read a YAML file.

        Args:
            path: the file.
            tools: names of all registered tools; a route or alternate that names another one is an error.
            classifier: gives the intent of a user message, before keywords and patterns are tried.

        Raises:
            ContractError: with file, line, key and what was expected.
        """
        data, lines = read_yaml(path)
        if not isinstance(data, dict):
            raise contract_error_at((), "a mapping with `intents`, `tools`, `handoffs` …", data, lines, str(path))
        try:
            routes = cls.model_validate({**data, **({"classifier": classifier} if classifier else {})})
        except ValidationError as error:
            raise contract_error(error, lines, str(path)) from None
        routes._file, routes._lines = str(path), lines
        if tools is not None:
            routes.check_tools(tools, lines=lines, file=str(path))
        return routes

    def check_tools(self, registered: Iterable[str], *, lines: Lines | None = None, file: str | None = None) -> list[str]:
        """Compare with the tools that exist.

        Returns:
            registered tools that no route, alternate or contract names.

        Raises:
            ContractError: a route or alternate names a tool that does not exist.
        """
        known = set(registered)
        for path, name in self.named():
            if name not in known:
                raise contract_error_at(path, f"a registered tool ({', '.join(sorted(known))})", name, lines or {}, file)
        return sorted(known - {name for _, name in self.named()} - set(self.tools))

    def named(self) -> Iterable[tuple[tuple[Any, ...], str]]:
        """Every tool that a route or an alternate names, with the place of its name."""
        for intent, declared in self.intents.items():
            for index, step in enumerate(declared.steps):
                for name in step.tools:
                    yield ("intents", intent, "steps", index), name
        for tool, contract in self.tools.items():
            for index, alternate in enumerate(contract.alternates):
                yield ("tools", tool, "alternates", index), alternate.tool

    def place_of(self, intent: str, tool: str) -> str:
        """Where the first step of the intent that lists the tool stands, such as `routes.yaml:7 intents.order.steps[0]`."""
        number = next((n for n, step in enumerate(self.steps(intent)) if tool in step.tools), 0)
        line = self._lines.get(("intents", intent, "steps", number))
        file = f"{self._file}:{line} " if line else ""
        return f"{file}intents.{intent}.steps[{number}]"

    def classify(self, text: str) -> str | None:
        """The intent of a user message, None when it has none of its own.

        Raises:
            Exception: whatever a user's classifier raises.
        """
        if self.classifier is not None and (found := self.classifier(text)):
            return found
        for name, intent in self.intents.items():
            if intent.matcher is not None and intent.matcher.search(text):
                return name
        return None

    def contract(self, tool: str) -> ToolContract:
        """The tool's contract, else the default one."""
        return self.tools.get(tool) or DEFAULT_CONTRACTS.get(tool) or _NO_CONTRACT

    def steps(self, intent: str) -> tuple[Step, ...]:
        """Steps of the intent, empty when it has no route."""
        declared = self.intents.get(intent)
        return declared.steps if declared else ()

    def expected(self, intent: str, tool: str) -> tuple[str, ...]:
        """Tools of the first step of the intent that lists `tool`, empty when none does."""
        return next((step.tools for step in self.steps(intent) if tool in step.tools), ())

    def substitutes(self, intent: str, tool: str) -> tuple[Alternate, ...]:
        """Who can stand in for `tool`: the other tools of its step, then its declared alternates, each once."""
        found: dict[str, Alternate] = {}
        declared = {alternate.tool: alternate for alternate in self.contract(tool).alternates}
        for name in self.expected(intent, tool):
            if name != tool:
                found[name] = declared.get(name) or Alternate(tool=name)
        for name, alternate in declared.items():
            found.setdefault(name, alternate)
        return tuple(found.values())

    @cached_property
    def groups(self) -> Mapping[str, str]:
        """A common name for tools that are declared alternates of one another (first of them in the table)."""
        leader: dict[str, str] = {}
        for tool, contract in self.tools.items():
            members = [tool, *(a.tool for a in contract.alternates)]
            name = next((leader[m] for m in members if m in leader), tool)
            for member in members:
                leader.setdefault(member, name)
        return leader


_NO_CONTRACT = ToolContract()
