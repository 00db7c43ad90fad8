"""What one tool call costs: the full set of agent-reach against a bare span and four tracers, in one run.

Every mode runs in a process of its own, in shuffled rounds; the figure is the median over rounds of the difference between a
mode's median call and that of the mode `none` in the same round. Usage: overhead.py [--rounds N] [--calls N] [--loop N]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import sys
import time

PEERS = ("openinference", "traceloop", "genai", "langfuse")
OURS = ("bare_inline", "reach", "reach_wrapper", "reach_tracker")


def batch_provider():
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    class Discard(SpanExporter):
        def export(self, spans):
            return SpanExportResult.SUCCESS

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Discard(), max_queue_size=100_000))
    return provider


def bare_handler(provider):
    """A handler that makes one span a tool call and does nothing else."""
    from langchain_core.callbacks import BaseCallbackHandler

    tracer = provider.get_tracer("bare")

    class Bare(BaseCallbackHandler):
        run_inline = True
        ignore_chain = ignore_llm = ignore_chat_model = ignore_retriever = ignore_agent = ignore_custom_event = True

        def __init__(self):
            self.open = {}

        def on_tool_start(self, serialized, input_str, *, run_id, **kwargs):
            self.open[run_id] = tracer.start_span(f"execute_tool {serialized['name']}")

        def on_tool_end(self, output, *, run_id, **kwargs):
            self.open.pop(run_id).end()

    return Bare()


def set_up(mode):
    """The tool node's maker and the callbacks of a mode."""
    from langgraph.prebuilt import ToolNode

    provider = batch_provider()
    if mode == "none":
        return ToolNode, []
    if mode == "bare_inline":
        return ToolNode, [bare_handler(provider)]
    if mode.startswith("reach"):
        return set_up_reach(mode, provider)
    return ToolNode, set_up_peer(mode, provider)


def set_up_reach(mode, provider):
    from langgraph.prebuilt import ToolNode
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    from agent_reach import Compensation, Reach, Routes

    routes = Routes(
        intents={"lookup": {"keywords": ["order"], "steps": [["lookup", "lookup_cache"]]}},
        tools={"lookup": {"read_only": True, "alternates": ["lookup_cache"]}},
    )
    meters = MeterProvider([InMemoryMetricReader()])
    reach = Reach(routes, compensation=Compensation(), tracer_provider=provider, meter_provider=meters)
    node = ToolNode if mode == "reach_tracker" else reach.tool_node
    return node, [] if mode == "reach_wrapper" else [reach.tracker]


def set_up_peer(mode, provider):
    if mode == "openinference":
        from openinference.instrumentation.langchain import LangChainInstrumentor

        LangChainInstrumentor().instrument(tracer_provider=provider)
    elif mode == "traceloop":
        from opentelemetry.instrumentation.langchain import LangchainInstrumentor

        LangchainInstrumentor().instrument(tracer_provider=provider)
    elif mode == "genai":
        from opentelemetry.instrumentation.genai.langchain import LangChainInstrumentor

        LangChainInstrumentor().instrument(tracer_provider=provider)
    elif mode == "langfuse":
        from langfuse import Langfuse
        from langfuse.langchain import CallbackHandler

        Langfuse(public_key="pk-x", secret_key="sk-x", base_url="http://127.0.0.1:9", tracer_provider=provider)
        return [CallbackHandler(public_key="pk-x")]
    return []


def measure(mode, calls, loop):
    """Median microseconds a tool call, of graph runs with `loop` calls one after another."""
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_core.tools import tool
    from langgraph.graph import END, START, MessagesState, StateGraph

    make_node, callbacks = set_up(mode)

    def ask(number):
        asked = {"name": "lookup", "args": {"order_id": "A-1"}, "id": f"call-{number}", "type": "tool_call"}
        return AIMessage("", tool_calls=[asked])

    async def think(state):
        done = len(state["messages"]) // 2
        return {"messages": [ask(done) if done < loop else AIMessage("It has shipped.")]}

    @tool
    async def lookup(order_id: str) -> dict:
        """Look an order up."""
        return {"order_id": order_id, "status": "shipped", "items": [{"sku": "a", "n": 1}, {"sku": "b", "n": 2}]}

    @tool
    async def lookup_cache(order_id: str) -> dict:
        """Look an order up in the cache."""
        return {"order_id": order_id, "status": "shipped"}

    graph = StateGraph(MessagesState)
    graph.add_node("tools", make_node([lookup, lookup_cache]))
    graph.add_node("think", think)
    graph.add_edge(START, "think" if loop > 1 else "tools")
    graph.add_conditional_edges("think", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    graph.add_edge("tools", "think" if loop > 1 else END)
    app = graph.compile()
    config = {"callbacks": callbacks, "recursion_limit": 1_000}
    first = [HumanMessage("Where is my order?")] if loop > 1 else [HumanMessage("Where is my order?"), ask(0)]
    state = {"messages": first}

    async def run():
        for _ in range(max(20, 200 // loop)):
            await app.ainvoke(state, config)
        times = []
        for _ in range(calls // loop):
            begun = time.perf_counter_ns()
            await app.ainvoke(state, config)
            times.append(time.perf_counter_ns() - begun)
        return statistics.median(times) / 1000 / loop

    return asyncio.run(run())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--modes", default="")
    parser.add_argument("--mode")
    parser.add_argument("--loop", type=int, default=1, help="tool calls one after another in one graph run")
    options = parser.parse_args()
    if options.mode:
        print(json.dumps(measure(options.mode, options.calls, options.loop)))
        return
    modes = options.modes.split(",") if options.modes else [*OURS, *PEERS]
    rows = {mode: [] for mode in modes}
    for number in range(options.rounds):
        order = ["none", *modes]
        random.Random(number).shuffle(order)
        medians = {}
        for mode in order:
            call = [sys.executable, __file__, "--mode", mode, "--calls", str(options.calls), "--loop", str(options.loop)]
            done = subprocess.run(call, capture_output=True, text=True)
            if done.returncode:
                print(
                    f"{mode}: not measured: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ''}",
                    file=sys.stderr,
                )
                continue
            medians[mode] = float(done.stdout.strip().splitlines()[-1])
        for mode in modes:
            if mode in medians:
                rows[mode].append(medians[mode] - medians["none"])
        print(f"round {number + 1}: " + ", ".join(f"{m} {v:.0f}" for m, v in medians.items()), file=sys.stderr)
    figures = {mode: statistics.median(values) for mode, values in rows.items() if values}
    for mode, value in sorted(figures.items(), key=lambda row: row[1]):
        print(f"{mode:15} +{value:7.0f} µs  [{min(rows[mode]):.0f}..{max(rows[mode]):.0f}]")
    peers = {mode: figures[mode] for mode in PEERS if mode in figures}
    cheapest = min(peers.values()) if peers else None
    result = {
        "async_us": round(figures.get("reach", 0), 1),
        "bare_inline_us": round(figures.get("bare_inline", 0), 1),
        "cheapest_peer_us": round(cheapest, 1) if cheapest is not None else None,
        "ratio_to_bare": round(figures["reach"] / figures["bare_inline"], 2) if {"reach", "bare_inline"} <= set(figures) else None,
        "ratio_to_peer": round(figures["reach"] / cheapest, 3) if cheapest else None,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
