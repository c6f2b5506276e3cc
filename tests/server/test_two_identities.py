"""Two identities probe every route of the OpenAPI document: nothing of one tenant is seen or changed by the other.

A stranger's question about something that is there must look like one about something that never was: by its status,
by its body, and by the stream it does not get.
"""

import json
import re
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.server.agents import set_up
from tests.story.envelopes import HELPDESK
from turnkeeper import Principal, Role, TenantId, Turnkeeper, UserId
from turnkeeper.server.app import create_app
from turnkeeper.server.identities import Identity, StaticIdentities, hash_of

MARKER = "zebra-nine-seven"
ACME, GLOBEX = TenantId("acme"), TenantId("globex")
WHO = {
    "ada": Principal(tenant=ACME, user=UserId("ada"), role=Role.OWNER),
    "cora": Principal(tenant=ACME, user=UserId("cora")),
    "gus": Principal(tenant=GLOBEX, user=UserId("gus"), role=Role.OWNER),
}
PREFIX = "/api/v1"
# Of everyone, or about the caller alone.
HOUSE = {
    "/healthz",
    "/readyz",
    "/metrics",
    "/",
    "/docs",
    "/docs/{file}",
    f"{PREFIX}/schemas",
    f"{PREFIX}/schemas/{{name}}",
}
_ULID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
_HASH = re.compile(r"[0-9a-f]{64}|[0-9a-f]{32}")
_REQUEST = re.compile(r"req_[0-9a-f]+")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)?")


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    body: Mapping[str, Any] | None
    needed: tuple[str, ...]
    """Query parameters without which it does not answer."""

    @property
    def names(self) -> list[str]:
        return re.findall(r"{(\w+)}", self.path)


@dataclass
class World:
    keeper: Turnkeeper
    database: Path
    document: dict[str, Any]
    clients: dict[str, httpx2.AsyncClient]
    ids: dict[str, str]
    """What ada has, by the name under which routes ask for it."""

    def operations(self) -> Iterator[Operation]:
        for path, operations in self.document["paths"].items():
            if path in HOUSE:
                continue
            for method, said in operations.items():
                content = said.get("requestBody", {}).get("content", {})
                schema = content.get("application/json", {}).get("schema")
                needed = [
                    each["name"] for each in said.get("parameters", []) if each["in"] == "query" and each["required"]
                ]
                yield Operation(method.upper(), path, schema, tuple(needed))

    def value(self, schema: Mapping[str, Any], name: str, ids: Mapping[str, str]) -> Any:
        """Something that fits a schema; whatever can name one of ada's things names it."""
        if "$ref" in schema:
            schema = self.document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        if "anyOf" in schema or "oneOf" in schema:
            return self.value((schema.get("anyOf") or schema["oneOf"])[0], name, ids)
        if "const" in schema or "enum" in schema:
            return schema.get("const", schema.get("enum", [None])[0])
        if schema.get("type") == "object" or "properties" in schema:
            wanted = set(schema.get("required", ())) | (schema.get("properties", {}).keys() & ids.keys())
            return {each: self.value(schema["properties"][each], each, ids) for each in sorted(wanted)}
        if schema.get("type") == "array":
            return [self.value(schema.get("items", {}), name.rstrip("s"), ids)]
        plain = {"integer": 1, "number": 1, "boolean": True, "null": None}
        if schema.get("type") in plain:
            return plain[schema["type"]]
        return ids.get(name, "plain")

    async def ask(self, who: str, operation: Operation, ids: Mapping[str, str]) -> tuple[int, str]:
        """The status, and the body without what differs each time."""
        path = re.sub(r"{(\w+)}", lambda found: ids[found[1]], operation.path)
        body = None if operation.body is None else self.value(operation.body, "", ids)
        query = {name: ids.get(name, "plain") for name in operation.needed}
        answer = await self.clients[who].request(operation.method, path, json=body, params=query)
        return answer.status_code, answer.text


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


