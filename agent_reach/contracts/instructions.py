"""Instructions of a system prompt as atoms: what to do, and when (definitions, section 4)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationError, model_validator

from agent_reach.contracts.load import contract_error, read_yaml
from agent_reach.contracts.policy import Declaration, Version


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise ValueError(f"a regular expression ({error}): {pattern!r}") from None
    return pattern


Pattern = Annotated[str, AfterValidator(_compiles)]
"""A regular expression; letter case is ignored."""

_KINDS = ("call", "not_call", "say", "not_say", "ask", "order", "max_chars", "format", "check")


class When(Declaration):
    """The condition of an atom; all that is given has to hold. Nothing given holds in every turn.

    Attributes:
        user: found in the user's message of the turn.
        intent: of the turn.
        called: this tool was called in the turn.
        state: values that hold, by name: of `session.share(…)` live, of the conversation's record offline.
    """

    user: Pattern | None = None
    intent: str = ""
    called: str = ""
    state: dict[str, str | int | float | bool] = {}


class Then(Declaration):
    """What has to be done in the turn; exactly one of the kinds.

    Attributes:
        call, not_call: a tool that must, or must not, be called.
        say, not_say: what the assistant must, or must not, say.
        ask: what the assistant must ask the user for; found in a message that asks something.
        order: tools that, as far as they are called, are called in this order.
        max_chars: of the turn's last reply.
        format: of the turn's last reply: `json`, `list` (every line an item) or `sentence` (one).
        check: a function of (user, calls, replies) that says whether the atom was obeyed; only in Python. A model is asked by
            `agent_reach.integrations.answers.ModelCheck`.
        before: a tool; `call`, `say` and `ask` have to come before its first call in the turn, after any call of it in an earlier
            one, and without that call the atom is not triggered. What is asked has to be asked in an earlier turn, so that the
            user could answer; `user` of the condition may have been said in an earlier turn, too.
        given: for `ask`: what the user says when it is given already; then the atom is not triggered, and asking again is
            over-obeyed.
    """

    call: str = ""
    not_call: str = ""
    say: Pattern | None = None
    not_say: Pattern | None = None
    ask: Pattern | None = None
    order: tuple[str, ...] = ()
    max_chars: int | None = Field(default=None, ge=1)
    format: Literal["json", "list", "sentence"] | None = None
    check: Callable[[str, tuple[str, ...], tuple[str, ...]], bool] | None = None
    before: str = ""
    given: Pattern | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Then:
        kinds = [name for name in _KINDS if getattr(self, name)]
        if len(kinds) != 1:
            raise ValueError(f"exactly one of {', '.join(_KINDS)}, found {', '.join(kinds) or 'none'}")
        if self.before and kinds[0] not in ("call", "say", "ask"):
            raise ValueError("`before` goes with call, say or ask")
        if self.given and kinds[0] != "ask":
            raise ValueError("`given` goes with ask")
        return self


class Atom(Declaration):
    """One instruction.

    Attributes:
        id: names it in reports.
        text: the sentence of the prompt that it stands for.
        when, then: its condition and what it demands.
    """

    id: str = Field(min_length=1)
    text: str = ""
    when: When = When()
    then: Then


class Instructions(Declaration):
    """The atoms of a prompt, with their version."""

    version: Version = "0"
    atoms: tuple[Atom, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _ids_once(self) -> Instructions:
        ids = [atom.id for atom in self.atoms]
        if twice := sorted({id for id in ids if ids.count(id) > 1}):
            raise ValueError(f"each id once, found {', '.join(twice)} again")
        return self

    @classmethod
    def load(cls, path: str | Path) -> Instructions:
        """Read a YAML file.

        Raises:
            ContractError: with file, line, key and what was expected.
        """
        document, lines = read_yaml(path)
        try:
            return cls.model_validate(document or {})
        except ValidationError as error:
            raise contract_error(error, lines, str(path)) from None
