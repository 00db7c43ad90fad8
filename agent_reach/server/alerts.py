"""Alert rules: when a figure of the last minutes crosses a line, say so once, and once more when it is over."""

from __future__ import annotations

import json
import logging
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlencode

from pydantic import Field, ValidationError, model_validator

from agent_reach.contracts import Routes
from agent_reach.contracts.load import contract_error, read_yaml
from agent_reach.contracts.policy import Declaration
from agent_reach.server.figures import figures_of

log = logging.getLogger("agent_reach.alerts")

_TIMEOUT: Final = 5.0
_KEYS: Final = {"band": {"below"}, "empties": {"above"}, "breaker": {"above"}, "drift": {"drop"}}
_ORDER: Final = {"broken": 0, "degraded": 1, "healthy": 2}


class Rule(Declaration):
    """One line that must not be crossed.

    Attributes:
        when: `band` of an agent's score; share of `empties` among its calls; a `breaker` that is open; `drift`, a score that fell
            against the same span before.
        agent: only this one.
        below: for `band`: alert when the band is lower than this one.
        above: for `empties`: the share; for `breaker`: refused calls.
        drop: for `drift`: by how much the score fell.
        minutes: looked at.
        least: calls, or needs, that must have been seen: of fewer nothing is said.
    """

    when: Literal["band", "empties", "breaker", "drift"]
    agent: str = ""
    below: Literal["degraded", "healthy"] = "degraded"
    above: float = Field(default=0.05, ge=0)
    drop: float = Field(default=0.1, gt=0, le=1)
    minutes: int = Field(default=10, ge=1, le=1_440)
    least: int = Field(default=10, ge=1)

    @model_validator(mode="after")
    def _keys_that_count(self) -> Rule:
        useless = sorted(self.model_fields_set & {"below", "above", "drop"} - _KEYS[self.when])
        if useless:
            raise ValueError(f"keys that go with {self.when}, found {', '.join(useless)}")
        return self

    def __str__(self) -> str:
        limit = {"band": f"below {self.below}", "drift": f"falls by {self.drop:g}"}.get(self.when, f"above {self.above:g}")
        return f"{self.when} {limit}" + (f" for {self.agent}" if self.agent else "")


class Rules(Declaration):
    """What to watch, and where to tell.

    Attributes:
        rules: the lines.
        webhook: gets every alert as JSON by POST.
        log: a file to which every alert is appended as a JSON line.
        panel: address of the panel; alerts then carry a link to the agent's page at that time.
    """

    rules: tuple[Rule, ...] = (Rule(when="band"), Rule(when="breaker", above=0))
    webhook: str = Field(default="", pattern=r"^(https?://.*)?$", repr=False)
    log: Path | None = None
    panel: str = Field(default="", pattern=r"^(https?://.*)?$")

    @classmethod
    def load(cls, path: str | Path) -> Rules:
        """Read a YAML file.

        Raises:
            ContractError: with file, line, key and what was expected.
        """
        document, lines = read_yaml(path)
        try:
            return cls.model_validate(document or {})
        except ValidationError as error:
            raise contract_error(error, lines, str(path)) from None


@dataclass(frozen=True, slots=True)
class Alert:
    """A line was crossed, or no longer is.

    Attributes:
        state: `firing` or `over`.
        when, agent: of the rule, and who.
        value: what was seen, and `limit` what the rule allows.
        text: one sentence.
        at: seconds since 1970.
    """

    state: Literal["firing", "over"]
    when: str
    agent: str
    value: float | None
    limit: float
    text: str
    at: float


Window = Mapping[str, Mapping[str, Any]]
"""Sums by agent."""


