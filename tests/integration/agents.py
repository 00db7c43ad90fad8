"""Small real agents for the tests: scripted models, graphs, tools."""

from __future__ import annotations

import itertools
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph import END, START, MessagesState, StateGraph

_ids = itertools.count()


def ask(*calls: tuple[str, dict[str, Any]], ids: list[str] | None = None) -> AIMessage:
    """A model message that asks for tools."""
    made = [
        {"name": name, "args": args, "id": ids[i] if ids else f"call-{next(_ids)}", "type": "tool_call"}
        for i, (name, args) in enumerate(calls)
    ]
    return AIMessage("", tool_calls=made)


class Script(BaseChatModel):
    """Says its lines one after another: the n-th line after n model messages of this turn."""

    lines: list[Any]
    said: list[int] = []

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=[{"type": "function", "function": {"name": getattr(t, "name", str(t))}} for t in tools])

    def _generate(self, messages: list[Any], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        line = self.lines[min(len(self.said), len(self.lines) - 1)]
        self.said.append(1)
        message = line.model_copy() if isinstance(line, AIMessage) else AIMessage(line)
        return ChatResult(generations=[ChatGeneration(message=message)])


def graph(node: Any, lines: list[Any], tools: list[Any] = (), **compile_options: Any) -> Any:
    """model ↔ tools, with a scripted model."""
    model = Script(lines=lines).bind_tools(list(tools))

    def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    def follow(state: MessagesState) -> str:
        return "tools" if getattr(state["messages"][-1], "tool_calls", None) else END

    built = StateGraph(MessagesState)
    built.add_node("model", think)
    built.add_node("tools", node)
    built.add_edge(START, "model")
    built.add_conditional_edges("model", follow)
    built.add_edge("tools", "model")
    return built.compile(**compile_options)


def user(text: str = "hi") -> dict[str, Any]:
    return {"messages": [("user", text)]}


def tool_texts(state: dict[str, Any]) -> list[str]:
    return [m.content for m in state["messages"] if isinstance(m, ToolMessage)]


async def run(app: Any, inputs: Any, config: dict[str, Any], mode: str) -> Any:
    """Invoke, sync or async."""
    return app.invoke(inputs, config) if mode == "sync" else await app.ainvoke(inputs, config)
