"""What a store promises about content in pieces, manifests, pointers and what comes out of sessions."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.contract.backends import Backend, Refused
from tests.contract.builders import (
    TENANT,
    USER,
    a_kept_session,
    accept,
    audit_of,
    clock,
    feed_of,
    held,
    supersede,
    taken_over,
    types,
)
from turnkeeper.errors import (
    ArtifactDamaged,
    ArtifactsMissing,
    AttachmentTooLarge,
    LeaseLost,
    ManifestNotFound,
    MountNotFound,
    PointerExists,
    PointerFrozen,
    PointerMoved,
    PointerNotFound,
    SessionClosed,
    UploadLost,
)
from turnkeeper.model.artifact import Artifact, sha256_of
from turnkeeper.model.blob import PIECE_BYTES, ByteRange
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.feed import FeedType
from turnkeeper.model.ids import LayerId, PointerId, SessionId, TenantId, UserId
from turnkeeper.model.layer import DefaultMount, Layer, LayerTerms
from turnkeeper.model.manifest import Manifest, ManifestEntry, NewManifest
from turnkeeper.model.mount import Mount, MountKind, MountMode
from turnkeeper.model.output import OutputKind, PointerTarget, Publication
from turnkeeper.model.pointer import Expected, Move, MoveKind, Pointer, PointerKind
from turnkeeper.model.principal import Principal
from turnkeeper.model.scope import Level
from turnkeeper.model.session import Session, SessionStatus, SettingsChange
from turnkeeper.ports.store import Store
from turnkeeper.substrate.artifacts import ArtifactShelf
from turnkeeper.substrate.collecting import Collector
from turnkeeper.testing.clock import NOON, SteppedClock

GLOBEX = TenantId("globex")
ADA = Principal(tenant=TENANT, user=USER)
LARGE = bytes(range(256)) * 5_000
"""Three pieces."""


def shelf_of(store: Store, most_bytes: int = 10_000_000) -> ArtifactShelf:
    return ArtifactShelf(store.artifacts, store.blobs, clock, most_bytes)


async def kept(store: Store, content: bytes, principal: Principal = ADA, *, at: SteppedClock = clock) -> Artifact:
    audit, shelf = audit_of("keep_artifact", principal.tenant), replace(shelf_of(store), clock=at)
    return await shelf.keep(content, media_type="text/plain", name=None, principal=principal, audit=audit)


async def in_chunks(content: bytes, size: int = 70_001) -> AsyncIterator[bytes]:
    for begin in range(0, len(content), size):
        yield content[begin : begin + size]


async def read(store: Store, artifact: Artifact, part: ByteRange | None = None) -> list[bytes]:
    return [piece async for piece in shelf_of(store).pieces(artifact, part)]


def a_manifest(*hashes: str, parent: str | None = None, **changes: Any) -> NewManifest:
    new = NewManifest(
        tenant=TENANT,
        entries=tuple(ManifestEntry(path=f"{no}.txt", sha256=sha256) for no, sha256 in enumerate(hashes)),
        metadata={},
        parent=parent,
        message=None,
        created_by=USER,
        created_at=NOON,
    )
    return replace(new, **changes)


async def made(store: Store, *contents: bytes, parent: str | None = None) -> Manifest:
    hashes = [(await kept(store, content)).sha256 for content in contents]
    manifest, _ = await store.manifests.create(a_manifest(*hashes, parent=parent), audit_of("create_manifest"))
    return manifest


async def a_pointer(store: Store, manifest: str | None = None, **changes: Any) -> Pointer:
    pointer = Pointer(
        tenant=TENANT,
        id=PointerId(clock.new_id("ptr")),
        namespace="default",
        name="report",
        kind=PointerKind.BUNDLE,
        manifest=manifest,
        created_by=USER,
        created_at=NOON,
        updated_at=NOON,
    )
    pointer = replace(pointer, **changes)
    await store.pointers.create(pointer, audit_of("create_pointer"))
    return pointer


def a_move(to: str | None, expected: Expected | None = None, kind: MoveKind = MoveKind.ADVANCE) -> Move:
    return Move(kind=kind, to=to, expected=expected, moved_by=USER, moved_at=NOON)


async def move(store: Store, pointer: Pointer, to: str | None, **asked: Any) -> Pointer:
    return await store.pointers.move(TENANT, pointer.id, a_move(to, **asked), audit_of("move_pointer"))


def a_publication(
    session: Session, *hashes: str, pointer: Pointer | None = None, expected: Expected | None = None
) -> Publication:
    return Publication(
        tenant=TENANT,
        session_id=session.id,
        emitted={sha256: {"path": f"{no}.txt"} for no, sha256 in enumerate(hashes)},
        manifest=a_manifest(*hashes),
        pointer=None if pointer is None else PointerTarget(id=pointer.id, expected=expected),
        published_by=USER,
        published_at=NOON,
    )


def mounts(*pointers: Pointer, manifest: str | None = None) -> Sequence[Mount]:
    mode = MountMode.FOLLOW if manifest is None else MountMode.FIXED
    return [
        Mount(kind=MountKind.POINTER, id=each.id, mounted_at=NOON, mode=mode, manifest=manifest) for each in pointers
    ]


def mounted(sha256: str) -> Mount:
    return Mount(kind=MountKind.ARTIFACT, id=sha256, mounted_at=NOON + timedelta(hours=1))


async def pin_content(store: Store, session: Session, sha256: str) -> None:
    change, at = SettingsChange(mounts=(mounted(sha256),)), NOON + timedelta(hours=1)
    await store.sessions.change(TENANT, session.id, change, at=at, expected_version=None, audit=audit_of("mount"))


def a_layer_with(*contents: str) -> Layer:
    """A project whose sessions begin with these mounted."""
    mounts = tuple(DefaultMount(kind=MountKind.ARTIFACT, id=sha256) for sha256 in contents)
    return Layer(
        tenant=TENANT,
        level=Level.PROJECT,
        id=LayerId("p1"),
        name="p1",
        terms=LayerTerms(mounts=mounts),
        created_by=USER,
        created_at=NOON,
        updated_at=NOON,
    )


def collector(store: Store, grace: timedelta = timedelta(0)) -> Collector:
    """An hour after everything else happened."""
    return Collector(store.collection, store.blobs, SteppedClock(NOON + timedelta(hours=1)), grace.total_seconds())


# --- content in pieces


async def test_content_is_kept_in_pieces_and_read_in_any_part(store: Store, backend: Backend) -> None:
    audit = audit_of("keep_artifact")
    kept_large = await shelf_of(store).keep(
        in_chunks(LARGE), media_type="text/plain", name=None, principal=ADA, audit=audit
    )

    pieces = await read(store, kept_large)
    middle = ByteRange(first=PIECE_BYTES - 3, last=PIECE_BYTES + 4)

    assert kept_large.sha256 == sha256_of(LARGE)
    assert [len(piece) for piece in pieces] == [PIECE_BYTES, PIECE_BYTES, len(LARGE) - 2 * PIECE_BYTES]
    assert b"".join(pieces) == LARGE
    assert b"".join(await read(store, kept_large, middle)) == LARGE[middle.first : middle.last + 1]
    assert await backend.execute("SELECT count(*) FROM blob_pieces") == [(3,)]


async def test_empty_content_is_content_too(store: Store) -> None:
    empty = await kept(store, b"")

    assert (empty.size, empty.sha256) == (0, sha256_of(b""))
    assert await read(store, empty) == []


async def test_the_same_content_again_is_two_artifacts_over_one_blob(store: Store, backend: Backend) -> None:
    first, second = await kept(store, LARGE), await kept(store, LARGE)

    assert first.id != second.id
    assert await backend.execute("SELECT count(*) FROM blobs") == [(1,)]
    assert await backend.execute("SELECT count(*) FROM blob_pieces") == [(3,)]
    assert [each.id for each in await store.artifacts.of_content(TENANT, first.sha256)] == [first.id, second.id]


async def test_nyqst_69_a_damaged_piece_is_noticed_before_it_is_given_out(store: Store, backend: Backend) -> None:
    large = await kept(store, LARGE)
    door = {"sqlite": "DROP TRIGGER blob_pieces_keep;\n", "postgres": "ALTER TABLE blob_pieces DISABLE TRIGGER ALL;"}
    zero = {"sqlite": "zeroblob(5)", "postgres": "'\\x00'"}
    name = backend.package.rpartition(".")[2]
    await backend.execute(f"{door[name]}UPDATE blob_pieces SET data = {zero[name]} WHERE no = 1")
    pieces = shelf_of(store).pieces(large)

    assert await anext(pieces) == LARGE[:PIECE_BYTES]
    with pytest.raises(ArtifactDamaged):
        await anext(pieces)
    with pytest.raises(ArtifactDamaged):
        await read(store, large, ByteRange(first=PIECE_BYTES, last=PIECE_BYTES))
    assert b"".join(await read(store, large, ByteRange(first=0, last=9))) == LARGE[:10]


async def test_an_upload_that_breaks_off_leaves_nothing_behind(store: Store, backend: Backend) -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield LARGE
        raise ConnectionError("gone")

    audit = audit_of("keep_artifact")
    with pytest.raises(ConnectionError):
        await shelf_of(store).keep(breaking(), media_type="", name=None, principal=ADA, audit=audit)
    with pytest.raises(AttachmentTooLarge):
        await shelf_of(store, most_bytes=600_000).keep(
            in_chunks(LARGE), media_type="", name=None, principal=ADA, audit=audit
        )

    assert await backend.execute("SELECT count(*) FROM blob_pieces") == [(0,)]
    assert await backend.execute("SELECT count(*) FROM artifacts") == [(0,)]


async def test_an_abandoned_upload_is_swept_and_can_no_longer_be_finished(store: Store, backend: Backend) -> None:
    upload = store.blobs.upload(TENANT, clock.new_id("upl").removeprefix("upl_"))
    for piece in (LARGE[:PIECE_BYTES], LARGE[PIECE_BYTES:]):
        await upload.add(piece)
    assert await store.collection.sweep_uploads(before=NOON - timedelta(days=1)) == 0

    assert await store.collection.sweep_uploads(before=NOON + timedelta(days=2)) == 1

    new = await upload.finish()
    artifact = replace(await kept(store, b"other"), sha256=new.blob.sha256, size=new.blob.size)
    with pytest.raises(UploadLost):
        await store.artifacts.keep(replace(artifact, id="art_lost"), new, audit_of())  # type: ignore[arg-type]
    assert await backend.execute("SELECT count(*) FROM blobs") == [(1,)]


# --- manifests


async def test_a_manifest_is_kept_once_with_its_entries_in_order(store: Store) -> None:
    one, two = (await kept(store, b"one")).sha256, (await kept(store, b"twotwo")).sha256

    manifest, was_there = await store.manifests.create(a_manifest(two, one), audit_of())
    again, is_there = await store.manifests.create(a_manifest(two, one, message="again"), audit_of())
    entries = await store.manifests.entries(TENANT, manifest.sha256, after=0, limit=10)

    assert (was_there, is_there) == (False, True)
    assert again == manifest == await store.manifests.get(TENANT, manifest.sha256)
    assert (manifest.entry_count, manifest.total_size) == (2, 9)
    assert [each.sha256 for each in entries] == [two, one]
    assert [each.sha256 for each in await store.manifests.entries(TENANT, manifest.sha256, after=1, limit=10)] == [one]


async def test_a_manifest_needs_every_content_and_its_parent(store: Store, backend: Backend) -> None:
    known, theirs = (await kept(store, b"one")).sha256, await kept(store, b"two", replace(ADA, user=UserId("ben")))

    with pytest.raises(ArtifactsMissing) as missing:
        await store.manifests.create(a_manifest(known, "0" * 64), audit_of())
    with pytest.raises(ArtifactsMissing):
        await store.manifests.create(a_manifest(theirs.sha256, made_for=USER), audit_of())
    with pytest.raises(ArtifactsMissing):
        await store.manifests.create(a_manifest(known, tenant=GLOBEX), audit_of())
    with pytest.raises(ManifestNotFound):
        await store.manifests.create(a_manifest(known, parent="1" * 64), audit_of())

    assert [each["path"] for each in missing.value.details] == ["1.txt"]
    assert await backend.execute("SELECT count(*) FROM manifests") == [(0,)]


async def test_the_history_of_a_manifest_is_its_line_of_parents(store: Store) -> None:
    first = await made(store, b"1")
    second = await made(store, b"2", parent=first.sha256)
    third = await made(store, b"3", parent=second.sha256)

    assert await store.manifests.history(TENANT, third.sha256, limit=10) == [third, second, first]
    assert await store.manifests.history(TENANT, third.sha256, limit=2) == [third, second]
    with pytest.raises(ManifestNotFound):
        await store.manifests.history(GLOBEX, third.sha256, limit=2)


# --- pointers


async def test_nyqst_65_a_pointer_moves_only_from_where_it_is_expected(store: Store) -> None:
    one, two = await made(store, b"1"), await made(store, b"2")
    pointer = await a_pointer(store)

    moved = await move(store, pointer, one.sha256, expected=Expected(manifest=None))
    with pytest.raises(PointerMoved) as conflict:
        await move(store, pointer, two.sha256, expected=Expected(manifest=None))

    assert moved.manifest == one.sha256
    assert conflict.value.facts["current"] == one.sha256
    assert (await store.pointers.get(TENANT, pointer.id)).manifest == one.sha256
    assert [each.no for each in await store.pointers.moves(TENANT, pointer.id, before=None, limit=9)] == [2, 1]


async def test_nyqst_65_of_racing_moves_from_the_same_place_one_wins(store: Store, backend: Backend) -> None:
    targets = [await made(store, f"{no}".encode()) for no in range(6)]
    pointer, other_node = await a_pointer(store), backend.store()
    await other_node.database.open()
    stores = (store, other_node)

    outcomes = await asyncio.gather(
        *(
            move(stores[no % 2], pointer, target.sha256, expected=Expected(manifest=None))
            for no, target in enumerate(targets)
        ),
        return_exceptions=True,
    )
    await other_node.database.close()

    won = [each for each in outcomes if isinstance(each, Pointer)]
    assert len(won) == 1
    assert sum(isinstance(each, PointerMoved) for each in outcomes) == 5
    assert (await store.pointers.get(TENANT, pointer.id)).manifest == won[0].manifest


async def test_nyqst_66_going_back_is_a_move_like_any_other(store: Store) -> None:
    one, two = await made(store, b"1"), await made(store, b"2")
    pointer = await a_pointer(store, one.sha256)

    await move(store, pointer, two.sha256)
    await move(store, pointer, one.sha256)
    emptied = await move(store, pointer, None, kind=MoveKind.RESET)
    moves = await store.pointers.moves(TENANT, pointer.id, before=None, limit=9)

    assert emptied.manifest is None
    assert [(each.kind, each.old, each.new) for each in moves] == [
        (MoveKind.RESET, one.sha256, None),
        (MoveKind.ADVANCE, two.sha256, one.sha256),
        (MoveKind.ADVANCE, one.sha256, two.sha256),
        (MoveKind.CREATE, None, one.sha256),
    ]


async def test_a_snapshot_stays_at_its_first_manifest(store: Store) -> None:
    one, two = await made(store, b"1"), await made(store, b"2")
    pointer = await a_pointer(store, kind=PointerKind.SNAPSHOT)

    await move(store, pointer, one.sha256)

    for kind, to in ((MoveKind.ADVANCE, two.sha256), (MoveKind.RESET, None)):
        with pytest.raises(PointerFrozen):
            await move(store, pointer, to, kind=kind)


async def test_a_name_is_taken_while_its_pointer_lives(store: Store) -> None:
    pointer = await a_pointer(store)
    with pytest.raises(PointerExists):
        await a_pointer(store)

    await move(store, pointer, None, kind=MoveKind.DELETE)
    again = await a_pointer(store)

    assert await store.pointers.named(TENANT, "default", "report") == again
    assert await store.pointers.list(TENANT, namespace=None, kind=None, before=None, limit=9) == [again]
    with pytest.raises(PointerNotFound):
        await store.pointers.get(TENANT, pointer.id)
    with pytest.raises(PointerNotFound):
        await move(store, pointer, None, kind=MoveKind.RESET)
    assert (await store.pointers.get(TENANT, pointer.id, deleted=True)).deleted_at == NOON


async def test_a_pointer_never_moves_to_what_is_not_there(store: Store) -> None:
    pointer = await a_pointer(store)

    with pytest.raises(ManifestNotFound):
        await move(store, pointer, "0" * 64)
    with pytest.raises(ManifestNotFound):
        await a_pointer(store, "0" * 64, name="other")
    with pytest.raises(PointerNotFound):
        await store.pointers.get(GLOBEX, pointer.id)

    assert (await store.pointers.get(TENANT, pointer.id)).moves == 1


# --- publishing


async def test_nyqst_61_a_publication_is_told_as_three_kinds_of_entries(store: Store) -> None:
    session, pointer = await a_kept_session(store), await a_pointer(store)
    one, two = (await kept(store, b"one")).sha256, (await kept(store, b"two")).sha256
    run, lease = await held(store, "Write it", session)

    published = await store.outputs.publish(a_publication(session, one, two, pointer=pointer), lease=lease)
    told = (await feed_of(store, session))[-4:]
    listed = await store.outputs.list(TENANT, session.id, run_id=run.id, kind=None, after=0, limit=9)
    assert await store.outputs.newest(TENANT, session.id, limit=2) == listed[-2:]

    assert published.manifest is not None
    assert published.pointer is not None
    assert types(told) == ["artifact.emitted", "artifact.emitted", "manifest.created", "pointer.moved"]
    assert [entry.no for entry in told] == [each.no for each in listed]
    assert {entry.run_id for entry in told} == {run.id}
    assert [each.ref for each in listed] == [one, two, published.manifest.sha256, pointer.id]
    assert published.pointer.manifest == published.manifest.sha256 == told[3].data["new"]
    (newest, _) = await store.pointers.moves(TENANT, pointer.id, before=None, limit=9)
    assert (newest.session_id, newest.run_id) == (session.id, run.id)
    assert await store.outputs.counts(TENANT, session.id) == {
        OutputKind.ARTIFACT: 2,
        OutputKind.MANIFEST: 1,
        OutputKind.POINTER: 1,
    }


async def test_nyqst_61_a_publication_that_fails_halfway_leaves_nothing(store: Store, backend: Backend) -> None:
    session, one = await a_kept_session(store), (await kept(store, b"one")).sha256
    pointer = await a_pointer(store)
    frozen = await a_pointer(store, (await made(store, b"2")).sha256, name="frozen", kind=PointerKind.SNAPSHOT)
    tables = ("manifests", "manifest_entries", "pointer_moves", "outputs", "feed", "leases")
    before = [await backend.execute(f"SELECT * FROM {table}") for table in tables]

    elsewhere = Expected(manifest="0" * 64)
    with pytest.raises(PointerMoved):
        await store.outputs.publish(a_publication(session, one, pointer=pointer, expected=elsewhere))
    with pytest.raises(PointerFrozen):
        await store.outputs.publish(a_publication(session, one, pointer=frozen))
    with pytest.raises(ArtifactsMissing):
        await store.outputs.publish(a_publication(session, one, "0" * 64, pointer=pointer))

    assert [await backend.execute(f"SELECT * FROM {table}") for table in tables] == before


async def test_a_run_that_lost_its_lease_publishes_nothing(store: Store) -> None:
    session, pointer = await a_kept_session(store), await a_pointer(store)
    one = (await kept(store, b"one")).sha256
    _, lost, _ = await taken_over(store, session)

    with pytest.raises(LeaseLost):
        await store.outputs.publish(a_publication(session, one, pointer=pointer), lease=lost)

    assert (await store.pointers.get(TENANT, pointer.id)).manifest is None
    assert await store.outputs.counts(TENANT, session.id) == {}


async def test_nobody_publishes_into_a_session_that_was_closed_meanwhile(store: Store, backend: Backend) -> None:
    session, content = await a_kept_session(store), (await kept(store, b"late")).sha256
    close = SettingsChange(status=SessionStatus.CLOSED, reason="closed")
    await store.sessions.change(TENANT, session.id, close, at=NOON, expected_version=None, audit=audit_of("close"))

    with pytest.raises(SessionClosed):
        await store.outputs.publish(a_publication(session, content), audit=audit_of("publish"))

    assert await backend.execute("SELECT count(*) FROM outputs") == [(0,)]


async def test_what_a_session_brought_out_before_is_not_told_again(store: Store) -> None:
    session, pointer = await a_kept_session(store), await a_pointer(store)
    one, two = (await kept(store, b"one")).sha256, (await kept(store, b"two")).sha256
    first = await store.outputs.publish(a_publication(session, one, pointer=pointer))

    same = await store.outputs.publish(a_publication(session, one, pointer=pointer))
    alone = await store.outputs.publish(a_publication(session, one))
    more = await store.outputs.publish(a_publication(session, one, two, pointer=pointer))

    assert (first.is_duplicate, same.is_duplicate, same.outputs, alone.outputs) == (False, True, (), ())
    assert [each.ref for each in more.outputs if each.kind is OutputKind.ARTIFACT] == [two]
    assert more.manifest is not None
    assert first.manifest is not None
    assert more.manifest.parent == first.manifest.sha256
    numbers = [entry.no for entry in await feed_of(store, session)]
    assert numbers == list(range(1, len(numbers) + 1))


async def test_a_run_that_brought_something_out_is_no_longer_merged(store: Store) -> None:
    session, one = await a_kept_session(store), (await kept(store, b"one")).sha256
    _, lease = await held(store, "First", session)
    second = (await accept(store, "Second", session)).run

    await store.outputs.publish(a_publication(session, one), lease=lease)

    assert not await supersede(store, lease, second, DoubleText.MERGE)


async def test_nyqst_64_a_hundred_entries_at_once_are_numbered_without_a_gap(store: Store, backend: Backend) -> None:
    session, other_node = await a_kept_session(store), backend.store()
    await other_node.database.open()
    _, lease = await held(store, "Tell me all", session)
    begun = await store.feed.last_no(TENANT, lease.subject)

    stores = (store, other_node)
    told = await asyncio.gather(
        *(stores[no % 2].feed.append(lease, FeedType.TOOL_STARTED, {"tool": f"{no}"}, at=NOON) for no in range(100))
    )
    await other_node.database.close()

    assert sorted(told) == list(range(begun + 1, begun + 101))
    assert [entry.no for entry in await feed_of(store, session, limit=500)] == list(range(1, begun + 101))


@pytest.mark.parametrize("table", ["manifests", "manifest_entries", "pointer_moves", "outputs", "blob_pieces", "feed"])
async def test_nyqst_63_what_is_published_is_changed_by_no_statement(
    store: Store, backend: Backend, table: str
) -> None:
    session, pointer = await a_kept_session(store), await a_pointer(store)
    await store.outputs.publish(a_publication(session, (await kept(store, b"one")).sha256, pointer=pointer))

    assert await backend.execute(f"SELECT * FROM {table}") != []
    for change in (f"UPDATE {table} SET tenant = 'globex'", f"DELETE FROM {table}"):
        with pytest.raises(Refused, match="append-only"):
            await backend.execute(change)


# --- reach


async def test_nyqst_48_content_of_a_mounted_pointer_is_in_reach_and_no_other(store: Store) -> None:
    session, manifest, other = await a_kept_session(store), await made(store, b"mine"), await made(store, b"other")
    pointer, elsewhere = await a_pointer(store, manifest.sha256), await a_pointer(store, other.sha256, name="other")

    async def holds(content: bytes, *pointers: Pointer) -> bool:
        return await store.reach.holds_artifact(TENANT, session.id, mounts(*pointers), sha256_of(content))

    assert await holds(b"mine", pointer)
    assert not await holds(b"other", pointer)
    assert not await holds(b"mine", elsewhere)
    assert not await holds(b"mine")
    assert not await store.reach.holds_artifact(GLOBEX, session.id, mounts(pointer), sha256_of(b"mine"))


async def test_nyqst_49_an_older_manifest_of_a_mounted_pointer_is_in_reach(store: Store) -> None:
    session, old, new = await a_kept_session(store), await made(store, b"old"), await made(store, b"new")
    other = await made(store, b"other")
    pointer = await a_pointer(store, old.sha256)
    await a_pointer(store, other.sha256, name="other")
    await move(store, pointer, new.sha256)

    async def holds(manifest: Manifest, found: Sequence[Mount]) -> bool:
        return await store.reach.holds_manifest(TENANT, session.id, found, manifest.sha256)

    fixed = mounts(pointer, manifest=new.sha256)
    assert [await holds(each, mounts(pointer)) for each in (old, new, other)] == [True, True, False]
    assert [await holds(each, fixed) for each in (old, new)] == [False, True]
    assert await store.reach.holds_artifact(TENANT, session.id, mounts(pointer), sha256_of(b"old"))
    assert not await store.reach.holds_artifact(TENANT, session.id, fixed, sha256_of(b"old"))


async def test_nyqst_50_what_a_session_brought_out_is_in_its_own_reach_alone(store: Store) -> None:
    session, other = await a_kept_session(store), await a_kept_session(store)
    emitted = (await kept(store, b"emitted")).sha256
    published = await store.outputs.publish(a_publication(session, emitted))

    assert published.manifest is not None
    for each, is_in_reach in ((session, True), (other, False)):
        assert await store.reach.holds_artifact(TENANT, each.id, [], emitted) is is_in_reach
        assert await store.reach.holds_manifest(TENANT, each.id, [], published.manifest.sha256) is is_in_reach


async def test_of_many_pointers_and_contents_those_that_are_there_are_told_at_once(store: Store) -> None:
    deleted, pointer = await a_pointer(store), await a_pointer(store, name="other")
    content = (await kept(store, b"here")).sha256

    await move(store, deleted, None, kind=MoveKind.DELETE)

    asked = [deleted.id, pointer.id, PointerId("ptr_none")]
    assert await store.pointers.living(TENANT, asked) == {pointer.id}
    assert await store.pointers.living(GLOBEX, asked) == set()
    assert await store.artifacts.kept_of(TENANT, [content, "ab" * 32]) == {content}
    assert await store.artifacts.kept_of(GLOBEX, [content]) == set()


# --- collection


async def test_nyqst_63_only_content_that_nobody_refers_to_is_collected(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    await made(store, b"in a manifest")
    await store.outputs.publish(
        replace(a_publication(session, (await kept(store, b"an output")).sha256), manifest=None)
    )
    pinned = Mount(kind=MountKind.ARTIFACT, id=(await kept(store, b"pinned")).sha256, mounted_at=NOON)
    await a_kept_session(store, mounts=(pinned,))
    archive = (await kept(store, b"archive")).sha256
    await backend.execute(f"UPDATE sessions SET archive = '{archive}' WHERE id = '{session.id}'")
    loose = await kept(store, LARGE)

    young = await collector(store, grace=timedelta(days=365))()
    collected = await collector(store)()

    assert young.blobs == 0
    assert (collected.blobs, collected.bytes) == (1, len(LARGE))
    assert await store.artifacts.of_content(TENANT, loose.sha256) == []
    assert await backend.execute("SELECT count(*) FROM blobs") == [(4,)]
    assert await backend.execute("SELECT count(*) FROM artifacts") == [(4,)]
    assert await backend.execute("SELECT count(*) FROM blob_pieces") == [(4,)]


async def test_content_that_is_pinned_after_the_look_is_not_removed(store: Store) -> None:
    session = await a_kept_session(store)
    pin, first, default = [(await kept(store, content)).sha256 for content in (b"pin", b"first", b"default")]
    inherited, loose = (await kept(store, b"inherited")).sha256, (await kept(store, b"loose")).sha256
    later = NOON + timedelta(hours=1)
    found = [blob for blob, _ in await store.collection.candidates(TENANT, before=later, after="", limit=10)]

    await pin_content(store, session, pin)
    await a_kept_session(store, mounts=(mounted(first),))
    await store.layers.create(a_layer_with(default), audit_of("create_layer"))
    await store.contexts.keep(TENANT, "c1", f'{{"id":"{inherited}"}}', at=later)
    removed = await store.collection.remove(TENANT, found, before=later, since=later)

    assert [blob.sha256 for blob in removed] == [loose]


async def test_what_was_collected_is_pinned_by_nobody(store: Store) -> None:
    session, gone = await a_kept_session(store), (await kept(store, b"gone")).sha256
    await store.layers.create(a_layer_with(), audit_of("create_layer"))
    await collector(store)()

    with pytest.raises(MountNotFound):
        await pin_content(store, session, gone)
    with pytest.raises(MountNotFound):
        await a_kept_session(store, mounts=(mounted(gone),))
    with pytest.raises(MountNotFound):
        await store.layers.change(a_layer_with(gone), audit_of("change_layer"), expected_revision=1)

    assert (await store.sessions.get(TENANT, session.id)).mounts == ()


@pytest.mark.parametrize("round", range(3))
async def test_content_that_is_kept_or_published_while_it_is_collected_is_whole_or_gone(
    store: Store, backend: Backend, round: int
) -> None:
    other_node, session = backend.store(), await a_kept_session(store)
    await other_node.database.open()
    contents = [f"{round}-{no}".encode() * 10 for no in range(12)]
    tomorrow = SteppedClock(NOON + timedelta(days=1))
    hashes = [(await kept(store, content)).sha256 for content in contents]

    async def publish(sha256: str) -> bool:
        try:
            await store.outputs.publish(a_publication(session, sha256))
        except ArtifactsMissing:
            return False
        return True

    results = await asyncio.gather(
        collector(other_node)(),
        *(publish(sha256) for sha256 in hashes[:6]),
        *(kept(store, content, at=tomorrow) for content in contents[6:]),
        collector(other_node)(),
    )
    await other_node.database.close()

    published = [sha256 for sha256, was in zip(hashes[:6], results[1:7], strict=True) if was]
    for sha256, content in zip(hashes, contents, strict=True):
        if sha256 in published or content in contents[6:]:
            assert await shelf_of(store).content(TENANT, sha256) == content
    dangling = "SELECT count(*) FROM artifacts a WHERE NOT EXISTS (SELECT 1 FROM blobs b WHERE b.sha256 = a.sha256)"
    assert await backend.execute(dangling) == [(0,)]


# --- what it costs


async def test_what_a_session_takes_is_counted(store: Store) -> None:
    session, other = await a_kept_session(store), await a_kept_session(store)
    await store.outputs.publish(a_publication(session, (await kept(store, b"four")).sha256))

    cost = await store.outputs.cost(TENANT, session.id)
    storage = await store.outputs.storage(TENANT, after=None, limit=10)

    assert (cost.output_bytes, cost.runs, cost.tokens) == (4, 0, 0)
    assert {each.session_id: each.output_bytes for each in storage} == {session.id: 4, other.id: 0}
    assert await store.outputs.totals(TENANT) == {"blobs": 1, "blob_bytes": 4, "artifacts": 1, "manifests": 1}
    assert (await store.outputs.cost(TENANT, SessionId("nobody"))).runs == 0