class Alerts:
    """Rules, and which of them fire now.

    Attributes:
        firing: alerts by rule and agent.
    """

    def __init__(self, rules: Rules, routes: Routes) -> None:
        self.rules, self._routes = rules, routes
        self.firing: dict[tuple[int, str], Alert] = {}

    def windows(self) -> set[int]:
        """Minutes of the windows that `check` needs."""
        return {rule.minutes for rule in self.rules.rules}

    def check(
        self, now: Mapping[int, Window], before: Mapping[int, Window], refused: Mapping[int, Mapping[str, int]], at: float
    ) -> None:
        """Compare with what was seen.

        Args:
            now: by minutes of the window, the sums of each agent.
            before: the same for the window of equal length before it.
            refused: by minutes, the calls of each agent that an open breaker refused.
            at: seconds since 1970.
        """
        found: dict[tuple[int, str], Alert] = {}
        for number, rule in enumerate(self.rules.rules):
            window = now.get(rule.minutes, {})
            if rule.when == "breaker":
                alerts = self._breakers(rule, refused.get(rule.minutes, {}), at)
            else:
                alerts = self._figures(rule, window, before.get(rule.minutes, {}), at)
            found.update({(number, alert.agent): alert for alert in alerts if rule.agent in ("", alert.agent)})
        begun = [alert for key, alert in found.items() if key not in self.firing]
        over = [alert for key, alert in self.firing.items() if key not in found]
        self.firing = {key: self.firing.get(key, alert) for key, alert in found.items()}
        for alert in begun:
            self._tell(alert)
        for alert in over:
            text = f"{alert.agent}: no longer: {alert.text.partition(': ')[2]}"
            self._tell(Alert("over", alert.when, alert.agent, None, alert.limit, text, at))

    def _breakers(self, rule: Rule, refused: Mapping[str, int], at: float) -> Iterator[Alert]:
        for agent, n in refused.items():
            if n > rule.above:
                text = f"{agent}: an open breaker refused {n} calls in {rule.minutes} min"
                yield Alert("firing", rule.when, agent, n, rule.above, text, at)

    def _figures(self, rule: Rule, window: Window, before: Window, at: float) -> Iterator[Alert]:
        for agent, sums in window.items():
            figures = figures_of(sums, self._routes)
            if rule.when == "empties":
                calls, empty = sums["calls"], sums["empty"]
                if calls >= rule.least and empty / calls > rule.above:
                    text = f"{agent}: {empty / calls:.0%} of {calls} calls came back empty in {rule.minutes} min"
                    yield Alert("firing", rule.when, agent, empty / calls, rule.above, text, at)
                continue
            if figures.total is None or sum(figures.n.values()) < rule.least:
                continue
            if rule.when == "band" and _ORDER[figures.band] < _ORDER[rule.below]:
                limit = self._routes.thresholds.healthy if rule.below == "healthy" else self._routes.thresholds.degraded
                text = f"{agent}: ReachScore {figures.total:.2f} ({figures.band}) over {rule.minutes} min"
                yield Alert("firing", rule.when, agent, figures.total, limit, text, at)
            elif rule.when == "drift" and agent in before:
                earlier = figures_of(before[agent], self._routes)
                if (
                    earlier.total is not None
                    and sum(earlier.n.values()) >= rule.least
                    and earlier.total - figures.total > rule.drop
                ):
                    text = f"{agent}: ReachScore fell from {earlier.total:.2f} to {figures.total:.2f} within {rule.minutes} min"
                    yield Alert("firing", rule.when, agent, figures.total, rule.drop, text, at)

    def _tell(self, alert: Alert) -> None:
        log.warning("%s: %s", alert.state, alert.text)
        record = asdict(alert)
        if self.rules.panel:
            record["link"] = f"{self.rules.panel.rstrip('/')}/?{urlencode({'agent': alert.agent, 'until': ceil(alert.at)})}"
        if self.rules.log is not None:
            try:
                with self.rules.log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(record, ensure_ascii=False) + "\n")
            except OSError as error:
                log.warning("cannot append to %s: %s", self.rules.log, error.strerror)
        if self.rules.webhook:
            threading.Thread(target=_post, args=(self.rules.webhook, record), daemon=True).start()


def _post(url: str, alert: dict[str, Any]) -> None:
    request = urllib.request.Request(url, json.dumps(alert).encode(), {"Content-Type": "application/json"})
    try:
        urllib.request.urlopen(request, timeout=_TIMEOUT).close()
    except (OSError, ValueError) as error:
        log.warning("the webhook did not take an alert: %s", type(error).__name__)
