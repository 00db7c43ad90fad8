"""Any agent as something that can be asked: a graph, an AgentExecutor, another runnable, a function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda

if TYPE_CHECKING:
    from agent_reach.reach import Reach


@contextmanager
def conversation(reach: Reach, agent: Any, session: str) -> Iterator[Callable[[str], Any]]:
    """A conversation with an agent, watched, under the id of a session.

    Args:
        reach: watches.
        agent: a graph or other runnable whose state holds `messages`, an AgentExecutor (`input`, `chat_history`), or a function,
            async or not, that takes the messages so far and returns its reply.
        session: id; also the graph's `thread_id`.

    Yields:
        a function that takes a user message and returns the agent's answer as the agent gives it.
    """
    runnable, is_async = _runnable(agent)
    config: RunnableConfig = {"callbacks": [reach.tracker], "configurable": {"thread_id": session}}
    history: list[BaseMessage] = []
    remembers = getattr(agent, "checkpointer", None) is not None

    def ask(message: str) -> Any:
        asked = HumanMessage(message)
        inputs: dict[str, Any]
        if hasattr(agent, "return_intermediate_steps"):
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
        return agent, False
    if not callable(agent):
        raise TypeError(f"expected a runnable or a function, found {type(agent).__name__}")
    if inspect.iscoroutinefunction(agent):

        async def acall(state: dict[str, Any]) -> Any:
            return await agent(state["messages"])

        return RunnableLambda(acall), True
    return RunnableLambda(lambda state: agent(state["messages"])), False


def _history(before: list[BaseMessage], asked: BaseMessage, answer: Any) -> list[BaseMessage]:
    """The messages so far, with the answer: a state's own list, else the reply at the end."""
    if isinstance(answer, dict) and isinstance(answer.get("messages"), list):
        return list(answer["messages"])
    reply = answer.get("output") if isinstance(answer, dict) else answer
    return [*before, asked, reply if isinstance(reply, BaseMessage) else AIMessage(str(reply))]
