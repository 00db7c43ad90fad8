"""pytest: a watched agent in a test, and what it has to reach.

Example:
    def test_refunds_reach_their_tool(reach, assert_reach):
        app.invoke(question, config={"callbacks": [reach.tracker]})
        assert_reach(candidate=0.9, intent="refund")

    @pytest.mark.reach(topology="refund.yaml", runs=10, min_gate=0.7)
    def test_refunds_are_made(reach):
        return make_agent(reach)          # the agent of one run, or agent and state
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from agent_reach import Reach

_SHOWN = 10


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("reach_routes", "route table (YAML) of the `reach` fixture, relative to the root of the tests", default="")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "reach(topology, runs=5, min_gate=1.0, **options): the test returns an agent to evaluate; options as for `Evaluation`",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is marked with `reach` makes the agents of an evaluation."""
    marker = pyfuncitem.get_closest_marker("reach")
    if marker is None:
        return None
    evaluate_marked(pyfuncitem, marker)
    return True


def evaluate_marked(item: pytest.Function, marker: pytest.Mark) -> None:
    """Evaluate the agent that a marked test returns; fails, and shows where runs broke, when too few pass the gate.

    A share that only so few runs reached warns: more of them would have to settle it.

    Raises:
        ContractError: an argument of the mark is wrong.
    """
    from agent_reach.errors import ContractError
    from agent_reach.evaluate import Evaluation
    from agent_reach.evaluation.summary import falls_short, summary

    options = {"runs": 5, "min_gate": 1.0, **marker.kwargs}
    if marker.args or "topology" not in options:
        raise ContractError("pytest.mark.reach", "topology=…, and what `Evaluation` takes", marker.args or sorted(options))
    limit = float(options.pop("min_gate"))
    topology = _beside(options.pop("topology"), item.path.parent, item.config.rootpath)
    given = {name: item.funcargs[name] for name in item._fixtureinfo.argnames if name != "reach"}

    def make(reach: Reach) -> Any:
        takes = {"reach": reach} if "reach" in item._fixtureinfo.argnames else {}
        return item.obj(**given, **takes)

    options.setdefault("agent", item.name)
    record = summary(Evaluation(topology, make, **options).run(), min_gate=limit)
    if falls_short(record, limit):
        pytest.fail("\n".join(_verdict(record)), pytrace=False)
    if record["gate"]["verdict"] == "insufficient runs" and limit < 1:
        item.warn(pytest.PytestWarning(_verdict(record)[0]))


def _beside(topology: Any, folder: Path, root: Path) -> Any:
    """A path is looked for beside the test, then at the root of the tests."""
    if not isinstance(topology, str | Path):
        return topology
    return folder / topology if (folder / topology).exists() else root / topology


def _verdict(record: Any) -> list[str]:
    from agent_reach.evaluation.report.words import gate, share

    lines = [gate(record["gate"], record["runs"])] if record["runs"] else ["no run was made"]
    for task in record["by_task"]:
        failed = [run for run in task.get("by_run", ()) if not run["gate"]]
        for run in failed[:_SHOWN]:
            why = run["broke"][0]["reasons"] if run["broke"] else [run["reason"] or "no signal"]
            lines.append(f"  {task['task']}, run {run['run']}, {run['ended']}, SC {share(run['composite'])}: {'; '.join(why)}")
    return [*lines, *(f"  note: {note}" for note in (*record["notes"], *record["broken"]))]


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
