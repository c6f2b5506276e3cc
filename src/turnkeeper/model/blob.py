"""The bytes behind artifacts: one content of a tenant, piece by piece, under the hash of all of it."""

from dataclasses import dataclass

from turnkeeper.model.ids import TenantId

PIECE_BYTES = 524_288
"""How much of content is held in memory at a time. Files are read in pieces of this size, so it never changes."""

IN_FILES = "file_"
"""How the name of an upload begins whose bytes lie in files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of content, verified by its own hash. `data` is empty where the bytes lie elsewhere already."""

    no: int
    sha256: str
    data: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blob:
    """Content of a tenant. `content` names the upload that brought its bytes."""

    tenant: TenantId
    sha256: str
    size: int
    content: str

    @property
    def lies_in_files(self) -> bool:
        return self.content.startswith(IN_FILES)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBlob:
    """An upload whose bytes have all come. `pieces` are those still to be written with it, of `count` in all."""

    blob: Blob
    count: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteRange:
    """From `first` to `last`, both included."""

    first: int
    last: int

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last:
            raise ValueError("a ByteRange does not end before it begins")

    @property
    def size(self) -> int:
        return self.last - self.first + 1
