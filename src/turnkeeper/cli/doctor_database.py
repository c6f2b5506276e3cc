"""Whether the database of these settings can be used as it is."""

import asyncio
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from turnkeeper import databases
from turnkeeper.cli.findings import Finding, fault, warning, well
from turnkeeper.cli.local import local_file_of
from turnkeeper.cli.say import sized
from turnkeeper.databases import Survey
from turnkeeper.errors import TurnkeeperError
from turnkeeper.ports.tables import Door
from turnkeeper.server.identities import is_readable_by_others
from turnkeeper.settings import Settings

SCARCE_BYTES = 100 * 1024 * 1024
LITTLE_BYTES = 1024 * 1024 * 1024
CLOCKS_DIFFER_SECONDS = 2.0

# File systems of other machines, on which neither locks nor the shared memory of SQLite can be relied on.
REMOTE = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "glusterfs", "fuse.sshfs", "fuse.glusterfs", "lustre", "beegfs")


def look_at_database(settings: Settings) -> Iterator[Finding]:
    path = local_file_of(settings)
    if path is not None:
        yield from _look_at_folder(path)
        if not path.exists():
            yield well("database", f"{path} is not there yet; the first start makes it")
            return
        yield from _look_at_file(path)
    try:
        survey = asyncio.run(databases.survey(settings.database))
    except TurnkeeperError as error:
        yield fault("database", error.detail, "Mend what it says, or name another with --database.")
        return
    yield from _look_at_tables(survey)
    if path is None:
        yield _look_at_clock(settings)


def _look_at_folder(path: Path) -> Iterator[Finding]:
    folder = path.absolute().parent
    if not folder.is_dir():
        yield fault("folder", f"{folder} is no folder", f"mkdir -p {folder}")
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        yield fault("folder", f"{folder} cannot be written", "Give this user the right to write there.")
    kind = file_system_of(folder)
    if kind is not None and kind.startswith(REMOTE):
        yield warning(
            "file system",
            f"{folder} is on {kind}, where SQLite cannot rely on locks",
            "Keep the database on a disk of this machine, or use PostgreSQL.",
        )
    elif kind is not None:
        yield well("file system", kind)
    free = shutil.disk_usage(folder).free
    said = f"{sized(free)} free in {folder}"
    if free < LITTLE_BYTES:
        mend = "Make room. turnkeeper db vacuum gives back what was deleted."
        yield fault("disk", said, mend) if free < SCARCE_BYTES else warning("disk", said, mend)
    else:
        yield well("disk", said)


def _look_at_file(path: Path) -> Iterator[Finding]:
    if not os.access(path, os.R_OK | os.W_OK):
        yield fault("database file", f"{path} cannot be read and written", "Give this user the right to.")
        return
    if is_readable_by_others(path):
        yield warning("database file", f"{path} can be read by other users", f"chmod 600 {path}*")
    else:
        yield well("database file", f"{path} is for this user alone")
    try:
        _sync(path)
    except OSError as error:
        yield fault(
            "sync",
            f"the disk does not say when something is durable: {errno.errorcode.get(error.errno or 0, error)}",
            "Keep the database on another disk; what was answered might be lost.",
        )
    else:
        yield well("sync", "the disk says when something is durable")


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _look_at_tables(survey: Survey) -> Iterator[Finding]:
    said = f"{survey.kind}, {sized(survey.size_bytes)}, {survey.place}"
    if not survey.is_made:
        yield well("database", f"{said}; the first start makes its tables")
        return
    yield well("database", said)
    if survey.pending:
        pending = ", ".join(survey.pending)
        yield warning("schema", f"pending: {pending}", "turnkeeper db upgrade; the next start does it, too.")
    elif survey.door is not Door.FILLING:
        yield well("schema", f"up to date, at level {survey.level}")
    if survey.door is Door.MOVED:
        mend = "Name that one with --database. If a move broke before it was usable: turnkeeper db reopen."
        yield fault("door", f"it was moved to {survey.moved_to}", mend)
    elif survey.door is Door.FILLING:
        mend = "Use the source, or move it here again. If that is closed, too: turnkeeper db reopen for the source."
        yield fault("door", "a move into it did not come to its end", mend)
    elif survey.door is not Door.OPEN:
        yield fault("door", "it is being moved", "Wait for the move; if it was killed: turnkeeper db reopen.")


def _look_at_clock(settings: Settings) -> Finding:
    ahead = asyncio.run(databases.clock_difference(settings.database))
    said = f"the clock of the server is {abs(ahead):.1f} s {'ahead' if ahead > 0 else 'behind'}"
    if abs(ahead) > CLOCKS_DIFFER_SECONDS:
        return warning("clock", said, "Let both machines set their clocks by NTP. Leases go by that of the server.")
    return well("clock", said)


def file_system_of(folder: Path, mounts: Path = Path("/proc/mounts")) -> str | None:
    """The type of the file system, where this machine tells it."""
    try:
        lines = [line.split() for line in mounts.read_text(encoding="utf-8").splitlines()]
    except OSError:
        return None
    # What was mounted last over the longest part of the way is where the folder is.
    found = [
        (len(place), number, kind)
        for number, (_, place, kind, *_) in enumerate(lines)
        if folder.is_relative_to(place.replace("\\040", " "))
    ]
    return max(found)[2] if found else None
