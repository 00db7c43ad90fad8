"""Runs one agent under one instrumentation and sends its spans to an endpoint: foreign_agent.py INSTRUMENTATION ENDPOINT"""

import os
import sys

instrumentation, endpoint = sys.argv[1:]
if instrumentation == "langsmith":
    os.environ.update(LANGSMITH_OTEL_ENABLED="true", LANGSMITH_TRACING="true", LANGSMITH_OTEL_ONLY="true", LANGSMITH_API_KEY="none")
    os.environ["LANGSMITH_ENDPOINT"] = "http://127.0.0.1:9"
os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
os.environ["OTEL_SERVICE_NAME"] = f"shop-{instrumentation}"

from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import ToolException, tool
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from tests.integration.agents import Script, ask, user

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{endpoint}/v1/traces")))
trace.set_tracer_provider(provider)
if instrumentation == "openinference":
    from openinference.instrumentation.langchain import LangChainInstrumentor

    LangChainInstrumentor().instrument(tracer_provider=provider)
elif instrumentation == "traceloop":
    from opentelemetry.instrumentation.langchain import LangchainInstrumentor

    LangchainInstrumentor().instrument(tracer_provider=provider)
elif instrumentation == "genai":
    from opentelemetry.instrumentation.genai.langchain import LangChainInstrumentor

    LangChainInstrumentor().instrument(tracer_provider=provider)


class Faq(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document("Refunds take five days"), Document("Shoes come in boxes")]


@tool
def search_orders(query: str) -> list:
    """Search orders."""
    return []


@tool
def get_order(order_id: str) -> dict:
    """Get an order."""
    return {"order_id": order_id, "status": "shipped"}


@tool
def refund(order_id: str) -> str:
    """Refund an order."""
    raise ToolException("declined by the bank")


refund.handle_tool_error = True


@tool
def policy(question: str) -> str:
    """Look a policy up."""
    return str(Faq().invoke("how long do refunds take"))


first = ask(("search_orders", {"query": "x"}), ("get_order", {"order_id": "A-1"}))
second = ask(("refund", {"order_id": "A-1"}), ("policy", {"question": "refunds"}), ("nosuch", {}))
agent = create_agent(Script(lines=[first, second, "It has shipped."]), [search_orders, get_order, refund, policy], name="desk")
agent.invoke(user("Where is my order?"), {"configurable": {"thread_id": f"thread-{instrumentation}"}})
if instrumentation == "langsmith":
    from langchain_core.tracers.langchain import wait_for_all_tracers

    wait_for_all_tracers()
provider.force_flush()
