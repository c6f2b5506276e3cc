"""Two identities probe every route of the OpenAPI document: nothing of one tenant is seen or changed by the other.

A stranger's question about something that is there must look like one about something that never was: by its status,
by its body, and by the stream it does not get.
"""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.server.world import ACME, MARKER, PREFIX, a_world

_ULID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
_HASH = re.compile(r"[0-9a-f]{64}|[0-9a-f]{32}")
_REQUEST = re.compile(r"req_[0-9a-f]+")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)?")


def plain(text: str) -> str:
    for pattern in (_ULID, _HASH, _REQUEST, _MOMENT):
        text = pattern.sub("*", text)
    return text


def phantom(id: str) -> str:
    """An id of the same shape that nothing has."""
    if _HASH.fullmatch(id):
        return id[:-8] + ("0" * 8 if not id.endswith("0" * 8) else "1" * 8)
    if _ULID.search(id):
        return id[:-8] + "ZZZZZZZZ"
    return id if id.isdigit() or id in FREE else id + GHOST


GHOST = "-ghost"
FREE = {"default", "webhook", "STICKY_INTENT"}
"""Words that everybody uses."""


def rows_of(database: Path, tenant: str) -> dict[str, list[Any]]:
    """Everything that is kept for a tenant, but for the audit, which also tells of what was refused."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        kept = {}
        for table in tables:
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            if "tenant" in columns and table not in ("audit", "buckets") and not table.startswith("unit_search"):
                found = connection.execute(f"SELECT * FROM {table} WHERE tenant = ?", (tenant,))
                kept[table] = sorted(found.fetchall(), key=repr)
        return kept


async def test_nyqst_68_a_stranger_can_tell_nothing_of_another_tenant_by_any_route(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        nothing = {name: phantom(id) for name, id in world.ids.items()}
        before = rows_of(world.database, ACME)
        asked = 0
        for operation in world.operations():
            unknown = [name for name in operation.names if name not in world.ids]
            assert unknown == [], f"{operation.path} asks for {unknown}: give the test one of ada's"
            real, ghost = [await world.ask("gus", operation, ids) for ids in (world.ids, nothing)]

            where = f"{operation.method} {operation.path}"
            assert real[0] == ghost[0], (where, real, ghost)
            if operation.names or real[0] >= 400:  # What gus makes and lists himself differs by itself.
                assert plain(real[1]) == plain(ghost[1]).replace(GHOST, ""), where
            assert MARKER not in real[1], where
            assert real[0] < 500, where
            asked += 1

        assert rows_of(world.database, ACME) == before
    assert asked > 100


async def test_a_colleague_sees_nothing_of_a_session_that_is_not_theirs(tmp_path: Path) -> None:
    of_sessions = ("session_id", "run_id", "approval_id")
    async with a_world(tmp_path) as world:
        before = {table: rows for table, rows in rows_of(world.database, ACME).items() if table != "layouts"}
        asked = 0
        for operation in world.operations():
            if not set(of_sessions) & set(operation.names):
                continue
            status, body = await world.ask("cora", operation, world.ids)

            assert status in (404, 422), (operation, status, body)
            assert MARKER not in body
            asked += 1

        after = rows_of(world.database, ACME)
        assert {table: after[table] for table in before} == before
    assert asked >= 40


async def test_what_a_tenant_lists_is_its_own(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        for path in ("/sessions", "/approvals", "/pointers", "/kbs", "/projects", "/users", "/audit"):
            own = (await world.clients["ada"].get(f"{PREFIX}{path}")).text
            foreign = (await world.clients["gus"].get(f"{PREFIX}{path}")).text

            assert json.loads(own)["items"], path
            assert not [id for id in world.ids.values() if _ULID.search(id) and id in foreign], path
