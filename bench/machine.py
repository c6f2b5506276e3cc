"""On what it was measured: the machine, the versions, and which contenders are installed where."""

import json
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from bench.contenders import Entry

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / ".venv-peers" / "bin" / "python"

_IN_MEMORY = ("tmpfs", "ramfs", "overlay-memory")
_PACKAGES = (
    "turnkeeper",
    "msgspec",
    "asyncpg",
    "psycopg",
    "openai-agents",
    "langgraph",
    "langgraph-checkpoint",
    "langgraph-checkpoint-sqlite",
    "langgraph-checkpoint-postgres",
    "google-adk",
    "SQLAlchemy",
    "aiosqlite",
)

_QUESTION = """
import importlib.metadata, importlib.util, json, sys
modules, packages = json.loads(sys.argv[1])
def is_there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False
def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
print(json.dumps([[m for m in modules if is_there(m)], {p: version(p) for p in packages}]))
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python, the modules of interest that it can import, and its versions of the packages of interest."""

    path: Path
    modules: frozenset[str] = frozenset()
    versions: dict[str, str] = field(default_factory=dict)

    def has(self, entry: Entry) -> bool:
        return self.modules.issuperset(entry.needs)


def look_at(path: Path, entries: Iterable[Entry]) -> Interpreter:
    wanted = sorted({module for entry in entries for module in entry.needs})
    asked = [str(path), "-c", _QUESTION, json.dumps([wanted, _PACKAGES])]
    try:
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return Interpreter(path)
    modules, versions = json.loads(answer.stdout)
    return Interpreter(path, frozenset(modules), {name: text for name, text in versions.items() if text})


def facts(postgres: str | None, interpreters: Iterable[Interpreter], folder: Path) -> dict[str, str]:
    """What belongs beside every number."""
    versions: dict[str, str] = {}
    for interpreter in interpreters:
        versions |= {name: text for name, text in interpreter.versions.items() if name not in versions}
    return {
        "machine": f"{os.cpu_count()} cores ({_processor()}), {_memory()}, {file_system_of(folder)}",
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "load before": f"{os.getloadavg()[0]:.2f}",
        "Python": platform.python_version(),
        "SQLite": f"{sqlite3.sqlite_version}, WAL, synchronous=FULL",
        "PostgreSQL": f"{postgres}, fsync and synchronous_commit on" if postgres else "not measured",
        "packages": ", ".join(f"{name} {text}" for name, text in versions.items()),
    }


def folder_on_disk() -> Path:
    """Where temporary files go, unless that is memory, where nothing is ever durable."""
    usual = Path(tempfile.gettempdir())
    return ROOT if file_system_of(usual) in _IN_MEMORY else usual


@cache
def file_system_of(folder: Path) -> str:
    best, kind = "", "unknown file system"
    mounts = Path("/proc/self/mounts")
    for line in mounts.read_text().splitlines() if mounts.exists() else ():
        _, point, found, *_ = line.split()
        if folder.resolve().is_relative_to(point) and len(point) >= len(best):
            best, kind = point, found
    return kind


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.exists() else ():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    except (ValueError, OSError):
        return "memory unknown"


def this_python() -> Path:
    return Path(sys.executable)
