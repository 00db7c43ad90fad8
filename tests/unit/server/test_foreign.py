import pytest

from agent_reach.contracts import Routes
from agent_reach.errors import StoreFull
from agent_reach.server.foreign import ForeignTraces
from agent_reach.server.ingest import Ingest
from agent_reach.store.spool import Spool


class OneTrace:
    """The answers of a store that holds one foreign trace."""

    def __init__(self):
        self.converted = []

    def select(self, name, /, **parameters):
        span = {
            "id": "a" * 16, "parent": "", "name": "search", "time": 5, "duration": 7, "status": "Ok", "message": "", "service": "shop",
            "attributes": {"openinference.span.kind": "TOOL", "tool.name": "search", "output.value": "[]", "session.id": "s"},
            "event_names": [], "event_attributes": [],
        }  # fmt: skip
        rows = {"foreign_traces": [{"trace": "b" * 32}], "trace_spans": [span], "numbers": [{"turn": 3, "unit": 2}]}
        return rows[name]

    def insert(self, table, rows):
        self.converted += rows


def test_a_trace_that_found_no_room_is_converted_later_with_the_same_numbers(tmp_path):
    store = OneTrace()
    spool = Spool(tmp_path, max_bytes=10)
    foreign = ForeignTraces(store, Ingest(store, spool), Routes())
    with pytest.raises(StoreFull):
        foreign.convert()
    assert store.converted == []
    spool._max = 1 << 20
    assert foreign.convert() == 1
    assert store.converted == [{"trace": "b" * 32}]
    [session] = foreign._sessions.values()
    assert (session.turn, session.unit) == (4, 3)
