"""A deterministic chat model that plays the desk's agents, with the habits of a real one: it takes what it gets for an answer."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable

_ORDER = re.compile(r"[A-Z]-\d{4}")


class ScriptedModel(BaseChatModel):
    """Answers by the role in the system prompt and what stands in the messages."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=[{"type": "function", "function": {"name": t.name}} for t in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        role = str(messages[0].content).split()[2].strip(".,") if isinstance(messages[0], SystemMessage) else "triage"
        message = _ROLES[role](messages)
        return ChatResult(generations=[ChatGeneration(message=message)])


def _user(messages: list[BaseMessage]) -> str:
    return next((str(m.content) for m in reversed(messages) if isinstance(m, HumanMessage)), "")


def _results(messages: list[BaseMessage]) -> list[ToolMessage]:
    """Tool messages since the last user message, without those of handoffs."""
    last = max((i for i, m in enumerate(messages) if isinstance(m, HumanMessage)), default=-1)
    found = [m for m in messages[last + 1 :] if isinstance(m, ToolMessage)]
    return [m for m in found if not (m.name or "").startswith("transfer_to_")]


def _told(messages: list[BaseMessage]) -> str:
    """Everything that the handoffs say."""
    return " ".join(str(m.content) for m in messages if isinstance(m, ToolMessage) and (m.name or "").startswith("transfer_to_"))


def _call(name: str, number: int, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"{name}-{number}"}])


def _data(message: ToolMessage) -> Any:
    try:
        return json.JSONDecoder().raw_decode(str(message.content))[0].get("data")
    except (ValueError, AttributeError):
        return None


def _triage(messages: list[BaseMessage]) -> AIMessage:
    text = _user(messages)
    number = len(messages)
    order = _ORDER.search(text)
    known = {"order_id": order.group()} if order else {}
    if "refund" in text or "money back" in text:
        return _call("transfer_to_refunds", number, goal=text, **known)
    if order:
        return _call("transfer_to_orders", number, goal=text, **known)
    return _call("transfer_to_policy", number, goal=text)


def _orders(messages: list[BaseMessage]) -> AIMessage:
    results = _results(messages)
    if not results:
        found = _ORDER.search(_told(messages) + _user(messages))
        return _call("orders_db", len(messages), order_id=found.group() if found else "")
    order = _data(results[-1])
    if order:
        return AIMessage(f"Your {order['item']} is {order['status']} and arrives {order['arrives']}.")
    if results[-1].status == "error":
        return AIMessage("The order system is busy at the moment, I am sorry.")
    if results[-1].additional_kwargs.get("answered") or "arrives" in str(results[-1].content):
        return AIMessage(str(results[-1].content))
    return AIMessage("Your order is on its way and should arrive soon.")


def _policy(messages: list[BaseMessage]) -> AIMessage:
    results = _results(messages)
    if not results:
        return _call("search_policies", len(messages), query=_user(messages))
    first = str(results[-1].content).strip().split("\n")[0]
    return AIMessage(first or "I am not aware of a rule for that.")


def _refunds(messages: list[BaseMessage]) -> AIMessage:
    found = _ORDER.search(_told(messages) + _user(messages))
    if found is None:
        return AIMessage("To refund you, I need the order number. Could you please tell me?")
    results = _results(messages)
    if not results:
        return _call("orders_db", len(messages), order_id=found.group())
    last = results[-1]
    if last.name == "refund":
        done = last.status != "error"
        return AIMessage(f"Your refund is on its way. {last.content}" if done else "The refund did not go through.")
    order = _data(last)
    if not order:
        return AIMessage("I could not find that order, so there is nothing to refund.")
    return _call("refund", len(messages), order_id=order["order_id"], amount=order["amount"])


_ROLES = {"triage": _triage, "orders": _orders, "policy": _policy, "refunds": _refunds}
