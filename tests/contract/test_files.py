"""What is promised about content that lies in files."""

import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest

from tests.contract.backends import Backend
from tests.contract.builders import TENANT
from tests.contract.test_substrate import ADA, LARGE, collector, kept, read, shelf_of
from turnkeeper.errors import ArtifactDamaged, StoreUnavailable
from turnkeeper.model.blob import PIECE_BYTES, ByteRange
from turnkeeper.model.ids import TenantId
from turnkeeper.ports.store import Store
from turnkeeper.stores.files import FileBlobs, KnownBlobs
from turnkeeper.testing.clock import NOON


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "content"


@pytest.fixture
async def files(store: Store, folder: Path) -> Store:
    return replace(store, blobs=FileBlobs(folder, cast(KnownBlobs, store.blobs)))


def files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


async def test_content_lies_in_a_file_under_its_hash_that_nobody_else_may_read(
    files: Store, backend: Backend, folder: Path
) -> None:
    large = await kept(files, LARGE)
    (path,) = files_in(folder)

    assert path.parent == folder / TENANT / large.sha256[:2] / large.sha256[2:4]
    assert path.name.startswith(large.sha256)
    assert path.read_bytes() == LARGE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert b"".join(await read(files, large)) == LARGE
    part = ByteRange(first=PIECE_BYTES - 1, last=PIECE_BYTES + 1)
    assert b"".join(await read(files, large, part)) == LARGE[part.first : part.last + 1]
    assert await backend.execute("SELECT count(*), sum(length(data)) FROM blob_pieces") == [(3, 0)]


async def test_the_same_content_is_one_file_for_each_tenant(files: Store, folder: Path) -> None:
    for tenant in (TENANT, TENANT, TenantId("../globex")):
        await kept(files, b"the same", replace(ADA, tenant=tenant))

    assert [path.relative_to(folder).parts[0] for path in files_in(folder)] == ["%2E%2E%2Fglobex", "acme"]


async def test_nyqst_69_a_damaged_file_is_noticed_before_its_bytes_are_given_out(files: Store, folder: Path) -> None:
    large = await kept(files, LARGE)
    (path,) = files_in(folder)
    path.write_bytes(LARGE[: PIECE_BYTES + 10] + b"!" + LARGE[PIECE_BYTES + 11 :])

    assert b"".join(await read(files, large, ByteRange(first=0, last=9))) == LARGE[:10]
    with pytest.raises(ArtifactDamaged):
        await read(files, large, ByteRange(first=PIECE_BYTES, last=PIECE_BYTES))
    path.unlink()
    with pytest.raises(ArtifactDamaged):
        await shelf_of(files).read(large)


async def test_what_lay_in_the_database_before_is_still_read(store: Store, files: Store) -> None:
    before, after = await kept(store, b"before"), await kept(files, b"after")

    assert await shelf_of(files).read(before) == b"before"
    with pytest.raises(StoreUnavailable, match="artifact_files"):
        await shelf_of(store).read(after)


async def test_what_is_collected_or_was_left_behind_is_a_file_no_more(files: Store, folder: Path) -> None:
    await kept(files, b"loose")
    abandoned = folder / TENANT / "incoming" / "file_abandoned"
    abandoned.write_bytes(b"half of it")
    settled = files.blobs.upload(TENANT, "forgotten")
    await settled.add(b"all of it, but no row")
    await settled.finish()
    assert len(files_in(folder)) == 3

    await files.blobs.sweep(before=NOON - timedelta(days=365))
    assert len(files_in(folder)) == 3
    collected = await collector(files)()
    # Files go by the clock of the machine.
    swept = await files.blobs.sweep(before=datetime.now(UTC) + timedelta(days=1))

    assert (collected.blobs, swept) == (1, 2)
    assert files_in(folder) == []
