"""A chat model that needs no key and no network: it replays messages, so that the examples always run the same."""

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class ScriptedModel(BaseChatModel):
    """Says its lines one after another: a text, or what `call` makes. Put your own chat model in its place."""

    lines: list[Any]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:  # noqa: ARG002
        return self.bind(tools=[{"type": "function", "function": {"name": tool.name}} for tool in tools])

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:  # noqa: ARG002
        line = self.lines.pop(0)
        message = line if isinstance(line, AIMessage) else AIMessage(line)
        return ChatResult(generations=[ChatGeneration(message=message)])


def call(tool: str, **arguments: Any) -> AIMessage:
    """A message in which the model asks for a tool."""
    return AIMessage("", tool_calls=[{"name": tool, "args": arguments, "id": f"call-{tool}"}])


def show(messages: list[BaseMessage]) -> None:
    """One line a message."""
    for message in messages:
        calls = ", ".join(f"{c['name']}({c['args']})" for c in getattr(message, "tool_calls", ()))
        print(f"  {message.type:>5}: {message.content or 'calls ' + calls}")
