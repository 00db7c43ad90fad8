"""How well the figures of a recorded run tell its real reward, from the conversation alone.

Usage: tau_effects.py [--data FOLDER], with `tau_airline` and `tau_retail` beneath. Each task becomes a topology: the effects among
its reference actions are must-nodes, the reads among them optional ones, tools with a side effect that it does not want must_not.
Beside the gate-plus-effects score stand the composite, and the share of the reference actions' tools that were called at all.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from agent_reach.contracts import Routes
from agent_reach.contracts.topology import Topology
from agent_reach.evaluation.calibration import auc
from agent_reach.importers.files import read_conversations
from agent_reach.importers.trials import trace_of
from agent_reach.scores.figures import figures

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def topology_of(task, effects):
    """What a task of the benchmark asks for; one in which nothing may be changed asks for an answer alone."""
    nodes = [{"id": "answered", "verify": "length(replies) > `0`"}]
    named = {action["name"] for action in task["actions"]}
    for number, action in enumerate(task["actions"], 1):
        if action["name"] in effects:
            nodes.append({"id": f"effect-{number}", "tools": [action["name"]], "effect": action["kwargs"]})
        else:
            nodes.append({"id": f"read-{number}", "type": "optional", "tools": [action["name"]]})
    nodes += [{"id": f"not-{name}", "type": "must_not", "tools": [name]} for name in sorted(effects - named)]
    return Topology(name="task", nodes=nodes, outputs=[str(output) for output in task.get("outputs") or ()])


def runs(folder):
    effects = set(json.loads((folder / "tools.json").read_text())["side_effect"])
    routes = Routes.model_validate({"tools": {name: {"side_effect": True} for name in effects}})
    for file in sorted(f for f in folder.glob("*.json") if f.name != "tools.json"):
        for talk, record in zip(read_conversations(file), json.loads(file.read_text()), strict=True):
            task = record["info"]["task"]
            topology = topology_of(task, effects)
            found = figures(topology, trace_of(topology, talk.messages, routes))
            called = {call.name for message in talk.messages for call in message.calls}
            named = {action["name"] for action in task["actions"]}
            yield found, len(called & named) / len(named) if named else 1.0, record["reward"] >= 1


def area(pairs):
    return round(auc([score for score, good in pairs if good], [score for score, good in pairs if not good]), 3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    folder = parser.parse_args().data
    result = {}
    for domain in ("airline", "retail"):
        rows = list(runs(folder / f"tau_{domain}"))
        agree = sum(found.gate == good for found, _, good in rows)
        print(f"{domain}: gate and reward agree in {agree} of {len(rows)}", file=sys.stderr)
        result[f"{domain}_auc"] = area([(found.gate_score, good) for found, _, good in rows])
        result[f"{domain}_composite_auc"] = area([(found.composite, good) for found, _, good in rows])
        result[f"{domain}_depth_auc"] = area([(found.depth, good) for found, _, good in rows])
        result[f"{domain}_actions_auc"] = area([(share, good) for _, share, good in rows])
    print(json.dumps(result))


if __name__ == "__main__":
    main()
