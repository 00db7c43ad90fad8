"""What of a task can be reached now, before an agent starts: tools, knowledge, other agents, parameters."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from agent_reach.contracts import HandoffContract
from agent_reach.contracts.registry import Goal, Registry
from agent_reach.live.probes import answer
from agent_reach.planning import Plan
from agent_reach.planning.explain import ideal, why_not
from agent_reach.planning.facts import Facts
from agent_reach.planning.problem import Situation, closure_of, way

Kind = Literal["tool", "knowledge", "agent", "parameter"]

DEADLINE: Final = 2.0


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether one thing can be reached now.

    Attributes:
        kind, name: what.
        ok: it can.
        reason: why not, to follow "which".
    """

    kind: Kind
    name: str
    ok: bool
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {'ok' if self.ok else self.reason}"


@dataclass(frozen=True, slots=True)
class Preflight:
    """Whether a task can be begun.

    Attributes:
        findings: of everything that the task needs.
        plan: the way to the goal with what can be reached.
        explanation: why there is none, `""` when there is.
    """

    findings: tuple[Finding, ...]
    plan: Plan
    explanation: str = ""

    @property
    def ok(self) -> bool:
        """The goal can be reached, and so can the knowledge and the agents that it names."""
        return self.plan.verdict != "not" and all(each.ok for each in self.findings if each.kind in ("knowledge", "agent"))

    @property
    def down(self) -> dict[str, str]:
        """Tools that cannot be called now, with why."""
        return {each.name: each.reason for each in self.findings if each.kind == "tool" and not each.ok}

    def __str__(self) -> str:
        lines = [str(each) for each in self.findings]
        way_there = ", ".join(self.plan.calls) or "nothing is left to do"
        lines.append(self.explanation or f"{self.plan.verdict}ly reachable: {way_there}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known of the outside without asking.

    Attributes:
        registered: tools that the agent has; None when that is not known.
        breakers: seconds until each open breaker lets a call through.
        doubtful: tools that are likely to fail.
        contracts: of handoffs, by receiver.
        environment: variables, by name.
        now: nanoseconds since 1970.
    """

    registered: frozenset[str] | None = None
    breakers: Mapping[str, float] = field(default_factory=dict)
    doubtful: frozenset[str] = frozenset()
    contracts: Mapping[str, HandoffContract] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    now: int = 0


async def preflight(
    registry: Registry, goal: Goal, around: Surroundings, facts: Facts | None, *, deadline: float = DEADLINE
) -> Preflight:
    """Ask all probes at once, and search the way to the goal with what answers.

    Args:
        registry: of the tools.
        goal: of the task.
        around: what is known without asking.
        facts: that the task begins with; None when that is not known yet, and all that is `given` is taken to be.
        deadline: seconds after which a probe that has not answered counts as one that cannot be reached.
    """
    needed = [name for name in registry.tools if name in closure_of(registry, goal).tools]
    asked: list[tuple[Kind, str, str, Callable[[], Any] | None]] = [
        ("tool", name, _tool_down(registry, name, around), registry.tools[name].probe) for name in needed
    ]
    for kind, names, sources in (("knowledge", goal.knowledge, registry.knowledge), ("agent", goal.agents, registry.agents)):
        for name in names:
            source = sources[name]
            reason = _without_credentials(source.credentials, around.environment)
            reason = reason or (_contract_unfit(registry, name, around, facts) if kind == "agent" else "")
            asked.append((kind, name, reason, source.probe))  # type: ignore[arg-type]
    answers = await asyncio.gather(*(_probe(kind, reason, probe, deadline) for kind, _, reason, probe in asked))
    findings = [Finding(kind, name, not reason, reason) for (kind, name, _, _), reason in zip(asked, answers, strict=True)]
    findings += _parameters(registry, goal, facts)
    down = {each.name: each.reason for each in findings if each.kind == "tool" and not each.ok}
    begun = facts if facts is not None else ideal(registry).facts
    situation = Situation(begun, down=down, doubtful=around.doubtful, now=around.now)
    return Preflight(tuple(findings), way(registry, goal, situation), why_not(registry, goal, situation))


def _tool_down(registry: Registry, name: str, around: Surroundings) -> str:
    if around.registered is not None and name not in around.registered:
        return "which is not registered with the agent"
    if name in around.breakers:
        return f"whose breaker is open for another {around.breakers[name]:.0f} s"
    return _without_credentials(registry.tools[name].credentials, around.environment)


def _without_credentials(names: Iterable[str], environment: Mapping[str, str]) -> str:
    absent = [name for name in names if not environment.get(name)]
    return f"whose credentials are not set ({', '.join(absent)})" if absent else ""


async def _probe(kind: Kind, reason: str, probe: Callable[[], Any] | None, deadline: float) -> str:
    """Why it cannot be reached; a probe is not asked about what is known to be out of reach."""
    if reason or probe is None:
        return reason
    try:
        found = await answer(probe, seconds=deadline)
    except TimeoutError:
        return f"whose probe did not answer within {deadline:g} s"
    except Exception as error:  # noqa: BLE001 - a user's probe may raise anything
        return f"whose probe raised {type(error).__name__}: {error}"
    if kind == "knowledge" and type(found) in (int, float):
        return "" if found > 0 else "which is empty"
    return "" if found or found is None else "whose probe says no"


def _contract_unfit(registry: Registry, agent: str, around: Surroundings, facts: Facts | None) -> str:
    """Parameters that the agent's handoff contract requires and nothing can ever tell it."""
    contract = around.contracts.get(agent)
    if contract is None:
        return ""
    names = {*registry.given, *(fact for tool in registry.tools.values() for fact in tool.effects)}
    names |= {fact.name for fact in facts or ()}
    known = {name.replace(".", "_") for name in names} | {name.rpartition(".")[2] for name in names}
    lacking = [parameter for parameter in contract.parameters if parameter not in known]
    return f"whose contract requires {', '.join(lacking)}, which nothing here gives" if lacking else ""


def _parameters(registry: Registry, goal: Goal, facts: Facts | None) -> list[Finding]:
    """Facts from outside that the task needs, when it is known what it begins with."""
    if facts is None:
        return []
    closure = closure_of(registry, goal)
    needed = [name for name in registry.given if any(c.fact == name for c in closure.conditions)]
    return [Finding("parameter", name, facts.holds(name), "" if facts.holds(name) else "which nobody has given") for name in needed]
