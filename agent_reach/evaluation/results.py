"""What an evaluation came to: its runs, kept in a file as they end, and the figures of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from agent_reach.contracts.topology import Topology
from agent_reach.errors import FormatError, ReachError, briefly
from agent_reach.scores.figures import Figures, figures
from agent_reach.scores.several import Run
from agent_reach.scores.trace import Trace, Workers

FILE: Final = "runs.jsonl"
_VERSION: Final = 1


@dataclass
class Results:
    """Runs of one agent over one task or several.

    Attributes:
        topologies: of the tasks.
        traces: of the runs that ended.
        agent: what the evaluation calls the agent.
        preset, optional_bonus: of the composite and of reach depth.
        broken: runs that could not be made at all, with what was raised; they are no runs of the agent.
    """

    topologies: Sequence[Topology]
    traces: list[Trace] = field(default_factory=list)
    agent: str = ""
    preset: str = "default"
    optional_bonus: float = 0.0
    broken: list[str] = field(default_factory=list)

    @cached_property
    def runs(self) -> dict[str, list[Run]]:
        """Runs with their figures, by task, in the order of their numbers."""
        found: dict[str, list[Run]] = {}
        for topology in self.topologies:
            workers = Workers(topology)
            mine = sorted((trace for trace in self.traces if trace.task == topology.name), key=lambda trace: trace.run)
            found[topology.name] = [(trace, self._figures(topology, trace, workers)) for trace in mine]
        return found

    def _figures(self, topology: Topology, trace: Trace, workers: Workers) -> Figures:
        return figures(topology, trace, workers, preset=self.preset, optional_bonus=self.optional_bonus)

    @property
    def all_runs(self) -> list[Run]:
        """Of all tasks."""
        return [run for runs in self.runs.values() for run in runs]

    @property
    def passed(self) -> int:
        """Runs that passed the gate."""
        return sum(figures.gate for _, figures in self.all_runs)

    @classmethod
    def load(cls, path: str | Path) -> Results:
        """Read a results file, or the folder that it stands in; a last line that was cut off by a crash is left out.

        Raises:
            FormatError: it is none; names file and line.
        """
        file = Path(path) / FILE if Path(path).is_dir() else Path(path)
        head, lines = _read(file)
        found = cls(
            [_topology(record, file) for record in head["topologies"]], agent=head["agent"], preset=head["preset"],
            optional_bonus=head["optional_bonus"],
        )  # fmt: skip
        found.traces = list(_traces(lines, file))
        return found


def head_of(topologies: Sequence[Topology], workers: Mapping[str, Workers], **facts: Any) -> dict[str, Any]:
    """The first line of a results file: everything that the figures need besides the runs.

    Functions that verify are left out; tools stand with their alternates.
    """
    return {"v": _VERSION, "topologies": [_resolved(each, workers[each.name]) for each in topologies], **facts}


def _resolved(topology: Topology, workers: Workers) -> dict[str, Any]:
    record = topology.model_dump(exclude={"nodes", "open"}, exclude_defaults=True)
    record["nodes"] = []
    for node in topology.nodes:
        dumped = node.model_dump(exclude={"verify"}, exclude_defaults=True)
        alternates = () if node.any_of else workers.tools[node.id]
        verified: dict[str, Any] = {"verify": {}} if node.verify is not None else {}
        record["nodes"].append({**dumped, **({"tools": alternates} if alternates else {}), **verified})
    return record


class RunsFile:
    """Appends runs, one line each, as they end.

    Raises:
        ReachError: the folder cannot be written, or the file there is of another evaluation.
    """

    def __init__(self, folder: str | Path, head: Mapping[str, Any]) -> None:
        self.path = Path(folder) / FILE
        self.kept: list[Trace] = []
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
            if self.path.exists() and self.path.stat().st_size:
                self._resume(json.loads(json.dumps(head)))
            else:
                self.path.write_text(json.dumps(head, ensure_ascii=False) + "\n", encoding="utf-8")
            self._file = self.path.open("a", encoding="utf-8")
        except OSError as error:
            raise ReachError(f"{folder}: cannot be written: {error.strerror}") from None

    def _resume(self, head: Mapping[str, Any]) -> None:
        before, lines = _read(self.path)
        other = [key for key in head if before.get(key) != head[key]]
        if other:
            raise ReachError(f"{self.path}: holds runs of another evaluation ({', '.join(other)} differ); name another folder")
        self.kept = list(_traces(lines, self.path))
        whole = [json.dumps(before, ensure_ascii=False), *(json.dumps(t.to_record(), ensure_ascii=False) for t in self.kept)]
        self.path.write_text("\n".join(whole) + "\n", encoding="utf-8")

    def add(self, trace: Trace) -> None:
        """Keep a run; it is not made again."""
        self._file.write(json.dumps(trace.to_record(), ensure_ascii=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def _read(file: Path) -> tuple[dict[str, Any], list[str]]:
    try:
        first, *lines = file.read_text(encoding="utf-8").splitlines()
        head = json.loads(first)
        if head["v"] != _VERSION:
            raise FormatError(str(file), 0, "v", f"version {_VERSION}, found {head['v']!r}")
        head["topologies"], head["agent"], head["preset"], head["optional_bonus"]
    except OSError as error:
        raise FormatError(str(file), None, "", f"a readable file ({error.strerror})") from None
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(str(file), 0, "", f"a file that `agent-reach eval` wrote ({briefly(error)})") from None
    return head, lines


def _traces(lines: Sequence[str], file: Path) -> Iterable[Trace]:
    for number, line in enumerate(lines, 1):
        try:
            yield Trace.from_record(json.loads(line))
        except (ValueError, KeyError, TypeError) as error:
            if number == len(lines):
                return
            raise FormatError(str(file), number, "", f"a run ({briefly(error)})") from None


def _topology(record: Any, file: Path) -> Topology:
    try:
        return Topology.model_validate(record)
    except ValidationError as error:
        raise FormatError(str(file), 0, "topologies", f"topologies ({error.errors()[0]['msg']})") from None
