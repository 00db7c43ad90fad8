"""Signals of a conversation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_reach.checks.signals import NAMES, Part, signals

TALK = [
    Part("system", "You are an agent."),
    Part("user", "Cancel my booking, and also refund all of it. Actually, cancel both."),
    Part("assistant", "", ("find",)),
    Part("tool", "{}"),
    Part("assistant", "I am sorry, I cannot refund it.\n1. Cancel\n2. Keep"),
    Part("user", "But I insist."),
    Part("assistant", "Done.", ("cancel", "find"), (2, 5)),
    Part("tool", "ok"),
]


def named(parts, **kinds):
    return dict(zip(NAMES, signals(parts, **kinds), strict=True))


def test_signals_say_how_the_agent_works_what_it_says_and_what_is_asked_for():
    found = named(TALK, writes={"cancel"}, people={"human"})
    assert (found["reads"], found["purity"], found["no_write"], found["handed_to_person"]) == (2, 2 / 3, 0, 0)
    assert (found["replies_that_list"], found["replies_that_refuse"], found["replies_a_message"]) == (0.5, 0.5, 1)
    assert (found["objections"], found["acts_asked_for"], found["second_thoughts"]) == (1, 4, 1)
    assert (found["further_wishes"], found["constraints"], found["values_written"]) == (3, 1, 2)
    assert found["after_last_write"] == pytest.approx(1 / 7)


def test_a_person_is_seen_and_chinese_is_read():
    found = named([Part("user", "我要取消两个订单，但是不退"), Part("assistant", "抱歉，无法取消", ("human",))], people={"human"})
    assert (found["handed_to_person"], found["replies_that_refuse"], found["objections"], found["acts_asked_for"]) == (1, 1, 1, 2)


PARTS = st.builds(
    Part,
    st.sampled_from(["user", "assistant", "tool", "system"]),
    st.text(max_size=40),
    st.sampled_from([(), ("a",), ("b", "a")]),
    st.just((3, 4)),
)


@given(st.lists(PARTS, max_size=12))
def test_any_conversation_has_all_signals(parts):
    found = signals(parts, writes={"a"}, people={"b"})
    assert len(found) == len(NAMES)
    assert all(value >= 0 for value in found)
