"""Model decisions: what was offered, what was chosen, and how full the context was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from agent_reach.checks import placed
from agent_reach.checks.instructions import Act
from agent_reach.events import Decision
from agent_reach.integrations.translate import prompt_hash, text_of

if TYPE_CHECKING:
    from agent_reach.integrations.runtime import Runtime
    from agent_reach.integrations.turns import OpenTurn


def offered_names(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the tools in a model's invocation parameters, in the order that the model sees."""
    tools = parameters.get("tools") or parameters.get("functions") or ()
    return tuple(name for tool in tools if (name := _name(tool)))


def _name(tool: Any) -> str:
    if isinstance(tool, Mapping):
        inner = tool.get("function")
        return str((inner.get("name") if isinstance(inner, Mapping) else None) or tool.get("name") or tool.get("type") or "")
    return str(getattr(tool, "name", None) or getattr(tool, "__name__", ""))


def record_decision(
    runtime: Runtime, turn: OpenTurn, message: AIMessage, *, sent: Sequence[BaseMessage], offered: Iterable[str],
    agent: str, started: int = 0, model: str = "",
) -> None:  # fmt: skip
    """Count one response of a model.

    Args:
        sent: the messages that it saw.
        offered: the tools that it could choose from.
    """
    now = runtime.clock()
    agent = agent or turn.agent
    names = tuple(offered)
    turn.offered[agent] = names
    usage = message.usage_metadata
    texts = [text_of(m) for m in sent]
    context = placed([*turn.session.context, *turn.fragments], texts)
    turn.context = context or turn.context
    turn.decided = True
    if runtime.instructions is not None:
        turn.acts += [Act(text=reply)] if (reply := text_of(message)) else []
        turn.acts += [Act(tool=call["name"]) for call in message.tool_calls]
    this_turn = next((i for i in range(len(sent) - 1, -1, -1) if isinstance(sent[i], HumanMessage)), 0)
    event = Decision(
        **turn.where(),
        time=started or now,
        latency=now - started if started else 0,
        id=f"{turn.handle.id}.{now:x}",
        parent=turn.handle.id,
        agent=agent,
        model=model,
        offered=names,
        chosen=tuple(call["name"] for call in message.tool_calls),
        prompt_hash=prompt_hash(sent),
        history_tokens=_estimate(texts[:this_turn]),
        context_tokens=usage["input_tokens"] if usage else _estimate(texts),
        reply_tokens=usage["output_tokens"] if usage else _estimate([text_of(message)]),
        fragments=len(context),
        estimated=usage is None,
    )
    runtime.annotate(event, turn.handle)


def _estimate(texts: Iterable[str]) -> int:
    """Tokens: four characters of Latin script each, or one of Chinese."""
    total = 0
    for text in texts:
        wide = 0 if text.isascii() else sum(sign > "\u2e7f" for sign in text)
        total += wide + (len(text) - wide + 3) // 4
    return total
