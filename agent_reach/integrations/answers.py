"""What language models say about a conversation: its intent, or the tool that it needs. Cached by content, bounded in time."""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from typing import Any, Final, Literal

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, Field, create_model

from agent_reach.contracts import Routes
from agent_reach.errors import ContractError, ReachError, briefly

NONE: Final = "none_of_these"
_FAILURES_IN_A_ROW: Final = 5
_PAUSE: Final = 60.0  # seconds in which a model that failed so often is not asked
_KEPT: Final = 10_000
_TEXT_LIMIT: Final = 8_000


class ModelAnswers:
    """A chat model that picks one of several labels. After five failures in a row it is left alone for a minute.

    Args:
        model: any chat model that takes a tool or has structured output.
        labels: what it may answer, with a line on each; it may also answer that none fits.
        instruction: what it is asked.
        cache: a file of JSON lines that keeps answers by content.
        timeout: seconds for one answer.

    Attributes:
        asked, failed: questions that went to the model, and those that brought no answer: it was down, slow, or named no label.

    Raises:
        ContractError: there is no label.
        ReachError: the cache cannot be read.
    """

    def __init__(
        self, model: BaseChatModel, labels: Mapping[str, str], instruction: str, *, cache: str | Path | None = None,
        timeout: float = 20.0,
    ) -> None:  # fmt: skip
        if not labels:
            raise ContractError("labels", "at least one label for the model to choose", {})
        self._labels = dict(labels)
        lines = "\n".join(f"- {name}: {text}" if text else f"- {name}" for name, text in labels.items())
        self._system = f"{instruction}\n\n{lines}\n- {NONE}: none of the above"
        self._chooser = model.with_structured_output(_choice(tuple(labels)))
        self._name = name_of(model)
        self._timeout, self._in_a_row, self._again_at = timeout, 0, 0.0
        self._cache = _Cache(cache)
        self.asked = self.failed = 0

    def pick(self, text: str) -> str | None:
        """The label, `""` when none fits, None when the model gave no valid answer in time."""
        text = text[-_TEXT_LIMIT:]
        key = blake2b(f"{self._name}\x1f{self._system}\x1f{text}".encode("utf-8", "replace"), digest_size=16).hexdigest()
        known = self._cache.get(key)
        if known is not None:
            return known
        if self._in_a_row >= _FAILURES_IN_A_ROW and monotonic() < self._again_at:
            self.failed += 1
            return None
        self.asked += 1
        try:
            answer = _within(self._timeout, lambda: self._chooser.invoke([("system", self._system), ("user", text)]))
            label = str(answer["choice"] if isinstance(answer, dict) else answer.choice)
        except Exception:  # noqa: BLE001 - a model may raise anything
            label = None
        if label is None or (label != NONE and label not in self._labels):
            self.failed += 1
            self._in_a_row += 1
            self._again_at = monotonic() + _PAUSE
            return None
        self._in_a_row = 0
        found = "" if label == NONE else label
        self._cache.put(key, found)
        return found


class IntentClassifier:
    """The intent of a user message by a chat model, limited to the table's labels; to be given to `Routes(classifier=…)`.

    Live, each turn with a new message waits for the answer, at most `timeout` seconds.

    Args:
        model: any LangChain chat model.
        routes: gives the labels, with their keywords as a hint.
        cache, timeout: as in `ModelAnswers`.
    """

    def __init__(self, model: BaseChatModel, routes: Routes, *, cache: str | Path | None = None, timeout: float = 5.0) -> None:
        labels = {name: ", ".join(intent.keywords) for name, intent in routes.intents.items()}
        instruction = "Which intent does the user's message have? A message that only continues or answers has none of its own."
        self.answers = ModelAnswers(model, labels, instruction, cache=cache, timeout=timeout)

    def __call__(self, text: str) -> str | None:
        """The label, None when it has none of its own or the model gave no answer: keywords and patterns are then tried."""
        return self.answers.pick(text) or None


