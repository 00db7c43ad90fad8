"""Adapters to LangChain and LangGraph: the only place that knows them."""
