"""pytest: a watched agent in a test, and what it has to reach.

Example:
    def test_refunds_reach_their_tool(reach, assert_reach):
        app.invoke(question, config={"callbacks": [reach.tracker]})
        assert_reach(candidate=0.9, intent="refund")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from agent_reach import Reach

_SHOWN = 10


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("reach_routes", "route table (YAML) of the `reach` fixture, relative to the root of the tests", default="")


@pytest.fixture
def reach_routes(request: pytest.FixtureRequest) -> Any:
    """The route table of the `reach` fixture: the file that `reach_routes` in the ini file names; override it for another one."""
    named = request.config.getini("reach_routes")
    return request.config.rootpath / str(named) if named else None


@pytest.fixture
def reach(reach_routes: Any) -> Iterator[Reach]:
    """A `Reach` that only observes, with the route table of `reach_routes`."""
    from agent_reach import Reach

    watching = Reach(reach_routes)
    yield watching
    watching.shutdown()


@pytest.fixture
def assert_reach(reach: Reach) -> Callable[..., None]:
    """Fails, and shows the misses, when a reach rate of what `reach` saw is lower than wanted.

    Takes any of `candidate`, `precise`, `first`, `decision`, `execution` and `reach` (candidates with alternative paths) as
    shares from 0 to 1, and `intent`, without which all units with a route count.
    """

    def check(*, intent: str = "", **least: float) -> None:
        __tracebackhide__ = True
        reach.runtime.evaluator.end_all()
        if not least:
            raise ValueError("assert_reach: expected a figure, such as candidate=0.9")
        short = [text for figure, share in least.items() if (text := _short(reach, figure, share, intent))]
        if short:
            pytest.fail("\n".join([*short, *_misses(reach, intent)]), pytrace=False)

    return check


def _short(reach: Reach, figure: str, least: float, intent: str) -> str:
    if not 0 <= least <= 1:
        raise ValueError(f"assert_reach: {figure}: expected a share from 0 to 1, found {least!r}")
    rates = reach.rates.rates(figure, ["intent"] if intent else [])
    rate = rates.get((intent,) if intent else ())
    of = f" of intent {intent!r}" if intent else ""
    if rate is None or rate.value is None:
        known = sorted(reach.routes.intents) or "no route table"
        return f"{figure}{of}: no unit with a route closed (intents: {known}; was the agent run with reach.tracker?)"
    if rate.value >= least:
        return ""
    return f"{figure}{of}: {rate.value:.2f} ({rate.hits} of {rate.n}), expected at least {least:.2f}"


def _misses(reach: Reach, intent: str) -> list[str]:
    misses = [miss for miss in reach.rates.misses if not intent or miss.cell.intent == intent]
    lines = [
        f"  session {miss.session}, turn {miss.turn}: {miss.cell.intent} needed {miss.cell.tool}, "
        f"called {', '.join(miss.called) or 'nothing'} ({miss.reason})"
        for miss in misses[:_SHOWN]
    ]
    return [*lines, *([f"  … and {len(misses) - _SHOWN} more"] if len(misses) > _SHOWN else [])]
