"""What all tests share: real parts, small."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agent_reach import Reach

settings.register_profile("fast", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fast")

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def data() -> Path:
    """Real conversations, where they are there."""
    if not SHARED.is_dir():
        pytest.skip("the folder ../shared/data is not there")
    return SHARED


class Observed:
    """A `Reach` whose events and spans can be looked at."""

    def __init__(self, routes=None, **options):
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reach = Reach(routes, tracer_provider=provider, **options)
        self.events = []
        self.reach.add_sink(self.events.append)

    def of(self, kind):
        return [e for e in self.events if isinstance(e, kind)]

    @property
    def spans(self):
        return self.exporter.get_finished_spans()


@pytest.fixture
def observed():
    """Makes an observed `Reach`; takes what `Reach` takes."""
    return Observed
