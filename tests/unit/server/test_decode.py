import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from agent_reach.errors import RequestError
from agent_reach.server.counters import read_counters
from agent_reach.server.decode import inflate, read_traces


def request(*ids, scope="agent_reach"):
    message = ExportTraceServiceRequest()
    spans = message.resource_spans.add().scope_spans.add()
    spans.scope.name = scope
    for id in ids:
        spans.spans.add(trace_id=b"\x01" * 16, span_id=id, start_time_unix_nano=5, name="x")
    return message


def status_of(read, body, is_json):
    """The status that a body is answered with; anything but a refusal of ours goes through."""
    try:
        read(body, is_json=is_json)
    except RequestError as error:
        return error.status
    return 200


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(body):
    for read in (read_traces, read_counters):
        for is_json in (False, True):
            assert status_of(read, body, is_json) in (200, 400)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda x: (
            st.lists(x, max_size=3)
            | st.dictionaries(
                st.sampled_from(["resourceSpans", "scopeSpans", "spans", "traceId", "attributes", "a"]), x, max_size=3
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_is_read_or_refused(document):
    assert status_of(read_traces, json.dumps(document).encode(), True) in (200, 400)


def test_a_request_that_is_right_is_kept_byte_for_byte():
    body = request(b"12345678", b"abcdefgh").SerializeToString()
    accepted = read_traces(body)
    assert (accepted.body, accepted.spans, accepted.rejected) == (body, 2, 0)


def test_only_the_wrong_spans_are_dropped():
    accepted = read_traces(request(b"12345678", b"", b"\0" * 8).SerializeToString())
    assert (accepted.spans, accepted.rejected) == (1, 2)
    left = ExportTraceServiceRequest.FromString(accepted.body)
    assert [span.span_id for span in left.resource_spans[0].scope_spans[0].spans] == [b"12345678"]


def test_values_that_nest_too_deep_become_json():
    message = request(b"12345678", scope="other")
    value = message.resource_spans[0].scope_spans[0].spans[0].attributes.add(key="k").value
    inner = value.array_value.values.add().kvlist_value.values.add(key="a").value
    inner.kvlist_value.values.add(key="b").value.double_value = 1.5
    accepted = read_traces(message.SerializeToString())
    span = ExportTraceServiceRequest.FromString(accepted.body).resource_spans[0].scope_spans[0].spans[0]
    assert json.loads(span.attributes[0].value.string_value) == [{"a": {"b": 1.5}}]


@pytest.mark.parametrize(
    ("body", "encoding", "status"),
    [(b"x", "br", 415), (b"x", "gzip", 400), (gzip.compress(b"x" * 99, mtime=0)[:-4], "gzip", 400)],
    ids=["unknown", "noise", "torn"],
)
def test_what_cannot_be_inflated_is_refused(body, encoding, status):
    with pytest.raises(RequestError) as caught:
        inflate(body, encoding)
    assert caught.value.status == status
