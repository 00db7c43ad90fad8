"""Drawings of an evaluation as SVG, readable in black and white."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import cos, pi, sin
from typing import Any, Final

from agent_reach.contracts.topology import Topology
from agent_reach.evaluation.report.markup import Markup, tag
from agent_reach.scores.several import Run

_BOX: Final = (150, 34)
_GAP: Final = (46, 14)
_DASHES: Final = ("", "6 4", "2 3", "8 3 2 3", "12 4", "1 4")
_MARKS: Final = "●■▲◆▼★"
_SHOWN_RUNS: Final = 60


def _svg(width: float, height: float, label: str, *children: Any) -> Markup:
    return tag(
        "svg", *children, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {width:.0f} {height:.0f}", width=f"{width:.0f}",
        height=f"{height:.0f}", role="img", aria_label=label, font_family="system-ui, sans-serif", font_size=11,
    )  # fmt: skip


def graph(topology: Topology, shares: Mapping[str, float]) -> Markup:
    """The topology, each node with the share of runs that reached it.

    Args:
        shares: by id; a node that is missing was in no run.
    """
    columns: dict[int, list[str]] = {}
    depth: dict[str, int] = {}
    for id in topology.order:
        node = topology.by_id[id]
        depth[id] = 1 + max((depth[before] for before in (*node.depends_on, *node.any_of)), default=-1)
        columns.setdefault(depth[id], []).append(id)
    (wide, high), (right, below) = _BOX, _GAP
    place = {
        id: (8 + column * (wide + right), 8 + row * (high + below)) for column, ids in columns.items() for row, id in enumerate(ids)
    }
    edges = [
        _edge(place[before], place[node.id], dashed)
        for node in topology.nodes
        for befores, dashed in ((node.depends_on, False), (node.any_of, True))
        for before in befores
    ]
    boxes = [_node(topology, id, x, y, shares.get(id)) for id, (x, y) in place.items()]
    width = 16 + len(columns) * (wide + right) - right
    height = 16 + max(len(ids) for ids in columns.values()) * (high + below) - below
    return _svg(width, height, f"graph of {topology.name}", edges, boxes)


def _edge(start: tuple[float, float], end: tuple[float, float], dashed: bool) -> Markup:
    wide, high = _BOX
    x1, y1, x2, y2 = start[0] + wide, start[1] + high / 2, end[0], end[1] + high / 2
    middle = (x1 + x2) / 2
    return tag(
        "path", d=f"M{x1},{y1} C{middle},{y1} {middle},{y2} {x2},{y2}", fill="none", stroke="#777",
        stroke_dasharray="4 3" if dashed else None,
    )  # fmt: skip


_OUTLINE: Final = {"fallback": "5 3", "must_not": "2 2"}


def _node(topology: Topology, id: str, x: float, y: float, share: float | None) -> Markup:
    kind = topology.by_id[id].type
    wide, high = _BOX
    grey = 255 - round(110 * (share or 0.0))
    said = "–" if share is None else f"{share:.0%}"
    box = tag(
        "rect", x=x, y=y, width=wide, height=high, rx=17 if kind == "optional" else 4, fill=f"rgb({grey},{grey},{grey})",
        stroke="#222", stroke_width=2 if kind == "must" else 1, stroke_dasharray=_OUTLINE.get(kind),
    )  # fmt: skip
    return tag(
        "g",
        tag("title", f"{id} ({kind}): {'in no run' if share is None else f'reached in {share:.0%} of the runs'}"),
        box,
        tag("text", _short(id, 20), x=x + 8, y=y + 15, fill="#000"),
        tag("text", f"{kind.replace('_', ' ')}  {said}", x=x + 8, y=y + 28, fill="#000", font_size=10),
    )


def heat_map(topology: Topology, runs: Sequence[Run]) -> Markup:
    """Nodes by runs: a filled square was reached, an empty one was not; a cross is a must_not that came true."""
    shown = runs[:_SHOWN_RUNS]
    done = [trace.done for trace, _ in shown]
    names = [node.id for node in topology.nodes]
    banned = {node.id for node in topology.nodes if node.type == "must_not"}
    hit = [(170 + 14 * c, 22 + 16 * r, name in banned) for r, name in enumerate(names) for c, ids in enumerate(done) if name in ids]
    squares = "".join(f"M{170 + 14 * c} {22 + 16 * r}h12v12h-12z" for r in range(len(names)) for c in range(len(shown)))
    filled = "".join(f"M{x} {y}h12v12h-12z" for x, y, bad in hit if not bad)
    crossed = "".join(f"M{x} {y}l12 12m-12 0l12 -12" for x, y, bad in hit if bad)
    cells = [tag("path", d=squares, fill="#fff", stroke="#999"), tag("path", d=filled, fill="#333")]
    cells += [tag("path", d=crossed, stroke="#000", stroke_width=2)] if crossed else []
    labels = [tag("text", _short(name, 24), x=4, y=33 + row * 16) for row, name in enumerate(names)]
    heads = [tag("text", trace.run, x=171 + column * 14, y=14, font_size=8) for column, (trace, _) in enumerate(shown)]
    return _svg(180 + 14 * len(shown), 26 + 16 * len(names), f"nodes of {topology.name} by run", labels, heads, cells)


def stage_curves(curves: Mapping[str, Sequence[tuple[int, float]]]) -> Markup:
    """Share of the must-nodes of each level that were done, a line each."""
    width, height, left = 360, 150, 36
    last = max((level for points in curves.values() for level, _ in points), default=1)

    def at(level: int, share: float) -> tuple[float, float]:
        return left + (level - 1) / max(1, last - 1) * (width - left - 14), 10 + (1 - share) * (height - 40)

    grid = [
        tag("g", tag("line", x1=left, x2=width - 14, y1=y, y2=y, stroke="#ddd"), tag("text", f"{s:.0%}", x=2, y=y + 4))
        for s, y in ((s, at(1, s)[1]) for s in (0, 0.5, 1))
    ]
    step = max(1, last // 10)
    axis = [tag("text", level, x=at(level, 0)[0] - 3, y=height - 14) for level in range(1, last + 1, step)]
    lines = [_line("polyline", [at(*point) for point in points], number) for number, points in enumerate(curves.values())]
    dots = [tag("circle", cx=f"{at(*p)[0]:.1f}", cy=f"{at(*p)[1]:.1f}", r=2.5) for points in curves.values() for p in points]
    return _svg(width, height, "share done by level", grid, axis, lines, dots)


def radar(axes: Sequence[str], agents: Mapping[str, Sequence[float | None]]) -> Markup:
    """Shares from 0 to 1 on axes around a circle, a line style and a mark for each agent; an undefined one is left out."""
    centre, radius = 190.0, 120.0

    def at(axis: int, value: float) -> tuple[float, float]:
        angle = 2 * pi * axis / len(axes) - pi / 2
        return centre + cos(angle) * radius * value, 160 + sin(angle) * radius * value

    rings = [
        tag("polygon", points=" ".join("{:.1f},{:.1f}".format(*at(i, ring)) for i in range(len(axes))), fill="none", stroke="#ccc")
        for ring in (0.25, 0.5, 0.75, 1)
    ]
    labels = [
        tag("text", name, x=f"{at(i, 1.18)[0]:.0f}", y=f"{at(i, 1.18)[1]:.0f}", text_anchor="middle") for i, name in enumerate(axes)
    ]
    drawn: list[Markup] = []
    for number, (agent, values) in enumerate(agents.items()):
        points = [at(i, value) for i, value in enumerate(values) if value is not None]
        drawn.append(_line("polygon", points, number))
        drawn += [tag("text", _MARKS[number % 6], x=f"{x:.1f}", y=f"{y + 4:.1f}", text_anchor="middle") for x, y in points]
        y = 330 + number * 16
        drawn.append(_line("polyline", [(20, y - 4), (60, y - 4)], number))
        drawn.append(tag("text", f"{_MARKS[number % 6]} {agent}", x=66, y=y))
    return _svg(380, 340 + 16 * len(agents), "radar of the agents", rings, labels, drawn)


def _line(kind: str, points: Sequence[tuple[float, float]], number: int) -> Markup:
    """A line of the style that belongs to the number."""
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return tag(kind, points=line, fill="none", stroke="#000", stroke_width=1.6, stroke_dasharray=_DASHES[number % 6] or None)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
