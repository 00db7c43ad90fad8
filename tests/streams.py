"""Random streams of events, and what the live evaluator makes of them."""

from agent_reach.contracts import Routes
from agent_reach.events import Handoff, Retrieval, ToolCall, Turn
from agent_reach.live import Evaluator, Notes, Session

ROUTES = Routes(intents={"q": {"steps": [["a", "b"], ["c"]]}, "r": {"steps": [["d"]]}})


def random_stream(dice):
    """Events of a few interleaved sessions, with turns, routes and every status."""
    sessions = {f"s{n}": Session(f"s{n}", ROUTES) for n in range(dice.randint(1, 3))}
    refs, events, now = {}, [], 0
    for _ in range(dice.randint(1, 60)):
        id = dice.choice(list(sessions))
        now += 10
        if id not in refs or dice.random() < 0.15:
            refs[id] = sessions[id].begin_turn(dice.choice([None, "q", "r", "none"]))
        ref = refs[id]
        where = {
            "session": id,
            "turn": ref.turn,
            "unit": ref.unit,
            "intent": ref.intent,
            "time": now,
            "latency": dice.randint(0, 15),
        }
        kind = dice.random()
        if kind < 0.65:
            status = dice.choice(["ok", "ok", "fail", "empty_alias", "cancelled", "interrupted", "handoff"])
            events.append(ToolCall(**where, tool=dice.choice("abcdx"), status=status, first_status=dice.choice(["ok", "fail"])))
        elif kind < 0.75:
            got = dice.randint(0, 5)
            relevant = dice.randint(0, got)
            events.append(Retrieval(**where, retrieved=got, relevant=relevant, admitted=relevant, ideal=dice.randint(0, 3)))
        elif kind < 0.85:
            events.append(Handoff(**where, missing=dice.choice([(), ("x",)])))
        else:
            events.append(Turn(**where, outcome=dice.choice(["answered", "asked", "abandoned"])))
            del refs[id]
        sessions[id].observe(events[-1])
    return events


def live(events):
    """The evaluator's tallies, and all that it emitted."""
    evaluator, emitted = Evaluator(ROUTES, lambda: 0, Notes()), []
    evaluator.add_sink(emitted.append)
    for event in events:
        evaluator.publish(event)
    evaluator.end_all()
    return {id: s.tally for id, s in evaluator._ended.items()}, emitted
