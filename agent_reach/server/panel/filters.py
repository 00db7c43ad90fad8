"""What a page looks at: time range, agent, intent and route version, kept in the URL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final
from urllib.parse import urlencode

RANGES: Final = {"15m": 900, "1h": 3_600, "6h": 21_600, "24h": 86_400, "7d": 604_800, "30d": 2_592_000}
_BUCKETS: Final = (60, 300, 900, 3_600, 21_600, 86_400)
_POINTS: Final = 72


@dataclass(frozen=True, slots=True)
class Filters:
    """Fields are as in the URL.

    Attributes:
        range: one of `RANGES`.
        until: end of the range in seconds since 1970, `""` for now.
        agent, intent, version: `""` for all.
        search: part of a session's id.
        against: another route version, laid over the intents.
        broken: `1` for sessions with a link that was not reached.
    """

    range: str = "1h"
    until: str = ""
    agent: str = ""
    intent: str = ""
    version: str = ""
    search: str = ""
    broken: str = ""
    against: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Filters:
        """From the query of a URL; what is unknown or no value is passed over."""
        values = {key: query[key][:500] for key in cls.__slots__ if query.get(key)}
        if values.get("range") not in RANGES:
            values.pop("range", None)
        if not _is_time(values.get("until", "")):
            values.pop("until", None)
        return cls(**values)

    def window(self, now: float) -> tuple[float, float]:
        """Begin and end in seconds; one that ends now includes the minute that runs."""
        end = float(self.until) if self.until else now + 60
        return end - RANGES[self.range], end

    def parameters(self, now: float) -> dict[str, Any]:
        """For the named queries."""
        begin, end = self.window(now)
        return {"from": begin, "to": end, "agent": self.agent, "intent": self.intent, "version": self.version}

    @property
    def bucket(self) -> int:
        """Seconds of one point of a curve."""
        return next((b for b in _BUCKETS if RANGES[self.range] / b <= _POINTS), _BUCKETS[-1])

    @property
    def minutes(self) -> float:
        return RANGES[self.range] / 60

    def query(self, **changes: str) -> str:
        """The query of a URL with these filters; defaults are left out."""
        values = {**asdict(self), **changes}
        kept = {key: value for key, value in values.items() if value and not (key == "range" and value == "1h")}
        return f"?{urlencode(kept)}" if kept else ""


def _is_time(text: str) -> bool:
    try:
        return 0 < float(text) < 4e9
    except ValueError:
        return False
