import time

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from agent_reach import Reach
from agent_reach.checks import failed
from agent_reach.events import Handoff, Retrieval, ToolAttempt, ToolCall, Turn


def test_a_breaker_tells_whether_it_is_open():
    reader = InMemoryMetricReader()
    reach = Reach(meter_provider=MeterProvider([reader]), compensation={"breaker_failures": 2})
    for tool, failures in (("pay", 2), ("find", 1)):
        for _ in range(failures):
            reach.runtime.breakers.record(tool, failed("timeout"), time.monotonic(), reach.runtime.policy)
    [metric] = [
        m
        for r in reader.get_metrics_data().resource_metrics
        for s in r.scope_metrics
        for m in s.metrics
        if m.name == "agent_reach.breaker.open"
    ]
    assert {point.attributes["gen_ai.tool.name"]: point.value for point in metric.data.data_points} == {"pay": 1, "find": 0}


def test_counters_follow_the_stream_by_agent_link_and_outcome():
    reader = InMemoryMetricReader()
    reach = Reach(meter_provider=MeterProvider([reader]))
    where = {"session": "s", "turn": 1, "unit": 1, "agent": "desk"}
    for event in (
        ToolCall(**where, tool="a", latency=2_000_000_000),
        ToolCall(**where, tool="b", status="empty_alias", first_status="empty_alias", attempts=2),
        ToolAttempt(**where, tool="b", rung="retry"),
        Retrieval(**where, retrieved=3, relevant=1, ideal=1),
        Handoff(**where, missing=("x",)),
        Turn(**where),
    ):
        reach.runtime.evaluator.publish(event)
    reach.notes.add("classifier", "broken")
    metrics = {
        m.name: m.data.data_points for r in reader.get_metrics_data().resource_metrics for s in r.scope_metrics for m in s.metrics
    }

    def read(name):
        return {tuple(sorted(dict(p.attributes).values())): p.value for p in metrics[name]}

    assert read("agent_reach.calls") == {("desk", "ok"): 1, ("desk", "empty_alias"): 1}
    assert read("agent_reach.attempts") == {("desk", "first"): 1, ("desk", "retry"): 1}
    assert read("agent_reach.needs") == {("desk", "tool"): 2, ("desk", "knowledge"): 1, ("desk", "task"): 1}
    assert read("agent_reach.reached") == {("desk", "tool"): 1, ("desk", "knowledge"): 1}
    assert read("agent_reach.empties") == {("desk", "taken"): 1}
    assert read("agent_reach.notes") == {("classifier",): 1}
    [duration] = [p for p in metrics["gen_ai.execute_tool.duration"] if p.attributes["gen_ai.tool.name"] == "a"]
    assert (duration.count, duration.sum) == (1, 2.0)
