"""Bring a database up to the newest schema, one numbered step after another."""

from __future__ import annotations

from collections.abc import Callable

from agent_reach.errors import StoreError
from agent_reach.store.port import Row
from agent_reach.store.schema import DATABASE, TTL_DAYS, applied, ledger, migrations


def migrate(run: Callable[[str], list[Row]], use: Callable[[str], object], *, ttl_days: int = TTL_DAYS) -> None:
    """Apply what is missing.

    Args:
        run: executes one statement and gives its rows.
        use: makes a database the current one for `run`.
        ttl_days: after which rows are dropped.

    Raises:
        StoreError: a newer agent-reach made this database.
    """
    run(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
    use(DATABASE)
    run(ledger())
    steps = migrations(ttl_days=ttl_days)
    known = {int(row["number"]) for row in run(f"SELECT number FROM {DATABASE}.reach_migrations")}
    unknown = known - {step.number for step in steps}
    if unknown:
        raise StoreError(f"the database has migration {max(unknown)}, which this version does not know; upgrade agent-reach-sdk")
    for step in steps:
        if step.number in known:
            continue
        for statement in step.statements:
            run(statement)
        run(applied(step))
