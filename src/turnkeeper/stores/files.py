"""The bytes of content in local files, each under its hash; the database keeps what is known of them.

A file is named after its hash and the upload that brought it. So two uploads of one content, or an upload and the
removal of what was there before, never meet in the same file.
"""

import asyncio
import contextlib
import hashlib
import os
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import BinaryIO, Protocol, TypeVar
from urllib.parse import quote, unquote

from turnkeeper.errors import ArtifactDamaged, StoreUnavailable
from turnkeeper.model.artifact import sha256_of
from turnkeeper.model.blob import IN_FILES, PIECE_BYTES, Blob, ByteRange, NewBlob, Piece
from turnkeeper.model.ids import ArtifactId, TenantId
from turnkeeper.ports.artifacts import BlobStore
from turnkeeper.stores.artifacts import overlapping
from turnkeeper.stores.rows import Row

INCOMING = "incoming"
ONLY_OURS = 0o600

T = TypeVar("T")


class KnownBlobs(BlobStore, Protocol):
    """What a database knows of content, wherever its bytes lie."""

    async def pieces(self, blob: Blob) -> Sequence[Row]: ...

    async def known(self, tenant: TenantId, contents: Sequence[str]) -> frozenset[str]: ...


class FileBlobs:
    """Content comes into files; what lies in the database from before is still read there."""

    def __init__(self, folder: Path, database: KnownBlobs) -> None:
        self._folder = folder
        self._database = database

    def upload(self, tenant: TenantId, name: str) -> "FileUpload":
        return FileUpload(self._folder, tenant, f"{IN_FILES}{name}")

    async def read(self, blob: Blob, part: ByteRange) -> AsyncIterator[bytes]:
        if not blob.lies_in_files:
            async for data in self._database.read(blob, part):
                yield data
            return
        path = path_of(self._folder, blob)
        for no, sha256, size, inner in overlapping(await self._database.pieces(blob), blob, part):
            data = await _in_thread(partial(_read, path, no * PIECE_BYTES, size))
            if sha256_of(data) != sha256:
                raise ArtifactDamaged(ArtifactId(blob.sha256))
            yield data[inner.first : inner.last + 1]

    async def drop(self, blobs: Collection[Blob]) -> None:
        for blob in blobs:
            if blob.lies_in_files:
                await _in_thread(partial(path_of(self._folder, blob).unlink, missing_ok=True))

    async def sweep(self, *, before: datetime) -> int:
        """Files without a blob, left behind by processes that died in the middle of an upload or of a removal."""
        swept = 0
        for tenant, files in await _in_thread(lambda: _old_files(self._folder, before.timestamp())):
            known = await self._database.known(tenant, list(files))
            for content, path in files.items():
                if content not in known:
                    await _in_thread(partial(path.unlink, missing_ok=True))
                    swept += 1
        return swept


class FileUpload:
    """Bytes on their way into a file that nobody looks for, until all of them are on the disk."""

    def __init__(self, folder: Path, tenant: TenantId, content: str) -> None:
        self._folder, self._tenant, self._content = folder, tenant, content
        self._incoming = folder_of(folder, tenant) / INCOMING / content
        self._file: BinaryIO | None = None
        self._hash, self._size = hashlib.sha256(), 0
        self._pieces: list[Piece] = []

    async def add(self, data: bytes) -> None:
        await _in_thread(lambda: self._write(data))
        self._pieces.append(Piece(no=len(self._pieces), sha256=sha256_of(data)))
        self._size += len(data)

    def _write(self, data: bytes) -> None:
        if self._file is None:
            _make_folder(self._folder, self._incoming.parent)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._file = open(os.open(self._incoming, flags, ONLY_OURS), "wb")  # noqa: SIM115
        self._hash.update(data)
        self._file.write(data)

    async def finish(self) -> NewBlob:
        if not self._pieces:
            await self.add(b"")
        blob = Blob(tenant=self._tenant, sha256=self._hash.hexdigest(), size=self._size, content=self._content)
        await _in_thread(lambda: self._settle(path_of(self._folder, blob)))
        return NewBlob(blob=blob, count=len(self._pieces), pieces=tuple(self._pieces))

    def _settle(self, path: Path) -> None:
        """Durable before anyone is told of it: first the bytes, then the name."""
        assert self._file is not None
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        _make_folder(self._folder, path.parent)
        self._incoming.rename(path)
        self._incoming = path
        for folder in (path.parent, path.parent.parent, path.parent.parent.parent):
            _sync_folder(folder)

    async def discard(self) -> None:
        await _in_thread(self._discard)

    def _discard(self) -> None:
        if self._file is not None:
            self._file.close()
            self._incoming.unlink(missing_ok=True)


def folder_of(folder: Path, tenant: TenantId) -> Path:
    """Each tenant has its own, whatever it is called."""
    return folder / quote(tenant, safe="").replace(".", "%2E")


def path_of(folder: Path, blob: Blob) -> Path:
    shard = folder_of(folder, blob.tenant) / blob.sha256[:2] / blob.sha256[2:4]
    return shard / f"{blob.sha256}.{blob.content}"


def _read(path: Path, begin: int, size: int) -> bytes:
    try:
        with path.open("rb", buffering=0) as file:
            file.seek(begin)
            return file.read(size)
    except FileNotFoundError:
        return b""


def _old_files(folder: Path, before: float) -> list[tuple[TenantId, dict[str, Path]]]:
    return [
        (
            TenantId(unquote(tenant.name)),
            {path.name.rpartition(".")[2]: path for path in _files_in(tenant, before)},
        )
        for tenant in (folder.iterdir() if folder.exists() else ())
        if tenant.is_dir()
    ]


def _files_in(folder: Path, before: float) -> Iterator[Path]:
    """Those that were last written before a moment; one that goes away meanwhile is none of them."""
    for path in folder.rglob(f"*{IN_FILES}*"):
        with contextlib.suppress(FileNotFoundError):
            if path.is_file() and path.stat().st_mtime < before:
                yield path


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


async def _in_thread(work: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        raise StoreUnavailable(
            f"The folder with content cannot be used: {error.strerror or error}.",
            advice="Check the setting artifact_files, its rights and the space there.",
        ) from error


def _make_folder(root: Path, folder: Path) -> None:
    """With all that lie between the root and it, each for our own user alone."""
    for each in (root, *reversed([parent for parent in folder.parents if root in parent.parents]), folder):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
