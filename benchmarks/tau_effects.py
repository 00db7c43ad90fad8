"""How well the effects that a recorded run made tell its real reward, from the conversation alone.

Usage: tau_effects.py [--data FOLDER], with `tau_airline` and `tau_retail` beneath. Wanted are the side effects among the reference
actions of each task; a call of such a tool whose result is no error made its effect. Beside it stands the share of the reference
actions' tools that were called at all.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from agent_reach.checks import finding_of_result
from agent_reach.contracts import ToolContract
from agent_reach.evaluation.calibration import auc
from agent_reach.importers.files import read_conversations
from agent_reach.scores.effects import compare, effect

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def effects_made(messages, kinds):
    """Side effects in order, and all that the assistant said."""
    waiting, made = [], []
    for message in messages:
        if message.role == "assistant":
            waiting = list(message.calls)
        elif message.role == "tool" and waiting:
            call = next((c for c in waiting if c.id and c.id == message.call_id), waiting[0])
            waiting.remove(call)
            if call.name in kinds and finding_of_result(message.content, ToolContract()).status != "fail":
                made.append(effect(call.name, call.arguments))
    said = "\n".join(m.text for m in messages if m.role == "assistant" and m.text and not m.calls)
    return made, said


def runs(folder):
    kinds = set(json.loads((folder / "tools.json").read_text())["side_effect"])
    for file in sorted(f for f in folder.glob("*.json") if f.name != "tools.json"):
        for talk, record in zip(read_conversations(file), json.loads(file.read_text()), strict=True):
            task = record["info"]["task"]
            wanted = [effect(action["name"], action["kwargs"]) for action in task["actions"] if action["name"] in kinds]
            made, said = effects_made(talk.messages, kinds)
            found = compare(made, wanted, outputs=task.get("outputs") or (), said=said)
            called = {call.name for message in talk.messages for call in message.calls}
            named = {action["name"] for action in task["actions"]}
            yield found, len(called & named) / len(named) if named else 1.0, record["reward"] >= 1


def area(pairs):
    return auc([score for score, good in pairs if good], [score for score, good in pairs if not good])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    folder = parser.parse_args().data
    result = {}
    for domain in ("airline", "retail"):
        rows = list(runs(folder / f"tau_{domain}"))
        agree = sum(found.gate == good for found, _, good in rows)
        print(f"{domain}: gate and reward agree in {agree} of {len(rows)}", file=sys.stderr)
        result[f"{domain}_auc"] = round(area([(found.score, good) for found, _, good in rows]), 3)
        result[f"{domain}_actions_auc"] = round(area([(share, good) for _, share, good in rows]), 3)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
