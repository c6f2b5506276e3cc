"""The files of a pack, out of a folder or an archive that nobody has to trust."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from turnkeeper.packs.archives import read_archive
from turnkeeper.packs.faults import PackFault, PackFaultCode, Place, fault_at, in_order
from turnkeeper.packs.gathering import MIB, FileLimits, Gathering, Refused


def read_files(
    source: Path | bytes | Mapping[str, str],
    *,
    most_files: int = 500,
    most_file_bytes: int = MIB,
    most_bytes: int = MIB,
) -> tuple[dict[str, str], tuple[PackFault, ...]]:
    """The texts of a folder, of an archive or its bytes, or texts as they are sent, by their path in the pack."""
    gathering = Gathering(limits=FileLimits(files=most_files, file_bytes=most_file_bytes, bytes=most_bytes))
    try:
        if isinstance(source, Path) and source.is_dir():
            _read_folder(source, gathering)
        elif isinstance(source, Mapping):
            _read_texts(source, gathering)
        else:
            read_archive(_archive_at(source, gathering) if isinstance(source, Path) else source, gathering)
            gathering.contents = _without_top_folder(gathering.contents)
    except Refused as refused:
        gathering.faults.append(refused.fault)
    texts = {
        name: text for name, content in sorted(gathering.contents.items()) for text in _texts(name, content, gathering)
    }
    return texts, in_order(gathering.faults)


def _read_texts(texts: Mapping[str, str], gathering: Gathering) -> None:
    for name, text in texts.items():
        if gathering.wants(name):
            gathering.take(name, text.encode("utf-8", "surrogatepass"))


def _read_folder(folder: Path, gathering: Gathering) -> None:
    for entry, name in _entries(folder, "", gathering):
        if entry.is_symlink():
            message = "This is a link, and links are not followed. Put the file itself into the pack."
            gathering.refuse(name, PackFaultCode.LINK, message)
        elif not stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
            message = "This is neither a file nor a folder. Take it out of the pack."
            gathering.refuse(name, PackFaultCode.CANNOT_READ, message)
        else:
            gathering.take(name, _content_of(entry.path, name, gathering.most))


def _entries(folder: Path | str, above: str, gathering: Gathering) -> Iterator[tuple[os.DirEntry[str], str]]:
    """Everything below a folder that is no folder itself, in the order of names."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise Refused(above or ".", PackFaultCode.CANNOT_READ, _cannot_read(error)) from None
    for entry in entries:
        name = f"{above}{entry.name}"
        if not gathering.wants(name):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _entries(entry.path, f"{name}/", gathering)
        else:
            yield entry, name


def _content_of(path: str | Path, name: str, most: int) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(most)
    except (OSError, ValueError) as error:
        raise Refused(name, PackFaultCode.CANNOT_READ, _cannot_read(error)) from None


def _archive_at(path: Path, gathering: Gathering) -> bytes:
    # Compressed or not, an archive is not much larger than what it holds.
    return _content_of(path, path.name, 2 * gathering.limits.bytes + MIB)


def _cannot_read(error: OSError | ValueError) -> str:
    reason = error.strerror if isinstance(error, OSError) else "its name holds a null character"
    return f"This cannot be read: {reason}. Check the path and its permissions."


def _without_top_folder(contents: dict[str, bytes]) -> dict[str, bytes]:
    tops = {name.split("/", 1)[0] for name in contents}
    if len(tops) != 1 or not all("/" in name for name in contents):
        return contents
    return {name.split("/", 1)[1]: content for name, content in contents.items()}


def _texts(name: str, content: bytes, gathering: Gathering) -> Iterator[str]:
    try:
        # Some editors put a mark in front of UTF-8; it is not part of the text.
        yield content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        place = Place(line=before.count(b"\n") + 1, column=len(before) - before.rfind(b"\n"))
        message = "From here on this is not text in UTF-8. Save it as UTF-8, or take it out of the pack."
        gathering.faults.append(fault_at(name, place, PackFaultCode.NOT_TEXT, message))
