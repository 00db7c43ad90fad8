"""What each page shows: rows of the named queries, read as scores and laid out."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from agent_reach.contracts import Routes
from agent_reach.scores.utilisation import FIFTHS, Place, Utilisation, advice
from agent_reach.server.figures import added, figures_of
from agent_reach.server.panel import charts
from agent_reach.server.panel.evaluations import tasks
from agent_reach.server.panel.filters import Filters
from agent_reach.store.port import Row, Store

Page = dict[str, Any]

_LINKS: Final = ("tool", "knowledge", "task")
_RUNGS: Final = ("retries", "reroutes", "snapshots", "humans")
_EVENTS_SHOWN: Final = 2_000
_SESSIONS_SHOWN: Final = 100
_RUNS_SHOWN: Final = 50
_FEW: Final = 30
_HEARD: Final = 300.0  # seconds within which a process tells its breakers
_RECENT: Final = (30.0, 120.0, 900.0)  # seconds


class Views:
    """Pages by name.

    Args:
        store: answers the queries.
        routes: weights and thresholds of the scores.
        clock: seconds since 1970.
    """

    def __init__(self, store: Store, routes: Routes, clock: Callable[[], float]) -> None:
        self._store, self._routes, self._clock = store, routes, clock
        self._pool = ThreadPoolExecutor(3, "agent-reach-query")

    def _select(self, filters: Filters, **queries: Mapping[str, Any]) -> dict[str, list[Row]]:
        """Several queries at once, all with the same filters."""
        shared = filters.parameters(self._clock())
        asked = {name: self._pool.submit(self._store.select, name, **shared, **more) for name, more in queries.items()}
        return {name: future.result() for name, future in asked.items()}

    def _newest(self, filters: Filters, name: str, limit: int, **more: Any) -> list[Row]:
        """The newest rows: looked for in the last minutes that hold any first, since that is where they mostly are."""
        shared = {**filters.parameters(self._clock()), "limit": limit, **more}
        last = self._store.select("last_minute", **shared)[0]["last"]
        for recent in _RECENT:
            begin = min(shared["to"], last + 60) - recent
            if begin > shared["from"]:
                rows = self._store.select(name, **{**shared, "from": begin})
                if len(rows) == limit:
                    return rows
        return self._store.select(name, **shared)

    def choices(self, filters: Filters) -> Callable[[], Row]:
        """What the filters can be set to, asked for beside the page's own queries: call the result to have it."""
        asked = self._pool.submit(self._store.select, "choices", **filters.parameters(self._clock()))
        return lambda: {key: sorted(value for value in values if value) for key, values in asked.result()[0].items()}

    # now ------------------------------------------------------------------------------------------------------------

    def now(self, filters: Filters) -> Page:
        """Which agent is broken, on which link, since when, and what was done."""
        newest = self._pool.submit(self._newest, filters, "failures", 30)
        found = self._select(filters, agents={}, curves={"bucket": filters.bucket}, notes={})
        agents = [row for row in found["agents"] if not row["together"]]
        fleet = next((row for row in found["agents"] if row["together"]), added([]))
        window = filters.window(self._clock())
        curves = self._curves(found["curves"], filters, window)
        return {
            "fleet": figures_of(fleet, self._routes),
            "strip": self._strip(fleet, filters),
            "agents": self._ranking(agents, found["curves"]),
            "curves": {link: curves(link) for link in _LINKS},
            "failures": [explain(row) for row in newest.result()],
            "notes": found["notes"],
        }

    def _strip(self, fleet: Row, filters: Filters) -> Row:
        calls = fleet.get("calls", 0)
        return {
            "sessions": fleet.get("sessions", 0),
            "calls": calls,
            "calls_minute": calls / filters.minutes,
            "empty": fleet.get("empty", 0) / calls if calls else None,
            "rungs_minute": sum(fleet.get(rung, 0) for rung in _RUNGS) / filters.minutes,
            "taken_at": fleet.get("taken_at"),
        }

    def _ranking(self, agents: list[Row], points: list[Row]) -> list[Row]:
        series: dict[str, list[float | None]] = defaultdict(list)
        since: dict[str, float | None] = {}
        for row in points:
            figures = figures_of(row, self._routes)
            series[row["agent"]].append(figures.total)
            if figures.band:
                ill = figures.band != "healthy"
                since[row["agent"]] = (since.get(row["agent"]) or row["at"]) if ill else None
        ranked = [
            {
                **row,
                "figures": figures_of(row, self._routes),
                "spark": charts.sparkline(series[row["agent"]]),
                "since": since.get(row["agent"]),
            }
            for row in agents
        ]
        return sorted(ranked, key=lambda row: (row["figures"].total is None, row["figures"].total or 0.0, row["agent"]))

    def _curves(self, rows: list[Row], filters: Filters, window: tuple[float, float]) -> Callable[[str], charts.Curve]:
        sums = _by_bucket(rows)
        marks = _first_seen(rows)
        figures = [(at, figures_of(total, self._routes)) for at, total in sums]
        whole = figures_of(added(total for _, total in sums), self._routes)

        def of(link: str) -> charts.Curve:
            points = [(at, getattr(row, link), row.n[link]) for at, row in figures]
            mean = getattr(whole, link)
            return charts.curve(points, window, filters.bucket, self._routes.thresholds, marks, mean)

        return of

    # sessions ---------------------------------------------------------------------------------------------------------

    def sessions(self, filters: Filters) -> Page:
        """The sessions seen last."""
        more = {"broken": bool(filters.broken), "search": filters.search}
        recent = [row["session"] for row in self._newest(filters, "recent_sessions", _SESSIONS_SHOWN, **more)]
        return {"sessions": self._store.select("sessions", sessions=recent) if recent else []}

    def session(self, id: str, chosen: str) -> Page | None:
        """One session on a time axis; None when the store does not hold it.

        Args:
            id: of the session.
            chosen: id of the event to show in full.
        """
        span = self._store.select("session_span", session=id)[0]
        if not span["n"]:
            return None
        events = self._store.select("session_events", session=id, limit=_EVENTS_SHOWN, begun=span["begun"], seen=span["seen"])
        scores = self._store.select("sessions", sessions=[id])
        explained = [explain(event) for event in events]
        calls = [event for event in explained if event["kind"] != "tool_attempt"]
        first = next((event for event in calls if event["short"]), None)
        repaired = sum(event["status"] == "ok" and bool(event["done"]) for event in calls)
        event = next((event for event in explained if event["id"] == chosen), None)
        return {
            "session": scores[0],
            "events": explained,
            "timeline": charts.timeline([e for e in events if e["kind"] != "unit"]),
            "first": first,
            "repaired": repaired,
            "event": event,
            "detail": self._detail(event) if event else None,
            "cut": len(events) == _EVENTS_SHOWN,
        }

    def _detail(self, event: Row) -> Row | None:
        spans = self._store.select("span", trace=event["trace"], id=event["id"])
        if not spans:
            return None
        span = spans[0]
        attributes = span["attributes"]
        return {
            "span": span,
            "offered": as_list(event["offered"]),
            "expected": as_list(event["expected"]),
            "arguments": attributes.get("gen_ai.tool.call.arguments", ""),
            "result": attributes.get("gen_ai.tool.call.result", "") or attributes.get("agent_reach.knowledge.fragments", ""),
            "inside": list(zip(span["event_names"], span["event_attributes"], strict=True)),
        }

    # the other views --------------------------------------------------------------------------------------------------

    def intents(self, filters: Filters) -> Page:
        """Which intents do not get the tool that they need."""
        found = self._select(filters, heat={}, tools={}, atoms={}, misses={"limit": 50})
        before = self._heat_of(filters.against, filters) if filters.against else {}
        misses = [
            {**row, "called": as_list(row["called"]), "why": _WHY.get(row["reason"], row["reason"])} for row in found["misses"]
        ]
        cells = [{**row, "few": row["n"] < _FEW, "before": before.get(_place(row))} for row in found["heat"]]
        return {
            "buckets": sorted({row["turns"] for row in cells}),
            "grid": _grid(cells),
            "tools": found["tools"],
            "atoms": found["atoms"],
            "misses": misses,
        }

    def _heat_of(self, version: str, filters: Filters) -> dict[tuple[str, str, str], Row]:
        """The cells of another route version."""
        asked = {**filters.parameters(self._clock()), "version": version}
        return {_place(row): row for row in self._store.select("heat", **asked)}

    def knowledge(self, filters: Filters) -> Page:
        """Whether what was retrieved was needed, and used."""
        found = self._select(filters, curves={"bucket": filters.bucket}, sources={}, utilisation={"bucket": filters.bucket})
        window = filters.window(self._clock())
        sums = _by_bucket(found["curves"])

        def of(key: str) -> charts.Curve:
            points = [(at, s[key] / s["retrievals"] if s["retrievals"] else None, int(s["retrievals"])) for at, s in sums]
            retrievals = sum(s["retrievals"] for _, s in sums)
            mean = sum(s[key] for _, s in sums) / retrievals if retrievals else None
            return charts.curve(points, window, filters.bucket, self._routes.thresholds, mean=mean)

        counts = Utilisation()
        for row in found["utilisation"]:
            counts.add(Place("", row["label"], row["fifth"]), row["n"], row["cited"])
        used = [(at, s["cited"] / s["n"], int(s["n"])) for at, s in _by_bucket(found["utilisation"])]
        return {
            "curves": {
                "recall": of("recall_sum"),
                "semantic hit": of("hit_sum"),
                "utilisation": charts.curve(used, window, filters.bucket, mean=counts.overall.value),
            },
            "sources": found["sources"],
            "positions": [(FIFTHS[fifth - 1], rate) for fifth, rate in counts.by("fifth").items()],
            "labels": [(label, rate) for label, rate in counts.by("label").items() if label],
            "advice": advice(counts),
        }

    def compensation(self, filters: Filters) -> Page:
        """What was tried, and what it saved."""
        found = self._select(filters, rungs={}, tools={}, minutes_of_hour={}, breakers={"since": self._clock() - _HEARD})
        by_tool: dict[str, dict[int, int]] = defaultdict(dict)
        for row in found["minutes_of_hour"]:
            by_tool[row["tool"]][row["of_hour"]] = row["failed"]
        most = max((row["failed"] for row in found["minutes_of_hour"]), default=1)
        rungs = {row["rung"]: row for row in found["rungs"]}
        short = sum(row["calls"] for row in found["rungs"])
        tools = [row for row in found["tools"] if row["first_short"] or row["refused"]]
        minutes = {"minutes": dict(by_tool), "most": most}
        return {"rungs": rungs, "short": short, "tools": tools, "breakers": found["breakers"], **minutes}

    def evaluations(self, filters: Filters) -> Page:
        """How agents fare on the tasks that they are evaluated on."""
        found = self._select(filters, task_runs={}, task_nodes={}, newest_runs={"limit": _RUNS_SHOWN})
        return {"tasks": tasks(found["task_runs"], found["task_nodes"]), "newest": found["newest_runs"]}


