"""Geometry of the charts; the templates draw it as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from agent_reach.contracts import Thresholds

WIDTH: Final = 420
HEIGHT: Final = 120
_LEFT: Final = 34
_TICKS: Final = 5


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve.

    Attributes:
        segments: runs of points without a gap, each as SVG `points`.
        dots: (x, y, text) of single points.
        lines: (y, text) of the thresholds.
        marks: (x, text) of changes of the route version.
        ticks: (x, text) of the time axis.
        mean: over the whole range, None when there is nothing.
        n: what it stands on.
    """

    segments: Sequence[str]
    dots: Sequence[tuple[float, float, str]]
    lines: Sequence[tuple[float, str]]
    marks: Sequence[tuple[float, str]] = ()
    ticks: Sequence[tuple[float, str]] = ()
    mean: float | None = None
    n: int = 0
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT


def curve(
    points: Iterable[tuple[float, float | None, int]],
    window: tuple[float, float],
    bucket: int,
    thresholds: Thresholds | None = None,
    marks: Iterable[tuple[float, str]] = (),
    mean: float | None = None,
) -> Curve:
    """Shares from 0 to 1 over time.

    Args:
        points: (second, value, n), in order; a None is a gap, and so is a bucket without a point.
        window: begin and end in seconds.
        bucket: seconds between points.
        thresholds: drawn as lines where the figure has any.
        marks: (second, text).
        mean: over the whole range.
    """
    runs: list[list[str]] = []
    dots, before, total = [], 0.0, 0
    for at, value, n in points:
        total += n
        if value is None:
            continue
        x, y = _x(at + bucket / 2, window), _y(value)
        if not runs or at - before > bucket * 1.5:
            runs.append([])
        runs[-1].append(f"{x:.1f},{y:.1f}")
        dots.append((round(x, 1), round(y, 1), f"{clock(at)} UTC  {value:.3f}  n={n}"))
        before = at
    limits = (thresholds.healthy, thresholds.degraded) if thresholds else ()
    lines = [(round(_y(v), 1), f"{v:g}") for v in limits]
    shown = [(round(min(_x(at, window), WIDTH), 1), text) for at, text in marks if window[0] <= at <= window[1]]
    return Curve([" ".join(run) for run in runs], dots, lines, shown, ticks(window), mean, total)


def sparkline(values: Sequence[float | None], width: int = 96, height: int = 18) -> str:
    """SVG `points` of a small curve without axes."""
    count = max(1, len(values) - 1)
    return " ".join(f"{i / count * width:.1f},{(1 - v) * (height - 2) + 1:.1f}" for i, v in enumerate(values) if v is not None)


def ticks(window: tuple[float, float]) -> list[tuple[float, str]]:
    """A few times along the axis."""
    begin, end = window
    step = (end - begin) / _TICKS
    return [(round(_x(begin + step * i, window), 1), clock(begin + step * i, end - begin)) for i in range(1, _TICKS)]


def clock(at: float, span: float = 0.0) -> str:
    """Time of day in UTC, with the date when a range covers days."""
    return datetime.fromtimestamp(at, UTC).strftime("%m-%d %H:%M" if span > 90_000 else "%H:%M")


def _x(at: float, window: tuple[float, float]) -> float:
    begin, end = window
    return _LEFT + (at - begin) / (end - begin) * (WIDTH - _LEFT)


def _y(value: float) -> float:
    return 6 + (1 - value) * (HEIGHT - 26)


# the timeline of a session -------------------------------------------------------------------------------------------

_COLUMN: Final = 120.0
_GAP: Final = 10.0
_LANE: Final = 46.0
_TOP: Final = 26.0
_NAME: Final = 110.0


@dataclass(frozen=True, slots=True)
class Bar:
    """A call, retrieval or handoff on its lane."""

    x: float
    y: float
    width: float
    height: float
    event: Mapping[str, Any]


@dataclass(slots=True)
class Timeline:
    """Lanes by agent, columns by turn, bars by event, arrows by handoff, and the score as the turns ended."""

    width: float = 0.0
    height: float = 0.0
    lanes: list[tuple[float, str]] = field(default_factory=list)
    columns: list[tuple[float, float, int, str]] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    arrows: list[tuple[float, float, float, Mapping[str, Any]]] = field(default_factory=list)
    scores: list[tuple[float, float, float]] = field(default_factory=list)
    score_top: float = 0.0
    left: float = _NAME


def timeline(events: Sequence[Mapping[str, Any]]) -> Timeline:
    """Lay a session out: within a turn to scale, every turn as wide as it has events, so that waiting takes no room."""
    drawn = Timeline()
    agents = list(dict.fromkeys(_agents(events)))
    drawn.lanes = [(_TOP + i * _LANE, agent) for i, agent in enumerate(agents)]
    lane = {agent: y for y, agent in drawn.lanes}
    drawn.score_top = _TOP + len(agents) * _LANE + 14
    x = _NAME
    for number in sorted({event["turn"] for event in events}):
        inside = [event for event in events if event["turn"] == number]
        width = _COLUMN + 16.0 * sum(event["kind"] in ("tool_call", "retrieval") for event in inside)
        _lay_turn(drawn, inside, lane, x, width)
        turn = next((event for event in inside if event["kind"] == "turn"), None)
        drawn.columns.append((x, width, number, turn["outcome"] if turn else ""))
        if turn is not None and turn["score"] >= 0:
            drawn.scores.append((round(x + width - 4, 1), round(drawn.score_top + (1 - turn["score"]) * 50, 1), turn["score"]))
        x += width + _GAP
    drawn.width, drawn.height = x, drawn.score_top + 66
    return drawn


def _agents(events: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    for event in events:
        yield event["sender"] if event["kind"] == "handoff" else event["agent"]
        if event["kind"] == "handoff":
            yield event["receiver"]


def _lay_turn(drawn: Timeline, events: Sequence[Mapping[str, Any]], lane: Mapping[str, float], x: float, width: float) -> None:
    begin = min(event["at"] for event in events)
    end = max(event["at"] + event["seconds"] for event in events)
    scale = (width - 14) / (end - begin) if end > begin else 0.0
    for event in events:
        left = x + 4 + (event["at"] - begin) * scale
        if event["kind"] in ("tool_call", "retrieval", "tool_attempt"):
            nested = event["kind"] == "tool_attempt"
            wide = max(6.0, event["seconds"] * scale)
            top = lane[event["agent"]] + (26 if nested else 8)
            drawn.bars.append(Bar(round(left, 1), top, round(wide, 1), 6 if nested else 16, event))
        elif event["kind"] == "handoff":
            drawn.arrows.append((round(left, 1), lane[event["sender"]] + 16, lane[event["receiver"]] + 16, event))
