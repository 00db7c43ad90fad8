"""The desk's world: orders, policies, refunds, and the faults that its services have."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, tool

Fault = Literal["", "rate_limit", "slow", "empty", "outage", "near_miss", "lost_parameter", "uncertain_refund"]

ORDERS: dict[str, dict[str, Any]] = {
    "A-1001": {"order_id": "A-1001", "item": "kettle", "status": "shipped", "arrives": "Thursday", "amount": 39.0},
    "A-1002": {"order_id": "A-1002", "item": "desk lamp", "status": "packed", "arrives": "Friday", "amount": 24.5},
    "A-1003": {"order_id": "A-1003", "item": "headset", "status": "delivered", "arrives": "Monday", "amount": 89.0},
    "A-1004": {
        "order_id": "A-1004",
        "item": "backpack",
        "status": "delayed",
        "arrives": "next Tuesday",
        "amount": 59.9,
    },
    "A-1005": {"order_id": "A-1005", "item": "tea set", "status": "delivered", "arrives": "Sunday", "amount": 45.0},
}

POLICIES = (
    "Returns: unused goods can be returned within 30 days of delivery.",
    "Warranty: headsets and other electronics carry a warranty of 24 months.",
    "Shipping: express shipping costs 9.90 and takes one working day.",
    "Gift cards: a gift card is valid for three years and cannot be paid out.",
)
NEAR_MISSES = (
    "Careers: we return calls from applicants within 30 days.",
    "Press: our electronics fair lasts 24 months of planning; headsets are shown.",
    "History: the company began shipping tea in 1998 and express trains carried it.",
    "Sponsoring: we give cards and gifts to three schools each year.",
    "Offices: visitors can leave goods at the reception within opening hours.",
)


class RateLimited(Exception):
    """What the orders service raises when it is asked too often."""

    status_code = 429

    def __init__(self) -> None:
        super().__init__("429 Too Many Requests")
        self.retry_after = 0.05


@dataclass
class World:
    """State of one task: what the services do, and what happened.

    Attributes:
        fault: of this task.
        refunds: made so far, by order.
        asked: how often each service was called.
    """

    fault: Fault = ""
    refunds: dict[str, int] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)

    def called(self, service: str) -> int:
        self.asked[service] = self.asked.get(service, 0) + 1
        return self.asked[service]


def tools(world: World) -> dict[str, BaseTool]:
    """The desk's tools, by name."""

    @tool
    def orders_db(order_id: str) -> dict[str, Any]:
        """Look an order up by its number."""
        count = world.called("orders_db")
        if world.fault == "rate_limit" and count == 1:
            raise RateLimited
        if world.fault == "slow" and count == 1:
            time.sleep(0.05)
            raise TimeoutError("the orders service did not answer in time")
        if world.fault == "outage":
            raise ConnectionError("connection refused by the orders service")
        if world.fault == "empty":
            return {"code": 0, "message": "ok", "data": None}
        return {"code": 0, "message": "ok", "data": ORDERS.get(order_id)}

    @tool
    def orders_replica(number: str) -> dict[str, Any]:
        """Look an order up in the read replica."""
        world.called("orders_replica")
        if world.fault == "outage":
            raise ConnectionError("connection refused by the replica")
        return {"code": 0, "message": "ok", "data": ORDERS.get(number)}

    @tool
    def refund(order_id: str, amount: float) -> dict[str, Any]:
        """Pay an order back."""
        if world.fault == "uncertain_refund":
            world.called("refund")
            raise TimeoutError("the payment service did not answer in time")
        world.called("refund")
        world.refunds[order_id] = world.refunds.get(order_id, 0) + 1
        return {"success": True, "refund_id": f"R-{order_id}", "amount": amount}

    return {t.name: t for t in (orders_db, orders_replica, refund)}


class PolicyIndex(BaseRetriever):
    """A search over the policies that, with the fault `near_miss`, ranks what only sounds alike first."""

    world: Any

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        words = set(query.lower().replace("?", "").split())
        ranked = sorted(POLICIES, key=lambda text: -len(words & set(text.lower().replace(":", "").split())))
        texts = [*NEAR_MISSES, ranked[0]] if self.world.fault == "near_miss" else ranked[:1]
        return [Document(page_content=text) for text in texts]