def _place(cell: Row) -> tuple[str, str, str]:
    return cell["intent"], cell["needed"], cell["turns"]


def _by_bucket(rows: Iterable[Row]) -> list[tuple[float, Row]]:
    """The sums of all agents at each point of time, in order."""
    buckets: dict[float, list[Row]] = defaultdict(list)
    for row in rows:
        buckets[row["at"]].append(row)
    return [(at, added(inside)) for at, inside in sorted(buckets.items())]


def _first_seen(rows: Iterable[Row]) -> list[tuple[float, str]]:
    """When each route version first appears, in order."""
    first: dict[str, float] = {}
    for row in rows:
        for version in filter(None, row["versions"]):
            first[version] = min(row["at"], first.get(version, row["at"]))
    return sorted((at, version) for version, at in first.items())


def _grid(cells: list[Row]) -> dict[str, dict[str, dict[str, Row]]]:
    """Cells by intent, needed tool and turn bucket."""
    grid: dict[str, dict[str, dict[str, Row]]] = defaultdict(lambda: defaultdict(dict))
    for cell in cells:
        grid[cell["intent"]][cell["needed"]][cell["turns"]] = cell
    return grid


def as_list(text: str) -> list[str]:
    """A JSON array that a span attribute holds; anything else is one item."""
    if not text:
        return []
    try:
        value = json.loads(text)
    except ValueError:
        return [text]
    return [str(item) for item in value] if isinstance(value, list) else [text]


