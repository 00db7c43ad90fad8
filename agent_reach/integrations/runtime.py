"""What all adapters of one `Reach` share."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from langchain_core.tools import BaseTool

from agent_reach.checks import Citation, Fragment, Relevance, citations, lexical_relevance, utilised
from agent_reach.checks.instructions import Act, TurnRecord, verdicts
from agent_reach.compensate import Breakers, Snapshots
from agent_reach.contracts import Alternate, Compensation, HandoffContract, Routes, ToolContract
from agent_reach.contracts.instructions import Instructions
from agent_reach.events import Event, ToolCall, UnitClosed, unit_attributes
from agent_reach.integrations.capture import Capture
from agent_reach.integrations.shadow import Shadows
from agent_reach.integrations.tracing import Handle, Tracing
from agent_reach.integrations.turns import OpenTurn, Turns
from agent_reach.live import Evaluator, Notes
from agent_reach.live.predictor import Predictor

if TYPE_CHECKING:
    from agent_reach.integrations.calls import CallRecord
    from agent_reach.integrations.storage import BaseStoreLedger

_BASELINE_SAMPLES = 31
_SAID_KEPT = 20_000


around: ContextVar[Runtime | None] = ContextVar("agent_reach_around", default=None)
"""The runtime of the innermost `reach.session(...)`."""


class Recorder(Protocol):
    """Is told of every call with what went in and came out, whatever the payload policy: an evaluation's."""

    def called(self, event: ToolCall, arguments: dict[str, Any], result: Any) -> None: ...


def _nobody() -> Runtime:
    raise RuntimeError("import agent_reach before its parts")


