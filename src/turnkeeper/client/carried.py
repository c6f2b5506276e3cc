"""Where a client keeps the session that it carries, from one message to the next and over restarts."""

import contextlib
import json
import os
import sqlite3
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

OWNER_ONLY = 0o600


class SessionKeep(Protocol):
    """Called from a thread of its own, one call at a time."""

    def load(self, session_id: str) -> dict[str, Any] | None:
        """The session as it was kept last; None where there is none yet."""

    def save(self, session_id: str, session: Mapping[str, Any]) -> None:
        """Keep all of it or nothing: what was there before stays whole until this is done."""


class MemoryKeep:
    """For as long as this object lives."""

    def __init__(self) -> None:
        self._sessions: dict[str, str] = {}

    def load(self, session_id: str) -> dict[str, Any] | None:
        kept = self._sessions.get(session_id)
        return None if kept is None else _session(kept)

    def save(self, session_id: str, session: Mapping[str, Any]) -> None:
        self._sessions[session_id] = json.dumps(session)


class FileKeep:
    """One session in one file, which only its owner may read. It may be read, changed and copied by hand."""

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)

    def load(self, session_id: str) -> dict[str, Any] | None:
        """Raises ValueError for a file that holds something else."""
        try:
            session = _session(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError:
            raise ValueError(f"{self._path} holds no session; move it away, or choose another file") from None
        if session.get("session_id") != session_id:
            raise ValueError(f"{self._path} keeps the session {session.get('session_id')!r}; choose another file")
        return session

    def save(self, session_id: str, session: Mapping[str, Any]) -> None:
        text = json.dumps({**session, "session_id": session_id}, ensure_ascii=False, indent=2)
        # A temporary file of this module is for its owner only from the start.
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text + "\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self._path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
            raise


class SqliteKeep:
    """Any number of sessions in one SQLite file, also of several programs."""

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)

    def load(self, session_id: str) -> dict[str, Any] | None:
        if not self._path.exists():
            return None
        with contextlib.closing(self._opened()) as database:
            row = database.execute("SELECT session FROM carried WHERE session_id = ?", (session_id,)).fetchone()
        return None if row is None else _session(row[0])

    def save(self, session_id: str, session: Mapping[str, Any]) -> None:
        with contextlib.closing(self._opened()) as database, database:
            database.execute(
                "INSERT INTO carried (session_id, session) VALUES (?, ?) "
                "ON CONFLICT (session_id) DO UPDATE SET session = excluded.session",
                (session_id, json.dumps(session)),
            )

    def _opened(self) -> sqlite3.Connection:
        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, OWNER_ONLY))
        database = sqlite3.connect(self._path, timeout=30.0)
        database.execute("CREATE TABLE IF NOT EXISTS carried (session_id TEXT PRIMARY KEY, session TEXT NOT NULL)")
        return database


def _session(text: str) -> dict[str, Any]:
    session = json.loads(text)
    if not isinstance(session, dict):
        raise ValueError("a session is an object")
    return session