_WHY: Final = {
    "never_offered": "never offered",
    "misnamed": "a name that no tool has",
    "arguments": "stopped after wrong arguments",
    "precondition": "stopped at a precondition",
    "earlier_step": "an earlier step was not reached",
    "lesser_tool": "another tool of the step",
    "other_tool": "another tool instead",
    "no_call": "no tool was called",
}

# events in words ------------------------------------------------------------------------------------------------------

_AT_FIRST: Final = {"empty_alias": "empty at first", "fail": "failed at first"}


def explain(event: Row) -> Row:
    """The event with `link`, `what`, `cause`, `done`, and whether it fell `short`."""
    kind = event["kind"]
    if kind == "handoff":
        missing = as_list(event["missing"])
        words = ("task", event["receiver"], f"missing: {', '.join(missing)}" if missing else "", bool(missing))
    elif kind == "retrieval":
        short = event["ideal"] > 0 and (event["relevant"] < event["ideal"] or event["admitted"] < event["retrieved"])
        needed = f"{event['relevant']} needed fragments of {event['ideal']}, in {event['retrieved']} returned"
        cause = event["fail_cause"] or needed
        words = ("knowledge", event["source"], cause, short)
    elif kind in ("tool_call", "tool_attempt"):
        short = event["status"] in ("fail", "empty_alias")
        words = ("tool", event["tool"], _cause(event), short)
    else:
        words = ("", event["agent"], event.get("outcome", ""), False)
    link, what, cause, short = words
    return {**event, "link": link, "what": what, "cause": cause, "short": short, "done": _done(event)}


def _cause(event: Row) -> str:
    if event["status"] in ("handoff", "cancelled", "interrupted"):
        return ""
    if event["status"] == "fail":
        return event["fail_cause"] or "fail"
    if event["status"] == "empty_alias":
        return f"empty: {event['empty_kind']}" if event["empty_kind"] else "empty"
    return _AT_FIRST.get(event["first_status"], "")


def _done(event: Row) -> str:
    rung: str = "" if event["rung"] == "first" else event["rung"]
    if rung and event["served_by"]:
        return f"{rung} → {event['served_by']}"
    return rung
