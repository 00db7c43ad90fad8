"""100,000 calls over 64 threads, then over asyncio: none lost, none doubled, memory flat. Prints one JSON line last.

Usage: soak.py [--calls N]
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from agent_reach import Compensation, Reach
from agent_reach.events import ToolCall

PER_RUN = 10


class Count(SpanExporter):
    spans = 0

    def export(self, spans):
        Count.spans += sum(s.attributes.get("agent_reach.event") == "tool_call" for s in spans)
        return SpanExportResult.SUCCESS


@tool
def find(x: int) -> dict:
    """Find."""
    return {"found": x} if x % 10 else {"found": None}


def resident_mb():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def build():
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Count(), max_queue_size=200_000))
    reach = Reach({"tools": {"find": {}}}, compensation=Compensation(), tracer_provider=provider)
    counts: Counter[tuple[str, str]] = Counter()

    def count(event):
        if isinstance(event, ToolCall):
            counts[(event.session[:5], event.status)] += 1

    reach.add_sink(count)
    graph = StateGraph(MessagesState)
    graph.add_node("tools", reach.tool_node([find]))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    return reach, provider, graph.compile(), counts


def inputs(number, way):
    calls = [{"name": "find", "args": {"x": n}, "id": f"c{n}", "type": "tool_call"} for n in range(PER_RUN)]
    config = {"metadata": {"session_id": f"{way}-{number % 500}"}}
    return {"messages": [HumanMessage("hi"), AIMessage("", tool_calls=calls)]}, config


async def over_asyncio(app, tracker, runs):
    limit = asyncio.Semaphore(64)

    async def one(number):
        state, config = inputs(number, "async")
        async with limit:
            await app.ainvoke(state, {**config, "callbacks": [tracker]})

    for start in range(0, runs, 500):
        await asyncio.gather(*(one(n) for n in range(start, min(start + 500, runs))))


def over_threads(app, tracker, runs):
    def one(number):
        state, config = inputs(number, "sync!")
        app.invoke(state, {**config, "callbacks": [tracker], "max_concurrency": 1})

    with ThreadPoolExecutor(64) as pool:
        list(pool.map(one, range(runs)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=100_000)
    options = parser.parse_args()
    runs = options.calls // PER_RUN
    reach, provider, app, counts = build()
    over_threads(app, reach.tracker, 500)
    asyncio.run(over_asyncio(app, reach.tracker, 500))
    warm = sum(counts.values())
    gc.collect()
    before = resident_mb()
    over_threads(app, reach.tracker, runs)
    gc.collect()
    threads_mb = resident_mb() - before
    asyncio.run(over_asyncio(app, reach.tracker, runs))
    gc.collect()
    grown = resident_mb() - before
    provider.force_flush()
    expected = warm + 2 * runs * PER_RUN
    seen = sum(counts.values())
    print(dict(counts), dict(reach.notes.counts), file=sys.stderr)
    figures = {
        "calls": 2 * runs * PER_RUN,
        "lost": max(0, expected - seen),
        "doubled": max(0, seen - expected),
        "spans_missing": expected - Count.spans,
        "threads_growth_mb": round(threads_mb, 1),
        "growth_mb": round(grown, 1),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
