"""Proving the audit from the terminal."""

import asyncio
import os
from pathlib import Path

from turnkeeper.cli.say import complain, counting
from turnkeeper.errors import TurnkeeperError
from turnkeeper.keeper import Turnkeeper
from turnkeeper.ledger.audit import Verdict
from turnkeeper.settings import Settings, settings_from


def verify(*, database: str | None, tenant: str | None) -> int:
    try:
        settings = settings_from(os.environ, database=database)
    except ValueError as error:
        return complain(str(error))
    path = local_file_of(settings)
    if path is not None and not path.exists():
        return complain(f"There is no database {path}. Name one with --database.")
    try:
        verdict = asyncio.run(_verdict(settings, tenant))
    except TurnkeeperError as error:
        return complain(error.detail, code=1)
    for fault in verdict.faults:
        print(fault)
    counted = (
        f"{counting(verdict.entries, 'entry', 'entries')} in {counting(verdict.chains, 'chain', 'chains')}, "
        f"{counting(verdict.anchors, 'anchor', 'anchors')}"
    )
    print(f"The audit holds: {counted}." if verdict.holds else f"The audit does not hold: {counted}.")
    return 0 if verdict.holds else 1


async def _verdict(settings: Settings, tenant: str | None) -> Verdict:
    async with Turnkeeper(settings).looking_in() as keeper:
        return await keeper.verify_audit(tenant)


def local_file_of(settings: Settings) -> Path | None:
    """The file of a SQLite database; None for a database on a server."""
    if "://" in settings.database and not settings.database.startswith("sqlite:///"):
        return None
    return Path(settings.database.removeprefix("sqlite:///"))
