"""The files inside a .zip or a .tar.gz, read with an eye on what they really unpack to."""

import gzip
import io
import stat
import tarfile
import zipfile
import zlib

from turnkeeper.packs.faults import PackFaultCode
from turnkeeper.packs.gathering import MIB, Gathering, Refused

_ZIP, _GZIP = b"PK", b"\x1f\x8b"
_ARCHIVE = "archive"
_KNOWN_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_IS_ENCRYPTED = 0x1

# What the readers of the standard library raise on an archive that is damaged, or made to do damage.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    tarfile.TarError,
    EOFError,
    OSError,
    ValueError,
    LookupError,
    ArithmeticError,
    NotImplementedError,
    RecursionError,
)


def read_archive(data: bytes, gathering: Gathering) -> None:
    if len(data) > 2 * gathering.limits.bytes + MIB - 1:
        message = f"An archive of a pack has at most {2 * gathering.limits.bytes:,} bytes. Take out what is not needed."
        raise Refused(_ARCHIVE, PackFaultCode.TOO_LARGE, message)
    try:
        if data.startswith(_ZIP):
            _read_zip(data, gathering)
        elif data.startswith(_GZIP):
            _read_tar(_unzipped(data, gathering), gathering)
        else:
            message = "This is neither a folder nor a .zip or .tar.gz. Name one of these."
            raise Refused(_ARCHIVE, PackFaultCode.NOT_AN_ARCHIVE, message)
    except _BROKEN:
        message = "The archive is damaged. Make it again, or name the folder itself."
        raise Refused(_ARCHIVE, PackFaultCode.BROKEN_ARCHIVE, message) from None


def _read_zip(data: bytes, gathering: Gathering) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for entry in archive.infolist():
            # Before `orig_filename` was cut at a null character it may have been another name.
            if not gathering.wants(entry.orig_filename) or entry.is_dir():
                continue
            if stat.S_ISLNK(entry.external_attr >> 16):
                _refuse_link(entry.filename, gathering)
            elif entry.flag_bits & _IS_ENCRYPTED or entry.compress_type not in _KNOWN_COMPRESSIONS:
                message = "This is encrypted, or compressed in a rare way. Make the archive with plain zip."
                gathering.refuse(entry.filename, PackFaultCode.CANNOT_READ, message)
            else:
                with archive.open(entry) as file:
                    gathering.take(entry.filename, file.read(gathering.most))


def _unzipped(data: bytes, gathering: Gathering) -> bytes:
    """The bare tar, which has some padding for each file."""
    most = 2 * gathering.limits.bytes + gathering.limits.files * 4096
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        unzipped = file.read(most + 1)
    if len(unzipped) > most:
        message = f"All files together have at most {gathering.limits.bytes:,} bytes. Take out what is not needed."
        raise Refused(_ARCHIVE, PackFaultCode.TOO_LARGE, message)
    return unzipped


def _read_tar(data: bytes, gathering: Gathering) -> None:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        # One by one: a header can point backwards, and then only our own count of them finds an end.
        while (entry := archive.next()) is not None:
            name = entry.name.removeprefix("./")
            if name in ("", ".") or not gathering.wants(name) or entry.isdir():
                continue
            if entry.type in (tarfile.REGTYPE, tarfile.AREGTYPE):
                file = archive.extractfile(entry)
                gathering.take(name, file.read(gathering.most) if file else b"")
            else:
                _refuse_link(name, gathering)


def _refuse_link(name: str, gathering: Gathering) -> None:
    message = "This is a link or a device, and neither is followed. Put the file itself into the archive."
    gathering.refuse(name, PackFaultCode.LINK, message)
