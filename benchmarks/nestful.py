"""How many nested call plans are found reachable, and how many still are when a producer that they need is gone.

Usage: nestful.py [--data FOLDER], with `nestful` beneath, or that folder. Literals of a plan are facts that the user gave;
arguments that name another call have to be produced; the goal is that the tools which the result cites were called; there are
the plan's own tools. Links are derived from the specifications and from all other plans, once, before a producer is taken away.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path

from agent_reach.planning import Operator, plan
from agent_reach.planning.links import Field, Signature, derive_links

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
CITED = re.compile(r"\$(var\d+)")
RESULT = "var_result"


def fields(properties, prefix=""):
    """Output fields, nested ones by their path."""
    for name, spec in (properties or {}).items():
        if isinstance(spec, dict):
            yield Field(f"{prefix}{name}", str(spec.get("type", "")), str(spec.get("description", "")))
            inner = (
                spec.get("properties") or (spec.get("items") or {}).get("properties")
                if isinstance(spec.get("items", {}), dict)
                else None
            )
            yield from fields(inner, f"{prefix}{name}.")


def signature(spec):
    parameters = {**(spec.get("query_parameters") or {}), **(spec.get("path_parameters") or {})}
    outputs = spec.get("output_parameters") or {}
    outputs = outputs.get("properties", outputs) if isinstance(outputs, dict) else {}
    return Signature(spec["name"], spec.get("description", ""), tuple(fields(parameters)), tuple(fields(outputs)))


def citations(record):
    """(producer, consumer, parameter) of every argument that names another call."""
    by_label = {call.get("label"): call["name"] for call in record["output"]}
    for call in record["output"]:
        for parameter, value in call["arguments"].items():
            for label in CITED.findall(str(value)):
                if label in by_label:
                    yield by_label[label], call["name"], parameter


class Case:
    """One plan as a task."""

    def __init__(self, record, signatures, seen):
        cited = list(citations(record))
        self.goal = {f"called:{producer}" for producer, consumer, _ in cited if consumer == RESULT}
        self.edges = {(producer, consumer) for producer, consumer, _ in cited if consumer != RESULT and producer != consumer}
        self.tools = list(dict.fromkeys(call["name"] for call in record["output"] if call["name"] != RESULT))
        needed = [(consumer, parameter) for producer, consumer, parameter in cited if consumer != RESULT and producer != consumer]
        self.facts, self.operators = set(), {}
        for name in self.tools:
            takes = {p for call in record["output"] if call["name"] == name for p in call["arguments"]}
            self.facts |= {f"{name}.{p}" for p in takes if (name, p) not in needed}
            needs = frozenset(f"{name}.{p}" for p in takes)
            self.operators[name] = Operator(name, needs, frozenset({f"called:{name}", f"out:{name}"}))
        known = [signatures.get(name, Signature(name)) for name in self.tools]
        self.links = [link.operator() for link in derive_links(known, needed, seen)]

    def search(self, without=""):
        tools = [operator for name, operator in self.operators.items() if name != without]
        return plan(self.facts, self.goal, [*tools, *self.links], depth=40)

    def producers(self):
        """Tools that the way to the goal needs another one for, and that are no goal themselves."""
        wanted = {fact.removeprefix("called:") for fact in self.goal}
        needed, waiting = set(), list(wanted)
        while waiting:
            consumer = waiting.pop()
            for producer, other in self.edges:
                if other == consumer and producer not in needed:
                    needed.add(producer)
                    waiting.append(producer)
        return sorted(needed - wanted)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    folder = parser.parse_args().data
    folder = folder / "nestful" if (folder / "nestful").is_dir() else folder
    records = json.loads((folder / "executable-data.json").read_text())
    signatures = {spec["name"]: signature(spec) for spec in json.loads((folder / "executable-spec.json").read_text())}
    cited = [Counter(set(citations(record))) for record in records]
    everything = sum(cited, Counter())
    verdicts, false, removed = Counter(), 0, 0
    for record, own in zip(records, cited, strict=True):
        case = Case(record, signatures, everything - own)
        found = case.search()
        verdicts[found.verdict] += 1
        if found.verdict == "not":
            print(f"not reachable: {record['input'][:90]} ({', '.join(found.missing)})", file=sys.stderr)
        for producer in case.producers():
            removed += 1
            without = case.search(producer)
            if without.verdict != "not":
                false += 1
                print(f"reachable without {producer}: {without.names}", file=sys.stderr)
    reachable = (verdicts["strong"] + verdicts["weak"]) / len(records)
    result = {
        "reachable_rate": round(reachable, 3), "strong_rate": round(verdicts["strong"] / len(records), 3),
        "weak_rate": round(verdicts["weak"] / len(records), 3), "false_reachable": false, "removed": removed, "plans": len(records),
    }  # fmt: skip
    print(json.dumps(result))


if __name__ == "__main__":
    main()
