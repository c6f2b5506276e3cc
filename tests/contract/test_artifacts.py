"""What a store promises about artifacts."""

from dataclasses import replace

import pytest

from tests.contract.backends import Backend, Refused
from tests.contract.builders import TENANT, USER, audit_of, clock
from turnkeeper.errors import ArtifactDamaged, ArtifactNotFound
from turnkeeper.model.artifact import Artifact, sha256_of
from turnkeeper.model.blob import ByteRange, NewBlob
from turnkeeper.model.ids import ArtifactId, TenantId, UserId
from turnkeeper.ports.store import Store
from turnkeeper.substrate.artifacts import ArtifactShelf
from turnkeeper.testing.clock import NOON

LETTER = bytes(range(256)) * 4
# As someone could who owns the server.
DAMAGE = {
    "turnkeeper.stores.sqlite": "DROP TRIGGER blob_pieces_keep;\nUPDATE blob_pieces SET data = x'00';",
    "turnkeeper.stores.postgres": "ALTER TABLE blob_pieces DISABLE TRIGGER ALL; UPDATE blob_pieces SET data = '\\x00'",
}


def an_artifact(id: str = "art_1", content: bytes = LETTER, tenant: TenantId = TENANT) -> Artifact:
    return Artifact(
        tenant=tenant,
        id=ArtifactId(id),
        sha256=sha256_of(content),
        media_type="image/png",
        name="Ölbild.png",
        size=len(content),
        created_by=USER,
        created_at=NOON,
    )


async def brought(store: Store, content: bytes = LETTER, tenant: TenantId = TENANT) -> NewBlob:
    upload = store.blobs.upload(tenant, clock.new_id("upl").removeprefix("upl_"))
    await upload.add(content)
    return await upload.finish()


async def keep(store: Store, artifact: Artifact, content: bytes = LETTER) -> Artifact:
    new = await brought(store, content, artifact.tenant)
    return await store.artifacts.keep(artifact, new, audit_of("keep_artifact", artifact.tenant))


async def content_of(store: Store, artifact: Artifact) -> bytes:
    blob = await store.artifacts.blob(artifact.tenant, artifact.sha256)
    return b"".join([piece async for piece in store.blobs.read(blob, ByteRange(first=0, last=blob.size - 1))])


async def test_an_artifact_is_read_as_it_was_kept(store: Store) -> None:
    kept = await keep(store, an_artifact())

    assert await store.artifacts.get(TENANT, kept.id) == kept == an_artifact()
    assert await content_of(store, kept) == LETTER


async def test_the_same_content_is_kept_once_in_a_tenant_and_apart_from_others(store: Store, backend: Backend) -> None:
    for artifact in (an_artifact(), an_artifact("art_2"), an_artifact(tenant=TenantId("globex"))):
        await keep(store, artifact)

    assert await backend.execute("SELECT tenant, count(*) FROM blobs GROUP BY tenant ORDER BY tenant") == [
        ("acme", 1),
        ("globex", 1),
    ]
    assert await content_of(store, an_artifact("art_2")) == LETTER


async def test_artifacts_are_listed_newest_first_of_one_user_or_of_all(store: Store) -> None:
    ben = replace(an_artifact("art_2"), created_by=UserId("ben"))
    for artifact in (an_artifact("art_1"), ben, an_artifact("art_3"), an_artifact(tenant=TenantId("globex"))):
        await keep(store, artifact)

    every = await store.artifacts.list(TENANT, user=None, before=None, limit=9)
    older = await store.artifacts.list(TENANT, user=None, before=ArtifactId("art_3"), limit=1)
    his = await store.artifacts.list(TENANT, user=UserId("ben"), before=None, limit=9)

    assert [artifact.id for artifact in every] == ["art_3", "art_2", "art_1"]
    assert older == his == [ben]


async def test_what_is_kept_under_an_id_stays_under_it(store: Store) -> None:
    await keep(store, an_artifact())

    again = await keep(store, replace(an_artifact(content=b"other"), name="other"), b"other")

    assert again == an_artifact()
    with pytest.raises(ArtifactNotFound):
        await content_of(store, an_artifact(content=b"other"))


async def test_an_artifact_of_another_tenant_does_not_exist(store: Store) -> None:
    await keep(store, an_artifact())

    with pytest.raises(ArtifactNotFound):
        await store.artifacts.get(TenantId("globex"), ArtifactId("art_1"))
    with pytest.raises(ArtifactNotFound):
        await content_of(store, an_artifact(tenant=TenantId("globex")))


async def test_keeping_an_artifact_is_audited_with_it(store: Store) -> None:
    await keep(store, an_artifact())

    assert ["keep_artifact" in entry.body async for entry in store.audit.entries(TENANT)] == [True]


@pytest.mark.parametrize("table", ["artifacts", "blobs"])
@pytest.mark.parametrize("change", ["DELETE FROM {}", "UPDATE {} SET size = 0"])
async def test_what_is_kept_can_neither_be_changed_nor_deleted(
    store: Store, backend: Backend, table: str, change: str
) -> None:
    await keep(store, an_artifact())

    with pytest.raises(Refused, match="append-only"):
        await backend.execute(change.format(table))


async def test_content_that_is_not_what_was_kept_is_not_given_out(store: Store, backend: Backend) -> None:
    kept, shelf = await keep(store, an_artifact()), ArtifactShelf(store.artifacts, store.blobs, clock, most_bytes=10)
    assert await shelf.read(kept) == LETTER

    await backend.execute(DAMAGE[backend.package])

    with pytest.raises(ArtifactDamaged):
        await shelf.read(kept)
