"""Any event, for property tests."""

from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from agent_reach.events.model import KINDS, Event

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
HEX8 = st.text("0123456789abcdef", min_size=16, max_size=16)


def _value(hint: Any) -> st.SearchStrategy[Any]:
    if get_origin(hint) is Literal:
        return st.sampled_from(get_args(hint))
    if hint is str:
        return TEXT
    if hint is bool:
        return st.booleans()
    if hint is int:
        return st.integers(-1, 2**53)
    if hint is float:
        return st.one_of(st.just(-1.0), st.floats(0, 1))
    return st.lists(TEXT, max_size=3).map(tuple)


def events_of(cls: type[Event]) -> st.SearchStrategy[Event]:
    """Any event of one kind."""
    hints = get_type_hints(cls)
    values = {f.name: _value(hints[f.name]) for f in fields(cls)}
    values |= {"time": st.integers(0, 2**60), "latency": st.integers(0, 2**40), "id": HEX8, "parent": HEX8, "trace": HEX8}
    if "error_type" in values:
        values["error_type"] = TEXT.filter(lambda text: text != "_OTHER")
    return st.builds(cls, **values)


EVENTS = st.one_of([events_of(cls) for cls in KINDS.values()])
