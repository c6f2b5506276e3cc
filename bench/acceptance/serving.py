"""Servers in processes of their own, which end with the block that they were started for."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.machine import ROOT

PATIENCE_SECONDS = 20.0
ARGUMENTS = {
    "ours": ("bench.acceptance.ours",),
    "plain": ("bench.acceptance.bare", "plain"),
    "group": ("bench.acceptance.bare", "group"),
}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens, and which process it is."""

    host: str
    port: int
    pid: int

    def cpu_seconds(self) -> float:
        """What its process has used so far, all threads together; 0 where the system does not tell."""
        file = Path(f"/proc/{self.pid}/stat")
        if not file.exists():
            return 0.0
        fields = file.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(name: str, folder: Path) -> Iterator[Address]:
    """One of ARGUMENTS with a new database in this folder, once it listens."""
    module, *way = ARGUMENTS[name]
    command = [sys.executable, "-m", module, str(folder / f"{name}.db"), *way]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TURNKEEPER_")}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("Listening on "):
            raise RuntimeError(f"{name} did not start; it said {line!r}")
        host, _, port = line.rpartition("/")[2].strip().partition(":")
        yield Address(host, int(port), process.pid)
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
