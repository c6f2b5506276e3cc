"""A zip archive that is sent while it is made: no more than a piece of it is ever held."""

import hashlib
import io
import zipfile
from collections.abc import AsyncGenerator, AsyncIterable
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType

SEND_BYTES = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """What the index says of a file in an archive."""

    path: str
    bytes: int
    sha256: str


class Zipping:
    """Give it one member after the other, and send on what comes back; `finish` gives the end."""

    def __init__(self, at: datetime) -> None:
        self._buffer = _Buffer()
        self._zip = zipfile.ZipFile(self._buffer, "w", zipfile.ZIP_DEFLATED)
        self._date = (max(at.year, 1980), at.month, at.day, at.hour, at.minute, at.second)
        self.members: list[Member] = []

    async def add(self, path: str, content: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
        info = zipfile.ZipInfo(path, self._date)
        info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
        digest, size = hashlib.sha256(), 0
        with self._zip.open(info, "w", force_zip64=True) as file:
            async for piece in content:
                digest.update(piece)
                size += len(piece)
                file.write(piece)
                if self._buffer.size >= SEND_BYTES:
                    yield self._buffer.taken()
        self.members.append(Member(path=path, bytes=size, sha256=digest.hexdigest()))
        yield self._buffer.taken()

    def finish(self) -> bytes:
        self._zip.close()
        return self._buffer.taken()


class _Buffer(io.RawIOBase):
    """What was written and not yet sent. It cannot be sought in, so sizes and checksums follow their files."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(memoryview(data))  # type: ignore[arg-type]
        self._pieces.append(piece)
        self.size += len(piece)
        return len(piece)

    def taken(self) -> bytes:
        pieces, self._pieces, self.size = self._pieces, [], 0
        return b"".join(pieces)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
