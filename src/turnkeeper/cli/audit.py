"""Reading and proving the audit from the terminal."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from turnkeeper.cli.local import local_file_of
from turnkeeper.cli.say import complain, counting
from turnkeeper.cli.settled import own_settings
from turnkeeper.cli.showing import NOTHING_FITS, put_json, put_rows
from turnkeeper.errors import TurnkeeperError
from turnkeeper.keeper import Turnkeeper
from turnkeeper.keeping.audit import Audited, AuditQuery
from turnkeeper.ledger.audit import Verdict
from turnkeeper.model.ids import TenantId
from turnkeeper.model.principal import LOCAL, Principal, Role
from turnkeeper.settings import Settings


def verify(*, database: str | None, tenant: str | None) -> int:
    try:
        settings = own_settings(database=database)
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


def show(
    *, database: str | None, tenant: str, facts: Mapping[str, str], refused: bool, limit: int, as_json: bool
) -> int:
    """The newest entries that fit, one a line, newest first."""
    query = AuditQuery(facts=facts, refused=True if refused else None)
    return _looking(database, partial(_show, tenant=tenant, query=query, limit=limit, as_json=as_json))


def show_reasons(*, database: str | None, tenant: str, as_json: bool) -> int:
    return _looking(database, partial(_show_reasons, tenant=tenant, as_json=as_json))


def export(*, database: str | None, tenant: str) -> int:
    """Every entry of a tenant as a line of JSON."""
    return _looking(database, partial(_export, tenant=tenant))


async def _show_reasons(keeper: Turnkeeper, *, tenant: str, as_json: bool) -> None:
    told = await keeper.audit.reasons(principal=_operator(tenant))
    if as_json:
        from turnkeeper.server.audit import RefusalsOut

        put_json(RefusalsOut.of(told).model_dump(mode="json"))
        return
    rows = [[str(each.count), each.reason, f"last {each.last_at:%Y-%m-%d %H:%M:%S}"] for each in told.items]
    put_rows(rows, none="Nothing was refused.")


async def _show(keeper: Turnkeeper, *, tenant: str, query: AuditQuery, limit: int, as_json: bool) -> None:
    found = await keeper.audit.find(query, principal=_operator(tenant), limit=limit)
    if as_json:
        from turnkeeper.server.audit import AuditOut

        put_json([AuditOut.of(each).model_dump(mode="json") for each in found])
        return
    none = NOTHING_FITS if query != AuditQuery() else "There are no entries yet; the first message makes one."
    put_rows([_row(each) for each in found], none=none)


def _row(entry: Audited) -> list[str]:
    names = ("user", "channel", "session_id", "run_id", "request_id", "stage")
    about = [f"{name} {value}" if (value := entry.facts.get(name)) else "" for name in names]
    return [f"{entry.at:%Y-%m-%d %H:%M:%S}", entry.facts["verb"], entry.facts["outcome"], *about]


async def _export(keeper: Turnkeeper, *, tenant: str) -> None:
    async for line in keeper.audit.export(principal=_operator(tenant)):
        print(line)


def _operator(tenant: str) -> Principal:
    """Who can open the database can read everything in it."""
    return Principal(tenant=TenantId(tenant), user=LOCAL.user, role=Role.OWNER)


def _looking(database: str | None, look: Callable[[Turnkeeper], Coroutine[Any, Any, None]]) -> int:
    try:
        settings = own_settings(database=database)
    except ValueError as error:
        return complain(str(error))
    path = local_file_of(settings)
    if path is not None and not path.exists():
        return complain(f"There is no database {path}. Name one with --database.")

    async def looked() -> None:
        async with Turnkeeper(settings).looking_in() as keeper:
            await look(keeper)

    try:
        asyncio.run(looked())
    except TurnkeeperError as error:
        return complain(error.detail, code=1)
    return 0


async def _verdict(settings: Settings, tenant: str | None) -> Verdict:
    async with Turnkeeper(settings).looking_in() as keeper:
        return await keeper.verify_audit(tenant)
