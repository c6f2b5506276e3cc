"""A tool, and everything behind it, is out of reach outside of its mounts, whichever way it is reached."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from turnkeeper import AgentTurn, ArtifactRef, ManifestRef, PointerRef, Principal, Role, ToolCall, Turnkeeper
from turnkeeper.errors import RunNotFound, ScopeDenied, SessionNotFound
from turnkeeper.keeping.scoping import Pin
from turnkeeper.model.mount import MountKind
from turnkeeper.model.principal import LOCAL
from turnkeeper.model.session import Session
from turnkeeper.server.app import create_app
from turnkeeper.server.identities import Identity, StaticIdentities, hash_of


@dataclass(frozen=True)
class Stock:
    """A pointer with one file, and the hashes behind it."""

    pointer: str
    manifest: str
    artifact: str


async def stock(keeper: Turnkeeper, name: str, text: str) -> Stock:
    artifact = await keeper.artifacts.keep(text.encode(), media_type="text/plain")
    manifest, _ = await keeper.manifests.create({"a.txt": artifact.sha256})
    pointer = await keeper.pointers.create(name, manifest=manifest.sha256)
    return Stock(pointer.id, manifest.sha256, artifact.sha256)


class Plugin:
    """Tools of somebody who thought of no check at all."""

    def __init__(self, keeper: Turnkeeper) -> None:
        self.reached: list[str] = []

        @keeper.tool("files.pointer.read")
        async def by_pointer(call: ToolCall, pointer: PointerRef) -> str:
            self.reached.append(pointer)
            return (await call.substrate.read(pointer, "a.txt")).decode()

        @keeper.tool("files.manifest.read")
        async def by_manifest(call: ToolCall, manifest: ManifestRef) -> int:
            self.reached.append(manifest)
            return len(await call.substrate.manifest(manifest))

        @keeper.tool("files.artifact.read")
        async def by_artifact(call: ToolCall, artifact: ArtifactRef) -> str:
            self.reached.append(artifact)
            return (await call.substrate.artifact(artifact)).decode()

        @keeper.tool("files.any.read")
        async def hidden(call: ToolCall, what: str) -> str:
            """Names what it reaches for as plain text."""
            found: list[bytes] = []
            for read in (call.substrate.read(what, "a.txt"), call.substrate.artifact(what)):
                try:
                    found.append(await read)
                except ScopeDenied:
                    continue
            return found[0].decode() if found else "nothing"


@pytest.fixture
async def mine(keeper: Turnkeeper) -> Stock:
    return await stock(keeper, "mine", "in reach")


@pytest.fixture
async def others(keeper: Turnkeeper) -> Stock:
    return await stock(keeper, "others", "out of reach")


async def a_session(keeper: Turnkeeper, agent: str, mine: Stock) -> Session:
    session = await keeper.create_session(agent=agent)
    return await keeper.scoping.pin(session.id, Pin(kind=MountKind.POINTER, id=mine.pointer))


CALLS = (("files.pointer.read", "pointer"), ("files.manifest.read", "manifest"), ("files.artifact.read", "artifact"))


async def test_nyqst_44_45_46_48_49_a_plugin_without_a_check_reads_what_is_mounted_and_nothing_else(
    keeper: Turnkeeper, mine: Stock, others: Stock
) -> None:
    plugin = Plugin(keeper)
    nowhere = Stock("ptr_nowhere", "0" * 64, "1" * 64)
    said: list[tuple[str, str]] = []

    @keeper.agent("reader")
    async def reader(turn: AgentTurn) -> str:
        for each in (mine, others, nowhere):
            for tool, name in CALLS:
                result = await turn.call_with(tool, {name: getattr(each, name)})
                said.append((result.status.value, result.message or str(result.data)))
            for what in (each.pointer, each.artifact):
                said.append(("hidden", (await turn.call("files.any.read", what=what)).data))
        return "done"

    session = await a_session(keeper, "reader", mine)
    await keeper.chat("Read", session_id=session.id)

    denied = ("denied", "This session has no such resource. Use one that is mounted to it.")
    assert said[:5] == [
        ("ok", "in reach"),
        ("ok", "1"),
        ("ok", "in reach"),
        ("hidden", "in reach"),
        ("hidden", "in reach"),
    ]
    assert said[5:] == [*[denied] * 3, ("hidden", "nothing"), ("hidden", "nothing")] * 2
    assert plugin.reached == [mine.pointer, mine.manifest, mine.artifact]


async def test_an_agent_in_a_thread_is_held_to_the_same(keeper: Turnkeeper, mine: Stock, others: Stock) -> None:
    Plugin(keeper)

    @keeper.agent("sync")
    def sync(turn: AgentTurn) -> str:
        return " ".join(turn.call("files.pointer.read", pointer=each.pointer).status for each in (mine, others))

    session = await a_session(keeper, "sync", mine)

    assert (await keeper.chat("Read", session_id=session.id)).text == "ok denied"


async def test_what_an_agent_does_by_itself_is_held_to_the_same(keeper: Turnkeeper, mine: Stock, others: Stock) -> None:
    @keeper.agent("itself")
    async def itself(turn: AgentTurn) -> str:
        lines = []
        for each in (mine, others):
            for read in (
                turn.substrate.read(each.pointer, "a.txt"),
                turn.substrate.manifest(each.manifest),
                turn.substrate.artifact(each.artifact),
                turn.substrate.advance(each.pointer, each.manifest),
            ):
                try:
                    await read
                except ScopeDenied as denied:
                    lines.append(denied.denial.value)
                else:
                    lines.append("ok")
        return " ".join(lines)

    session = await a_session(keeper, "itself", mine)
    reply = await keeper.chat("Read", session_id=session.id)

    assert reply.text == "ok ok ok ok" + " out_of_scope" * 4
    assert "denied.out_of_scope" in reply.warnings


async def test_discovery_offers_only_what_the_session_has_something_for(keeper: Turnkeeper, mine: Stock) -> None:
    Plugin(keeper)
    keeper.agent("reader")(lambda turn: "")
    bare = await keeper.create_session(agent="reader")
    session = await a_session(keeper, "reader", mine)

    offered = {spec.name for spec in await keeper.tools_of(session.id)}

    assert offered - {spec.name for spec in await keeper.tools_of(bare.id)} == {"files.pointer.read"}


@asynccontextmanager
async def bound(keeper: Turnkeeper, session: Session) -> AsyncIterator[httpx2.AsyncClient]:
    """The services over HTTP, with a token that is bound to a session."""
    agent = Principal(tenant=LOCAL.tenant, user=LOCAL.user, role=Role.AGENT, session_id=session.id)
    app = create_app(keeper, StaticIdentities([Identity(token_hash=hash_of("agent-token"), principal=agent)]))
    headers = {"Authorization": "Bearer agent-token"}
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://house/api/v1", headers=headers) as client:
        yield client


async def test_a_token_that_is_bound_to_a_session_reaches_what_the_session_reaches(
    keeper: Turnkeeper, mine: Stock, others: Stock
) -> None:
    session = await a_session(keeper, "echo", mine)
    other_session = await keeper.create_session(agent="echo")

    def paths(each: Stock) -> list[str]:
        return [
            f"/pointers/{each.pointer}",
            f"/pointers/{each.pointer}/resolve",
            f"/manifests/{each.manifest}",
            f"/manifests/{each.manifest}/entries",
            f"/artifacts/{each.artifact.upper()}/content",
        ]

    async def tried(client: httpx2.AsyncClient, path: str) -> tuple[int, Any]:
        answer = await client.get(path)
        return answer.status_code, answer.json().get("code") if answer.status_code != 200 else None

    async with bound(keeper, session) as client:
        assert [await tried(client, path) for path in paths(mine)] == [(200, None)] * 5
        assert [await tried(client, path) for path in paths(others)] == [(403, "scope_denied")] * 5
        assert await tried(client, f"/sessions/{session.id}") == (200, None)
        assert await tried(client, f"/sessions/{session.id}/tools") == (200, None)
        assert (await tried(client, f"/sessions/{other_session.id}"))[0] == 404
        for path in ("/sessions", "/pointers", "/kbs", "/approvals", "/audit", f"/manifests/{mine.manifest}/diff"):
            assert await tried(client, path) == (403, "scope_denied"), path
        for path, body in (
            ("/chat", {"message": "Hi", "session_id": session.id}),
            (f"/sessions/{session.id}/close", None),
            (f"/pointers/{mine.pointer}/advance", {"manifest": others.manifest}),
        ):
            assert (await client.post(path, json=body)).status_code == 403, path

        await keeper.scoping.unpin(session.id, Pin(kind=MountKind.POINTER, id=mine.pointer).ref)
        assert [await tried(client, path) for path in paths(mine)] == [(403, "scope_denied")] * 5


async def test_a_principal_that_is_bound_to_a_session_has_no_other_by_any_face(keeper: Turnkeeper, mine: Stock) -> None:
    session, other = await a_session(keeper, "echo", mine), await keeper.create_session(agent="echo")
    theirs = await keeper.chat("Hello", session_id=other.id)
    agent = Principal(tenant=LOCAL.tenant, user=LOCAL.user, role=Role.AGENT, session_id=session.id)

    with pytest.raises(SessionNotFound):
        await keeper.chat("Hi", session_id=other.id, principal=agent)
    with pytest.raises(SessionNotFound):
        await keeper.chat("Hi", principal=agent)
    with pytest.raises(RunNotFound):
        await keeper.cancel(theirs.run_id, principal=agent)
