"""How `turnkeeper chat` finds a server on the same database, without copying its token, and `turnkeeper bus` its bus.

The server leaves a note next to its SQLite file that only its own user can read, and takes it away when it stops.
"""

import contextlib
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from turnkeeper.cli.settled import own_settings
from turnkeeper.settings import Settings

log = logging.getLogger(__name__)

BUS_URL = "ws://127.0.0.1:8181/core"
"""Where a bus is unless said otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    url: str
    token: str
    pid: int
    bus: str | None = None


def note_of(settings: Settings) -> Path | None:
    path = local_file_of(settings)
    return None if path is None else path.with_name(path.name + "-server")


@contextlib.contextmanager
def announced(note: Path | None, server: LocalServer | None) -> Iterator[None]:
    """Leave the note while this runs. Of several servers on one file the last one to start is found."""
    if note is None or server is None:
        yield
        return
    try:
        _leave(note, server)
    except OSError as error:
        log.warning("no note for local clients", extra={"reason": error.strerror})
    try:
        yield
    finally:
        if found_at(note) == server:
            note.unlink(missing_ok=True)


def _leave(note: Path, server: LocalServer) -> None:
    fresh = note.with_name(f"{note.name}.{server.pid}")
    # Made by us with these rights: a file that lies there already may belong to somebody else.
    fresh.unlink(missing_ok=True)
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(asdict(server), file)
    fresh.replace(note)


def found_at(note: Path | None) -> LocalServer | None:
    """The server that left this note; None when there is none, or none that can be read."""
    if note is None:
        return None
    try:
        said = json.loads(note.read_text(encoding="utf-8"))
        return LocalServer(url=said["url"], token=said["token"], pid=said["pid"], bus=said.get("bus"))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def bus_at(url: str | None) -> str:
    """The bus that is named, else that of the server on the local database. Raises ValueError."""
    if url is None:
        local = found_at(note_of(own_settings()))
        return (local.bus if local else None) or BUS_URL
    if not url.startswith(("ws://", "wss://")):
        raise ValueError(f"{url!r} is no address of a bus; one looks like {BUS_URL}")
    return url


def local_file_of(settings: Settings) -> Path | None:
    """The file of a SQLite database; None for a database on a server."""
    if "://" in settings.database and not settings.database.startswith("sqlite:///"):
        return None
    return Path(settings.database.removeprefix("sqlite:///"))
