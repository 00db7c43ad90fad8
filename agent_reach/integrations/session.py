"""One conversation, as a context."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from agent_reach.checks import Fragment
from agent_reach.errors import ContractError
from agent_reach.integrations.runtime import Runtime, around
from agent_reach.integrations.storage import StoredSessions
from agent_reach.integrations.turns import Scope, reset
from agent_reach.live import Session
from agent_reach.scores import ReachScore
from agent_reach.scores.rate import RateTally
from agent_reach.scores.utilisation import Utilisation


class ReachSession:
    """One conversation, as a context; sync and async."""

    def __init__(self, runtime: Runtime, stored: StoredSessions | None, id: str, intent: str, agent: str) -> None:
        self._runtime, self._stored, self.id = runtime, stored, id
        self._intent, self._agent = intent, agent
        self._known: Session | None = None

    def __enter__(self) -> ReachSession:
        runtime = self._runtime
        self._known = runtime.evaluator.session(self.id)
        self._token = runtime.turns.scope.set(Scope(self.id, self._intent, self._agent))
        self._around = around.set(runtime)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        runtime = self._runtime
        reset(runtime.turns.scope, self._token)
        reset(around, self._around)
        with runtime.notes.guard("ending a session"):
            if not runtime.turns.is_paused(self.id):
                runtime.evaluator.end(self._state)

    async def __aenter__(self) -> ReachSession:
        if self._stored is not None and self._runtime.evaluator.find(self.id) is None:
            await self._stored.aload(self.id)
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)
        if self._stored is not None:
            await self._stored.settle()

    @property
    def _state(self) -> Session:
        if self._known is None:
            self._known = self._runtime.evaluator.session(self.id)
        return self._known

    @property
    def score(self) -> ReachScore:
        """The score at this moment; after the block, the final one."""
        self._runtime.turns.flush(self.id)
        return self._state.score

    @property
    def rates(self) -> RateTally:
        """Reach rates of the session's task units that have closed."""
        return self._state.rates

    @property
    def utilisation(self) -> Utilisation:
        """Which fragments of the context the session's replies cite."""
        return self._state.utilisation

    def share(self, **facts: Any) -> None:
        """Values that may be supplied to a handoff that lacks them."""
        self._state.facts.update(facts)

    def context(self, *fragments: str, source: str = "prompt", group: str = "") -> None:
        """Fragments that your prompt brings into the model's context: whether replies cite them is counted from now on.

        Args:
            *fragments: as they stand in the prompt.
            source: name under which they are counted.
            group: what kind of knowledge they are, such as `customer tier`.

        Raises:
            ContractError: a fragment is no text.
        """
        for text in fragments:
            if not isinstance(text, str):
                raise ContractError("context", "texts, one argument each", text)
        self._state.context.extend(Fragment(text, source, group) for text in fragments if text)
