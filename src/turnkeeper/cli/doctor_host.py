"""What this host can do: its Python, its SQLite, what is installed, and how much it lets a process have."""

import importlib.util
import platform
import resource
import sqlite3
import sys
from collections.abc import Iterator

from turnkeeper.cli.findings import Finding, fault, warning, well
from turnkeeper.server.version import own_version

OLDEST_PYTHON = (3, 11)
# STRICT tables came with the first, RETURNING with an earlier one.
OLDEST_SQLITE = (3, 37, 0)
FEW_OPEN_FILES = 4096

# What of each extra tells whether it is there, and what it brings.
EXTRAS = {
    "server": ("fastapi", "the HTTP server and this command"),
    "postgres": ("asyncpg", "PostgreSQL, for more than one machine"),
    "langgraph": ("langgraph", "LangGraph graphs as agents"),
    "packs": ("yaml", "packs: intents, forms and texts"),
    "channels": ("aiosmtplib", "e-mail and web hooks going out"),
    "bus": ("websockets", "the message bus"),
    "model": ("httpx2", "a chat model over HTTP"),
    "otel": ("opentelemetry", "spans and metrics for OpenTelemetry"),
}


def look_at_host() -> Iterator[Finding]:
    yield _python()
    yield well("turnkeeper", own_version())
    yield _sqlite()
    yield _search()
    yield from _extras()
    yield _open_files()


def _python() -> Finding:
    said = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.version_info < OLDEST_PYTHON:
        return fault("python", said, "Use Python 3.11 or newer.")
    return well("python", said)


def _sqlite() -> Finding:
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        return fault("sqlite", sqlite3.sqlite_version, "Use a Python that is built with SQLite 3.37 or newer.")
    return well("sqlite", sqlite3.sqlite_version)


def _search() -> Finding:
    memory = sqlite3.connect(":memory:")
    try:
        memory.execute("CREATE VIRTUAL TABLE words USING fts5 (said)")
    except sqlite3.OperationalError:
        return fault("search", "this SQLite lacks FTS5", "Use a Python whose SQLite is built with FTS5.")
    finally:
        memory.close()
    return well("search", "SQLite has FTS5")


def _extras() -> Iterator[Finding]:
    missing = {name: brings for name, (module, brings) in EXTRAS.items() if importlib.util.find_spec(module) is None}
    there = [name for name in EXTRAS if name not in missing]
    yield well("installed", ", ".join(there))
    for name, brings in missing.items():
        yield well(f"without {name}", f"not installed; it brings {brings}: pip install 'turnkeeper[{name}]'")


def _open_files() -> Finding:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < FEW_OPEN_FILES:
        return warning(
            "open files",
            f"this process may have {soft} open at once; each stream and each caller needs one",
            "Before you start it: ulimit -n 65536, or LimitNOFILE= in its systemd unit.",
        )
    return well("open files", "no limit" if soft == resource.RLIM_INFINITY else f"{soft} at once")