@asynccontextmanager
async def a_world(tmp_path: Path) -> AsyncIterator[World]:
    database = tmp_path / "conversations.db"
    async with Turnkeeper.open(database, default_agent="echo") as keeper:
        set_up(keeper)
        people = [Identity(token_hash=hash_of(f"token-of-{name}"), principal=who) for name, who in WHO.items()]
        app = create_app(keeper, StaticIdentities(people))
        transport = httpx2.ASGITransport(app)
        clients = {
            name: httpx2.AsyncClient(
                transport=transport,
                base_url="http://house",
                headers={"Authorization": f"Bearer token-of-{name}"},
            )
            for name in WHO
        }
        ids = await everything_of(clients["ada"])
        yield World(keeper, database, app.openapi(), clients, ids)
        for client in clients.values():
            await client.aclose()


async def everything_of(ada: httpx2.AsyncClient) -> dict[str, str]:
    """Make one of each kind, with the marker wherever there is room for words."""

    async def made(method: str, path: str, body: Any = None, **more: Any) -> Any:
        answer = await ada.request(method, f"{PREFIX}{path}", json=body, **more)
        assert answer.status_code < 300, (path, answer.text)
        return answer.json() if answer.content else None

    project = (await made("POST", "/projects", {"name": MARKER}))["id"]
    await made("POST", "/objectives", {"name": MARKER, "project_id": project})
    await made("POST", "/users", {"id": "dora", "name": MARKER})
    await made("PUT", "/agents/private-agent", {"capabilities": [MARKER]})
    await made("PUT", "/models/private-model", {"chat_model": MARKER})
    base = (await made("POST", "/kbs", {"name": MARKER}))["id"]
    source = await made("POST", f"/kbs/{base}/sources", {"name": "a.txt", "content": f"The word is {MARKER}.\n"})
    await made("POST", "/packs", {"files": dict(HELPDESK)})
    artifact = (
        await ada.post(f"{PREFIX}/artifacts", content=MARKER.encode(), headers={"Content-Type": "text/plain"})
    ).json()
    entries = [{"path": f"{MARKER}.txt", "sha256": artifact["sha256"]}]
    manifest = (await made("POST", "/manifests", {"entries": entries, "message": MARKER}))["sha256"]
    pointer = (await made("POST", "/pointers", {"name": "private", "manifest": manifest}))["id"]
    binding = (await made("POST", "/bindings", {"name": MARKER, "channel": "webhook"}))["id"]
    await made("PUT", f"/bindings/{binding}/contacts", {"address": MARKER, "user": "dora"})
    said = await made("POST", "/chat", {"message": f"My word is {MARKER}", "agent": "symbolic"})
    session = said["session_id"]
    units = (await made("GET", f"/sessions/{session}/units"))["items"]
    await made("PUT", f"/sessions/{session}/layout", {"layout": {"word": MARKER}})
    await made("PATCH", f"/sessions/{session}", {"title": MARKER})
    await made("POST", "/chat", {"message": MARKER, "session_id": session, "agent": "clerk"})
    approval = (await made("GET", "/approvals"))["items"][0]["id"]
    seal = (await made("POST", "/seals/rotate"))["id"]
    return {
        "session_id": session,
        "from_session_id": session,
        "run_id": said["run_id"],
        "answers": said["run_id"],
        "turn": "1",
        "unit_id": units[0]["id"] if units else "session::1::unit-001",
        "base_id": base,
        "source_id": source.get("id", "src_1"),
        "pack_id": "helpdesk",
        "ref": "helpdesk",
        "key": "STICKY_INTENT",
        "layer_id": project,
        "project_id": project,
        "user_id": "dora",
        "id": "dora",
        "agent_id": "private-agent",
        "model_id": "private-model",
        "artifact_id": artifact["sha256"],
        "sha256": manifest,
        "manifest": manifest,
        "against": manifest,
        "pointer_id": pointer,
        "pointer": pointer,
        "namespace": "default",
        "name": "private",
        "channel": "webhook",
        "binding": binding,
        "binding_id": binding,
        "delivery_id": "dlv_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "approval_id": approval,
        "key_id": seal,
        "receipt_id": "rcpt_01ARZ3NDEKTSV4RRFFQ69G5FAV",
    }


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
