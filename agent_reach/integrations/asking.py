"""Any agent as something that can be asked: a graph, an AgentExecutor, another runnable, a function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.types import Command

from agent_reach.integrations.translate import text_of

if TYPE_CHECKING:
    from agent_reach.reach import Reach


@contextmanager
def conversation(
    reach: Reach, agent: Any, session: str, callbacks: Sequence[BaseCallbackHandler] = ()
) -> Iterator[Callable[[Any], Any]]:
    """A conversation with an agent, watched, under the id of a session.

    Args:
        reach: watches.
        agent: a graph or other runnable whose state holds `messages`, an AgentExecutor (`input`, `chat_history`), or a function,
            async or not, that takes the messages so far and returns its reply.
        session: id; also the graph's `thread_id`.
        callbacks: further handlers.

    Yields:
        a function that takes a user message, or a `Command` that resumes a graph, and returns the agent's answer as it gives it.
    """
    runnable, is_async = _runnable(agent)
    config: RunnableConfig = {"callbacks": [reach.tracker, *callbacks], "configurable": {"thread_id": session}}
    history: list[BaseMessage] = []
    remembers = getattr(agent, "checkpointer", None) is not None

    def ask(message: Any) -> Any:
        asked = HumanMessage("" if isinstance(message, Command) else message)
        inputs: Any
        if isinstance(message, Command):
            inputs = message
        elif hasattr(agent, "return_intermediate_steps"):
            inputs = {"input": message, "chat_history": list(history)}
        else:
            inputs = {"messages": [asked] if remembers else [*history, asked]}
        answer = asyncio.run(runnable.ainvoke(inputs, config)) if is_async else runnable.invoke(inputs, config)
        if not remembers:
            history[:] = _history(history, asked, answer)
        return answer

    with reach.session(session):
        yield ask


def _runnable(agent: Any) -> tuple[Runnable[Any, Any], bool]:
    if isinstance(agent, Runnable):
        return agent, _only_async(agent)
    if not callable(agent):
        raise TypeError(f"expected a runnable or a function, found {type(agent).__name__}")
    if inspect.iscoroutinefunction(agent):

        async def acall(state: dict[str, Any]) -> Any:
            return await agent(state["messages"])

        return RunnableLambda(acall), True
    return RunnableLambda(lambda state: agent(state["messages"])), False


def _only_async(agent: Any) -> bool:
    """A graph with a node, or a tool in one, that has no sync form."""
    for node in getattr(agent, "nodes", {}).values() if isinstance(getattr(agent, "nodes", None), dict) else ():
        bound = getattr(node, "bound", None)
        for part in getattr(bound, "steps", [bound]):
            tools = getattr(part, "tools_by_name", {}).values()
            if any(_lacks_sync(each, "coroutine") for each in tools) or _lacks_sync(part, "afunc"):
                return True
    return False


def _lacks_sync(part: Any, twin: str) -> bool:
    return getattr(part, "func", part) is None and getattr(part, twin, None) is not None


def asked_of(answer: Any) -> Any | None:
    """What a graph that paused asks a person, None when it did not."""
    waiting = answer.get("__interrupt__") if isinstance(answer, dict) else None
    return waiting[0].value if waiting else None


def resumed(answer: Any) -> Any:
    """What to ask a paused graph with, so that it goes on with a person's answer."""
    return Command(resume=answer)


def reply_of(answer: Any) -> str:
    """The text of an agent's answer."""
    if isinstance(answer, dict) and isinstance(answer.get("messages"), list) and answer["messages"]:
        return text_of(answer["messages"][-1])
    found = answer.get("output", answer) if isinstance(answer, dict) else answer
    return text_of(found) if isinstance(found, BaseMessage) else str(found)


def _history(before: list[BaseMessage], asked: BaseMessage, answer: Any) -> list[BaseMessage]:
    """The messages so far, with the answer: a state's own list, else the reply at the end."""
    if isinstance(answer, dict) and isinstance(answer.get("messages"), list):
        return list(answer["messages"])
    reply = answer.get("output") if isinstance(answer, dict) else answer
    return [*before, asked, reply if isinstance(reply, BaseMessage) else AIMessage(str(reply))]