class Judge:
    """An independent model that says which tool a conversation needs next, without seeing what was called.

    Args:
        model: must be another one than the agent's: a model that judges itself agrees too often.
        tools: the registered ones, with their descriptions; no other answer counts.
        agent_model: name of the agent's model, for a warning when it is the same.
        cache, timeout: as in `ModelAnswers`.
    """

    def __init__(
        self, model: BaseChatModel, tools: Mapping[str, str], *, agent_model: str = "", cache: str | Path | None = None,
        timeout: float = 20.0,
    ) -> None:  # fmt: skip
        if agent_model and agent_model.rpartition(":")[2] == name_of(model):
            warnings.warn(f"the judge is the agent's own model, {agent_model}: take another one", stacklevel=2)
        instruction = "An assistant has these tools. Which one does the conversation need next to serve what the user wants?"
        self.answers = ModelAnswers(model, tools, instruction, cache=cache, timeout=timeout)

    def __call__(self, history: Sequence[tuple[str, str]], intent: str) -> str | None:
        """The tool, `""` when none is needed, None when there is no judgement.

        Args:
            history: (role, text) of the messages so far.
            intent: what the user wants, as classified.
        """
        told = "\n".join(f"{role}: {text}" for role, text in history)
        return self.answers.pick(f"Intent: {intent}\n\n{told}")


class ModelCheck:
    """A yes-or-no question that a model answers: as `outcome` of a step, or as `check` of an instruction.

    Args:
        model: any LangChain chat model.
        question: about what it is shown, such as "Does this tell where an order is?".
        cache, timeout: as in `ModelAnswers`.
    """

    def __init__(self, model: BaseChatModel, question: str, *, cache: str | Path | None = None, timeout: float = 20.0) -> None:
        self.answers = ModelAnswers(model, {"yes": "", "no": ""}, question, cache=cache, timeout=timeout)

    def __call__(self, *shown: Any) -> bool:
        """Whether the model says yes to what it is shown.

        Raises:
            ReachError: it gave no answer; the check is then not counted.
        """
        answer = self.answers.pick("\n".join(part if isinstance(part, str) else json.dumps(part, default=str) for part in shown))
        if answer is None:
            raise ReachError("the model gave no answer")
        return answer == "yes"


def _within(seconds: float, ask: Callable[[], Any]) -> Any:
    """The answer, asked for in a thread of its own: outside the user's run, and left behind when it takes too long."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(ask())
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is waited for
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name="agent-reach-model").start()
    return future.result(seconds)


def chat_model(name: str) -> BaseChatModel:
    """The chat model of an `init_chat_model` name, such as `openai:gpt-5`.

    Raises:
        ReachError: `langchain` or the provider's package is missing, or there is no such model.
    """
    try:
        from langchain.chat_models import init_chat_model

        made: BaseChatModel = init_chat_model(name)
        return made
    except ImportError as error:
        raise ReachError(f"model {name!r}: `langchain` or the provider's package is not installed ({briefly(error)})") from error
    except ValueError as error:
        raise ReachError(f"model {name!r}: {briefly(error)}") from error


def name_of(model: Any) -> str:
    """The name under which a provider knows the model, else the class."""
    for key in ("model_name", "model", "model_id"):
        value = getattr(model, key, None)
        if isinstance(value, str) and value:
            return value
    return type(model).__name__


def _choice(labels: tuple[str, ...]) -> type[BaseModel]:
    allowed: Any = Literal[(*labels, NONE)]
    made: type[BaseModel] = create_model("Choice", choice=(allowed, Field(description="one of the labels")))
    return made


class _Cache:
    """Answers by content, the newest ones in memory and, with a path, all as JSON lines. Thread-safe."""

    def __init__(self, path: str | Path | None) -> None:
        self._path = Path(path) if path else None
        self._lock = threading.Lock()
        self._known: dict[str, str] = {}
        if self._path is not None and self._path.exists():
            try:
                lines = self._path.read_text("utf-8").splitlines()
            except (OSError, UnicodeDecodeError) as error:
                raise ReachError(f"{self._path}: is no file of cached answers ({briefly(error)})") from None
            for number, line in enumerate(lines):
                try:
                    key, answer = json.loads(line)
                except ValueError:
                    raise ReachError(f"{self._path}: line {number + 1} is no cached answer; delete the file to ask anew") from None
                self._known[key] = answer

    def get(self, key: str) -> str | None:
        return self._known.get(key)

    def put(self, key: str, answer: str) -> None:
        with self._lock:
            self._known[key] = answer
            if len(self._known) > _KEPT:
                del self._known[next(iter(self._known))]
            if self._path is not None:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([key, answer]) + "\n")