class Runtime:
    """Everything that observing and compensating needs, composed once by `Reach`.

    Args:
        routes: the route table.
        policy: what may be done about a broken link; None only observes.
        evaluator: counts events and hands them on.
        tracing: makes spans.
        notes: counts faults of the observer.
        capture: payload policy.
        relevance: judges fragments; `calibrated` says whether its numbers are probabilities.
        citation: says which fragments a reply cites.
        instructions: atoms of the prompt, checked as turns end.
        clock: nanoseconds since 1970.
        store_ledger: makes a ledger of the session store, if there is one.
    """

    make_default: ClassVar[Callable[[], Runtime]] = staticmethod(_nobody)

    def __init__(
        self,
        *,
        routes: Routes,
        policy: Compensation | None,
        evaluator: Evaluator,
        tracing: Tracing,
        notes: Notes,
        capture: Capture,
        clock: Callable[[], int],
        relevance: Relevance = lexical_relevance,
        calibrated: bool = False,
        citation: Citation = citations,
        instructions: Instructions | None = None,
        store_ledger: Callable[[str], BaseStoreLedger] | None = None,
    ) -> None:
        self.routes, self.policy = routes, policy
        self.evaluator, self.tracing, self.notes, self.capture = evaluator, tracing, notes, capture
        self.clock = clock
        self.relevance, self.calibrated, self.citation = relevance, calibrated, citation
        self.store_ledger, self.instructions = store_ledger, instructions
        self.breakers, self.snapshots = Breakers(), Snapshots()
        self.current: ContextVar[CallRecord | None] = ContextVar("agent_reach_call", default=None)
        self.retrieving: ContextVar[bool] = ContextVar("agent_reach_retrieving", default=False)
        self.turns = Turns(self)
        self.shadows = Shadows(self.current.get)
        self.tools: dict[str, BaseTool] = {}
        self.handoffs: dict[str, HandoffContract] = dict(routes.handoffs)
        self.open_runs: dict[Any, CallRecord] = {}
        self.recorder: Recorder | None = None
        self.predictor = Predictor()
        self._baselines = Baselines()
        evaluator.add_sink(self._trace_unit)
        evaluator.add_sink(self.predictor)

    # declared -------------------------------------------------------------------------------------------------------

    def register(self, tools: Mapping[str, BaseTool]) -> None:
        """Make tools known as substitutes."""
        self.tools.update(tools)

    def classify(self, text: str) -> str | None:
        """The intent of a message; a classifier that raises is noted and gives none."""
        if not text:
            return None
        try:
            return self.routes.classify(text)
        except Exception as error:  # noqa: BLE001 - a user's classifier may raise anything
            self.notes.add("classifier", "the intent classifier raised; the turn has no intent of its own", error)
            return None

    def known_intent(self, intent: str) -> str:
        """An intent that the user named; one that is in no route table is noted, since it is likely misspelt."""
        if intent and self.routes.intents and intent not in self.routes.intents:
            self.notes.add("unknown_intent", f"intent {intent!r} is not in the route table ({', '.join(self.routes.intents)})")
        return intent

    def substitutes(self, intent: str, tool: str) -> list[tuple[Alternate, ToolContract]]:
        """Tools that can stand in and exist here."""
        found = []
        for alternate in self.routes.substitutes(intent, tool):
            if alternate.tool in self.tools:
                found.append((alternate, self.routes.contract(alternate.tool)))
            else:
                self.notes.add("unknown_alternate", f"{alternate.tool!r}, alternate of {tool!r}, is not registered here")
        return found

    def down(self) -> dict[str, str]:
        """Tools that must not be called now, with why, to follow "which"."""
        return {
            tool: f"whose breaker is open for another {left:.0f} s" for tool, left in self.breakers.open(time.monotonic()).items()
        }

    # observed -------------------------------------------------------------------------------------------------------

    def is_slow(self, tool: str, contract: ToolContract, latency: int, *, disturbed: bool) -> bool:
        """Over three times the tool's baseline: declared, else the median of its undisturbed attempts."""
        return self._baselines.is_slow(tool, contract, latency, disturbed=disturbed)

    def utilised(self, context: Sequence[Fragment], reply: str, said: str) -> dict[str, Any]:
        """Which fragments of the context a reply cites, as fields of its turn; none when the user's function raises."""
        try:
            cited = [bool(each) for each in self.citation([fragment.text for fragment in context], reply, said)]
            if len(cited) != len(context):
                raise ValueError(f"expected {len(context)} answers, found {len(cited)}")
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything
            self.notes.add("citation", "the citation function raised; the turn's context is not counted", error)
            return {}
        return utilised(context, cited)

    def verdicts(self, turn: OpenTurn) -> tuple[str, ...]:
        """Verdict and id of each atom whose condition the turn met; a check that raises is noted and not counted."""
        assert self.instructions is not None
        acts = (
            turn.acts if any(act.text == turn.reply for act in turn.acts) or not turn.reply else [*turn.acts, Act(text=turn.reply)]
        )
        session = turn.session
        found, raised = verdicts(
            self.instructions.atoms,
            TurnRecord(turn.user, turn.ref.intent, tuple(acts), session.said, session.facts, tuple(session.acts)),
        )
        session.said = f"{session.said}\n{turn.user}"[-_SAID_KEPT:]
        session.acts.extend(acts)
        for atom, error in raised.items():
            self.notes.add("instruction", f"the check of instruction {atom!r} raised; it is not counted", error)
        return tuple(f"{verdict} {atom}" for atom, verdict in found.items())

    def payload(self, value: Any) -> str:
        """The content as it may be kept; `""` when capture is off or a redactor raises."""
        if not self.capture.enabled:
            return ""
        try:
            return self.capture.text(value)
        except Exception as error:  # noqa: BLE001 - a user's redactor may raise anything
            self.notes.add("redactor", "a redactor raised; the payload was left out", error)
            return ""

    def publish(self, event: Event, handle: Handle | None = None) -> None:
        """Count the event and end its span."""
        event = self.evaluator.publish(event)
        if handle is not None:
            self.tracing.close(handle, event)

    def _trace_unit(self, event: Event) -> None:
        """A unit that closes with its turn stands on the turn's span; later it gets a span of its own."""
        if isinstance(event, UnitClosed):
            handle = self.turns.handles.get(event.parent)
            if handle is not None:
                self.tracing.describe(handle, unit_attributes(event))
            else:
                self.tracing.record(event)

    def after_fork(self) -> None:
        """A lock that another thread held when the process forked would stay locked in the child."""
        self._baselines = Baselines()
        self.evaluator.after_fork()
        self.predictor.after_fork()
        self.turns.after_fork()

    def annotate(self, event: Event, handle: Handle) -> None:
        """Count the event and add it to an open span."""
        self.evaluator.publish(event)
        self.tracing.annotate(handle, event)

    def turn_of(self, config: Mapping[str, Any], *, text: Callable[[], tuple[str, int]], agent: str) -> OpenTurn:
        """The turn of a call that a wrapper sees.

        Args:
            config: the runnable configuration.
            text: gives the newest user message and how many there are, asked only when no tracker is there.
            agent: who acts.
        """
        manager = config.get("callbacks")
        turn = self.turns.of_run(getattr(manager, "parent_run_id", None))
        if turn is not None:
            return turn
        metadata, configurable = config.get("metadata") or {}, config.get("configurable") or {}
        run = getattr(manager, "parent_run_id", None)
        id = self.turns.session_id(metadata, configurable, run)
        message, users = text()
        turn = self.turns.unseen(id, text=message, agent=agent, users=users)
        if run is not None and id == str(run):
            self.turns.nameless(id)
        return turn


class Baselines:
    """Median latency per tool, from its latest undisturbed attempts."""

    def __init__(self) -> None:
        self._samples: dict[str, list[int]] = {}
        self._medians: dict[str, int] = {}
        self._lock = threading.Lock()

    def is_slow(self, tool: str, contract: ToolContract, latency: int, *, disturbed: bool) -> bool:
        if contract.baseline_ms is not None:
            return latency > 3e6 * contract.baseline_ms
        median = self._medians.get(tool)
        if not disturbed and (median is None or latency & 7 == 0):
            self._sample(tool, latency)
        return median is not None and latency > 3 * median and latency > 1_000_000

    def _sample(self, tool: str, latency: int) -> None:
        """One in eight attempts is enough; the first ones all count until there is a median."""
        with self._lock:
            samples = self._samples.setdefault(tool, [])
            samples.append(latency)
            if len(samples) > _BASELINE_SAMPLES:
                samples.pop(0)
            if len(samples) >= 5:
                self._medians[tool] = sorted(samples)[len(samples) // 2]


def default_runtime() -> Runtime:
    """The runtime of a `Reach()` with defaults; the composition root puts itself here."""
    return Runtime.make_default()
