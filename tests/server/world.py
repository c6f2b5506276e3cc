"""A house with two tenants, one of which has one thing of each kind, and everyone who may ask for them."""

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from fastapi import FastAPI

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
    "/console/{path}",
    "/docs",
    "/docs/{file}",
    f"{PREFIX}/schemas",
    f"{PREFIX}/schemas/{{name}}",
}


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
    app: FastAPI
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


@asynccontextmanager
async def a_world(tmp_path: Path) -> AsyncIterator[World]:
    database = tmp_path / "conversations.db"
    async with Turnkeeper.open(database, default_agent="echo", failed_tokens=100_000) as keeper:
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
        yield World(keeper, app, database, app.openapi(), clients, ids)
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
    key = (await made("POST", "/keys", {"name": MARKER, "user": "dora"}))["id"]
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
        "key_id": key,
        "seal_id": seal,
        "token": "a token of nobody",
        "receipt_id": "rcpt_01ARZ3NDEKTSV4RRFFQ69G5FAV",
    }
