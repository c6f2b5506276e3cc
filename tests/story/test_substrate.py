"""What agents and persons bring out of sessions."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from turnkeeper import AgentTurn, Settings, Turnkeeper
from turnkeeper.errors import (
    ArtifactNotFound,
    ArtifactsMissing,
    ManifestNotFound,
    NotAllowed,
    PointerMoved,
    PointerNotFound,
    RunEnded,
    RunNotFound,
    ScopeDenied,
    SessionClosed,
    SessionNotFound,
)
from turnkeeper.model.artifact import sha256_of
from turnkeeper.model.event import Event
from turnkeeper.model.ids import TenantId, UserId
from turnkeeper.model.mount import Mount, MountKind, MountMode
from turnkeeper.model.output import OutputKind
from turnkeeper.model.pointer import Expected, Pointer, PointerKind
from turnkeeper.model.principal import LOCAL, Principal, Role
from turnkeeper.model.session import Session, SettingsChange
from turnkeeper.steps.receive import Inbound, Prepared

BEN = Principal(tenant=TenantId("default"), user=UserId("ben"))
GUS = Principal(tenant=TenantId("globex"), user=UserId("gus"), role=Role.OWNER)


async def mounted(keeper: Turnkeeper, *pointers: Pointer, agent: str, manifest: str | None = None) -> Session:
    """A session with these pointers mounted."""
    session = await keeper.create_session(agent=agent)
    mode = MountMode.FOLLOW if manifest is None else MountMode.FIXED
    mounts = tuple(
        Mount(kind=MountKind.POINTER, id=each.id, mounted_at=session.created_at, mode=mode, manifest=manifest)
        for each in pointers
    )
    return await keeper.change_session(session.id, SettingsChange(mounts=mounts))


async def a_bundle(keeper: Turnkeeper, name: str = "report", **files: str) -> Pointer:
    kept = {path: await keeper.artifacts.keep(text.encode()) for path, text in files.items()}
    manifest, _ = await keeper.manifests.create(kept)
    return await keeper.pointers.create(name, manifest=manifest.sha256)


async def test_nyqst_44_61_an_agent_reads_a_mounted_pointer_and_publishes_to_it(keeper: Turnkeeper) -> None:
    pointer = await a_bundle(keeper, intro="Once upon a time")

    @keeper.agent("author")
    async def author(turn: AgentTurn) -> str:
        begun = (await turn.substrate.read("default/report", "intro")).decode()
        chapter = await turn.substrate.emit(b"The end.", path="end", media_type="text/plain")
        entries = {each.path: each.sha256 for each in await turn.substrate.entries(pointer.id)}
        published = await turn.substrate.publish(entries | {"end": chapter}, pointer=pointer.id, message="Ended")
        assert published.manifest is not None
        return f"{begun} ... {(await turn.substrate.read(pointer.id, 'end')).decode()}"

    session = await mounted(keeper, pointer, agent="author")
    reply = await keeper.chat("Finish it", session_id=session.id)
    outputs = await keeper.substrate.outputs(session.id, run_id=reply.run_id)
    run = await keeper.run(reply.run_id)
    moved = await keeper.pointers.get(pointer.id)

    assert reply.text == "Once upon a time ... The end."
    assert [each.kind for each in outputs] == [OutputKind.ARTIFACT, OutputKind.MANIFEST, OutputKind.POINTER]
    assert outputs[2].data["new"] == moved.manifest
    assert run.account is not None
    assert run.account["manifests"] == {pointer.id: moved.manifest}
    assert (await keeper.pointers.history(pointer.id))[0].run_id == run.id


async def test_nyqst_45_46_what_is_not_mounted_is_denied_like_what_does_not_exist(keeper: Turnkeeper) -> None:
    hidden = await a_bundle(keeper, "hidden", secret="a secret")
    denials = []

    @keeper.agent("nosy")
    async def nosy(turn: AgentTurn) -> str:
        for pointer in (hidden.id, "default/hidden", "ptr_nobody", "default/nobody"):
            try:
                await turn.substrate.read(pointer, "secret")
            except ScopeDenied as denied:
                denials.append((denied.code, denied.detail))
        for reading in (turn.substrate.manifest(hidden.manifest or ""), turn.substrate.artifact("0" * 64)):
            try:
                await reading
            except ScopeDenied as denied:
                denials.append((denied.code, denied.detail))
        return "never mind"

    reply = await keeper.chat("Look around", agent="nosy")
    frames = [frame async for frame in keeper.follow(await keeper.run(reply.run_id))]

    assert len(denials) == 6
    assert len(set(denials)) == 1
    assert [frame.type.value for frame in frames].count("scope.denied") == 6
    assert "denied.out_of_scope" in reply.warnings


async def test_nothing_is_carried_out_of_a_scope_by_publishing_it(keeper: Turnkeeper) -> None:
    hidden = await a_bundle(keeper, "hidden", secret="a secret")
    (entry,) = await keeper.manifests.entries(hidden.manifest or "")

    @keeper.agent("smuggler")
    async def smuggler(turn: AgentTurn) -> str:
        await turn.substrate.publish({"mine": entry.sha256})
        return "got it"

    session = await keeper.create_session(agent="smuggler")
    with pytest.raises(RunEnded) as ended:
        await keeper.chat("Go", session_id=session.id)

    assert ended.value.code == "scope_denied"
    assert await keeper.substrate.outputs(session.id) == []


async def test_a_fixed_pointer_is_seen_where_it_is_fixed(keeper: Turnkeeper) -> None:
    pointer = await a_bundle(keeper, text="old")
    newer = await a_bundle(keeper, "other", text="new")

    @keeper.agent("reader")
    async def reader(turn: AgentTurn) -> str:
        content: bytes = await turn.substrate.read(pointer.id, "text")
        return content.decode()

    fixed = await mounted(keeper, pointer, agent="reader", manifest=pointer.manifest)
    following = await mounted(keeper, pointer, agent="reader")
    await keeper.pointers.advance(pointer.id, newer.manifest or "")

    assert (await keeper.chat("?", session_id=fixed.id)).text == "old"
    assert (await keeper.chat("?", session_id=following.id)).text == "new"


async def test_a_sync_agent_uses_the_substrate_from_its_thread(keeper: Turnkeeper) -> None:
    @keeper.agent("plain")
    def plain(turn: AgentTurn) -> str:
        artifact = turn.substrate.emit(b"from a thread", path="thread.txt")
        again: bytes = turn.substrate.artifact(artifact.sha256)  # type: ignore[attr-defined, assignment]
        return again.decode()

    assert (await keeper.chat("Go", agent="plain")).text == "from a thread"


async def test_what_a_failed_run_brought_out_stays_told(keeper: Turnkeeper) -> None:
    @keeper.agent("clumsy")
    async def clumsy(turn: AgentTurn) -> str:
        turn.budget.debit("tokens", 70)
        await turn.substrate.emit(b"half of it")
        raise RuntimeError("oops")

    session = await keeper.create_session(agent="clumsy")
    with pytest.raises(RunEnded):
        await keeper.chat("Go", session_id=session.id)

    (output,) = await keeper.substrate.outputs(session.id)
    (run,) = await keeper.runs(session.id)
    assert output.run_id == run.id
    assert (await keeper.substrate.cost(session.id)).tokens == 70


async def test_nyqst_59_60_every_turn_is_one_run_whose_outputs_are_found_by_it(keeper: Turnkeeper) -> None:
    @keeper.agent("maker")
    async def maker(turn: AgentTurn) -> str:
        await turn.substrate.emit(turn.text.encode(), path=f"{turn.number}.txt")
        turn.budget.debit("tokens", 10)
        turn.budget.debit("cost_cents", 0.5)
        return "made"

    session = await keeper.create_session(agent="maker")
    replies = [await keeper.chat(f"number {no}", session_id=session.id) for no in range(3)]
    runs = (await keeper.runs(session.id))[::-1]
    emitted = [await keeper.substrate.outputs(session.id, run_id=run.id) for run in runs]
    cost = await keeper.substrate.cost(session.id)

    assert [run.id for run in runs] == [reply.run_id for reply in replies]
    assert {(run.session_id, run.user) for run in runs} == {(session.id, "local")}
    assert [[each.data["path"] for each in found] for found in emitted] == [["1.txt"], ["2.txt"], ["3.txt"]]
    assert (cost.runs, cost.tokens, cost.cost_cents, cost.output_bytes) == (3, 30, 1.5, 24)
    assert await keeper.substrate.counts(session.id) == {
        OutputKind.ARTIFACT: 3,
        OutputKind.MANIFEST: 0,
        OutputKind.POINTER: 0,
    }
    assert (await keeper.substrate.counts(session.id, run_id=runs[0].id))[OutputKind.ARTIFACT] == 1


async def test_a_plain_turn_has_nothing_to_account_for(keeper: Turnkeeper) -> None:
    reply = await keeper.chat("hello", agent="echo")

    account = (await keeper.run(reply.run_id)).account
    assert account is None or set(account) <= {"context_sha256"}


async def test_nyqst_61_a_person_publishes_without_a_run(keeper: Turnkeeper) -> None:
    session = await keeper.create_session(agent="echo")
    pointer = await keeper.pointers.create("by-hand")
    note = await keeper.artifacts.keep(b"a note", media_type="text/plain", name="note.txt")

    published = await keeper.substrate.publish(
        session.id, {"note.txt": note}, pointer="default/by-hand", expected=Expected(manifest=None)
    )
    with pytest.raises(PointerMoved):
        await keeper.substrate.publish(
            session.id, {"other.txt": note}, pointer=pointer.id, expected=Expected(manifest=None)
        )

    assert {each.run_id for each in published.outputs} == {None}
    assert published.manifest is not None
    assert await keeper.pointers.resolve(pointer.id) == published.manifest.sha256
    assert len(await keeper.substrate.outputs(session.id)) == 3
    await keeper.close_session(session.id)
    with pytest.raises(SessionClosed):
        await keeper.substrate.publish(session.id, {"note.txt": note})


async def test_content_is_open_to_its_tenant_once_it_is_in_a_manifest(keeper: Turnkeeper) -> None:
    note = await keeper.artifacts.keep(b"a note")

    with pytest.raises(ArtifactNotFound):
        await keeper.artifacts.get(note.sha256, principal=BEN)
    with pytest.raises(ArtifactsMissing):
        await keeper.manifests.create({"note.txt": note.sha256}, principal=BEN)
    await keeper.manifests.create({"note.txt": note})

    assert (await keeper.artifacts.get(note.sha256.upper(), principal=BEN)).id == note.id
    assert await keeper.artifacts.read(note.id, principal=BEN) == b"a note"
    await keeper.manifests.create({"mine.txt": note.sha256}, principal=BEN)


async def test_a_corpus_is_moved_by_owner_and_admin_alone(keeper: Turnkeeper) -> None:
    bundle = await a_bundle(keeper, text="it")
    corpus = await keeper.pointers.create("corpus", kind=PointerKind.CORPUS, principal=BEN)

    with pytest.raises(NotAllowed):
        await keeper.pointers.advance(corpus.id, bundle.manifest or "", principal=BEN)
    moved = await keeper.pointers.advance(corpus.id, bundle.manifest or "")

    assert moved.manifest == bundle.manifest
    assert (await keeper.pointers.advance(bundle.id, bundle.manifest or "", principal=BEN)).moves == 2


async def test_nyqst_68_nothing_of_another_tenant_exists(keeper: Turnkeeper) -> None:
    pointer = await a_bundle(keeper, text="it")
    note = await keeper.artifacts.keep(b"note")
    reply = await keeper.chat("hello", agent="echo")

    for error, asking in (
        (ArtifactNotFound, keeper.artifacts.get(note.id, principal=GUS)),
        (ArtifactNotFound, keeper.artifacts.get(note.sha256, principal=GUS)),
        (ManifestNotFound, keeper.manifests.get(pointer.manifest or "", principal=GUS)),
        (PointerNotFound, keeper.pointers.get(pointer.id, principal=GUS)),
        (PointerNotFound, keeper.pointers.history(pointer.id, principal=GUS)),
        (SessionNotFound, keeper.substrate.outputs(reply.session_id, principal=GUS)),
        (RunNotFound, keeper.run(reply.run_id, principal=GUS)),
        (SessionNotFound, keeper.newest_feed_no(reply.session_id, principal=GUS)),
    ):
        with pytest.raises(error):
            await asking


async def test_nyqst_67_a_reader_from_number_n_gets_every_entry_after_it_once(keeper: Turnkeeper) -> None:
    @keeper.agent("talker")
    async def talker(turn: AgentTurn) -> str:
        for no in range(20):
            await turn.substrate.emit(f"{turn.number}-{no}".encode())
        return "done"

    session = await keeper.create_session(agent="talker")
    await keeper.chat("stored", session_id=session.id)
    stored = await keeper.newest_feed_no(session.id)
    talking = asyncio.create_task(keeper.chat("live", session_id=session.id))
    seen = []

    async with aclosing(keeper.follow_session(session.id, after=5)) as frames:
        async for frame in frames:
            seen.append(frame.no)
            if frame.no > stored and frame.type == "run.completed":
                break
    await talking

    assert seen == list(range(6, seen[-1] + 1))
    assert seen[-1] > stored


async def test_loose_content_is_collected_and_attachments_stay(keeper: Turnkeeper) -> None:
    loose, attached = await keeper.artifacts.keep(b"loose"), await keeper.artifacts.keep(b"attached")
    event = Event(text="Look", attachments=(attached.attached,))
    ticket = await keeper.accept(Inbound(prepared=Prepared(events=(event,)), agent="echo"), LOCAL)
    await keeper.reply_to(ticket)

    assert (await keeper.substrate.collect()).blobs == 0
    assert (await keeper.substrate.collect(grace_seconds=-60)).blobs == 1

    assert await keeper.artifacts.read(attached.id) == b"attached"
    with pytest.raises(ArtifactNotFound):
        await keeper.artifacts.get(loose.id)


async def test_what_came_out_before_a_reset_is_out_of_reach_of_every_later_turn(keeper: Turnkeeper) -> None:
    secret = b"secret of the first epoch"

    @keeper.agent("author")
    async def author(turn: AgentTurn) -> str:
        if turn.text == "write":
            await turn.substrate.publish({"a": await turn.substrate.emit(secret)})
            return "written"
        try:
            return (await turn.substrate.artifact(sha256_of(secret))).decode()
        except ScopeDenied:
            return "denied"

    reply = await keeper.chat("write", agent="author")
    before = await keeper.chat("read", session_id=reply.session_id)
    await keeper.reset(reply.session_id)
    after = await keeper.chat("read", session_id=reply.session_id)
    await keeper.chat("write", session_id=reply.session_id)
    again = await keeper.chat("read", session_id=reply.session_id)

    assert (before.text, after.text, again.text) == (secret.decode(), "denied", secret.decode())
    outputs = await keeper.substrate.outputs(reply.session_id)
    assert [each.kind for each in outputs] == [OutputKind.ARTIFACT, OutputKind.MANIFEST] * 2


async def test_with_a_folder_for_content_artifacts_lie_there(settings: Settings, tmp_path: Path) -> None:
    folder = tmp_path / "content"

    async with Turnkeeper.open(settings=settings, artifact_files=str(folder)) as keeper:
        note = await keeper.artifacts.keep(b"a note")
        assert await keeper.artifacts.read(note.id) == b"a note"
        assert len([path for path in folder.rglob("*") if path.is_file()]) == 1
        assert (await keeper.substrate.collect(grace_seconds=-60)).blobs == 1

    assert [path for path in folder.rglob("*") if path.is_file()] == []


async def test_what_a_tenant_takes_is_told_to_its_owner_alone(keeper: Turnkeeper) -> None:
    reply = await keeper.chat("twelve bytes", agent="echo")
    await keeper.artifacts.keep(b"1234")

    storage = await keeper.substrate.storage()

    assert (storage.blobs, storage.blob_bytes, storage.artifacts) == (1, 4, 1)
    (session,) = storage.sessions
    assert session.session_id == reply.session_id
    assert session.message_bytes >= 24
    with pytest.raises(NotAllowed):
        await keeper.substrate.storage(principal=BEN)
