"""What an agent needs to be told when a task is handed to it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, field_validator

from agent_reach.contracts.policy import Declaration


def as_schema(value: Any) -> Any:
    """The JSON Schema that a pydantic model stands for, or the given one.

    Raises:
        ValueError: a mapping that is no JSON Schema.
    """
    if isinstance(value, type) and issubclass(value, BaseModel):
        return value.model_json_schema()
    if isinstance(value, dict) and value:
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import SchemaError

        try:
            Draft202012Validator.check_schema(value)
        except SchemaError as error:
            raise ValueError(f"a JSON Schema; {error.message}") from None
    return value


class HandoffContract(Declaration):
    """What the receiver of a handoff requires.

    Attributes:
        receiver: its name; in a route table the key gives it.
        goal: it must be told what is wanted.
        required: the parameters, as a JSON Schema object or a pydantic model; those in its `required` list must come.
        conclusions: it must be told what was found so far.
        description: for the model, of the handoff tool made from this contract.
    """

    receiver: str = ""
    goal: bool = True
    required: dict[str, Any] = {}
    conclusions: bool = False
    description: str = ""

    @field_validator("required", mode="before")
    @classmethod
    def _as_schema(cls, value: Any) -> Any:
        if isinstance(value, list | tuple) and all(isinstance(v, str) for v in value):
            return {"type": "object", "properties": {v: {} for v in value}, "required": list(value)}
        return as_schema(value)

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """Schema of each required parameter, by name."""
        properties = self.required.get("properties", {})
        return {name: properties.get(name, {}) for name in self.required.get("required", ())}
