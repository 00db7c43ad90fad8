"""Recorded conversations asked again."""

from contextlib import contextmanager

from agent_reach.evaluation.replay import Replayed, Script, replay


def test_messages_are_asked_in_order_of_a_fresh_agent_and_errors_end_only_their_conversation():
    heard = {}

    @contextmanager
    def begin(session):
        heard[session] = []

        def ask(message):
            if message == "boom":
                raise ValueError("no")
            heard[session].append(message)

        yield ask

    scripts = [Script("a", ("x", "y")), Script("none", ()), Script("b", ("x", "boom", "z")), Script("c", ("z",))]
    results = list(replay(scripts, begin, at_once=3))
    assert heard == {"a": ["x", "y"], "b": ["x"], "c": ["z"]}
    assert results == [Replayed("a", 2, ""), Replayed("b", 1, "ValueError: no"), Replayed("c", 1, "")]
