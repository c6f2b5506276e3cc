"""The relays that are compared, each in a process of its own for as long as it is needed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.machine import ROOT

HERE = Path(__file__).resolve().parent
STOCK = ROOT / ".venv-bus" / "bin" / "python"
PATIENCE_SECONDS = 20.0

OURS, UNGUARDED, BARE, PATCHED, SHIPPED = "ours", "unguarded", "bare", "stock-nodelay", "stock"
ORCHESTRATED = "orchestrated"
COMMANDS: dict[str, tuple[str, ...]] = {
    OURS: (sys.executable, "-m", "bench.bus.ours"),
    UNGUARDED: (sys.executable, "-m", "bench.bus.ours", "unguarded"),
    ORCHESTRATED: (sys.executable, "-m", "bench.bus.orchestrated"),
    BARE: (sys.executable, "-m", "bench.bus.bare"),
    PATCHED: (str(STOCK), str(HERE / "stock.py"), "nodelay"),
    SHIPPED: (str(STOCK), str(HERE / "stock.py")),
}


@dataclass(frozen=True, slots=True)
class Served:
    """Where a relay listens, and which process it is."""

    port: int
    pid: int

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_bytes(self) -> int:
        """What its process holds in memory now."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def install_stock() -> str | None:
    """Make the environment of the stock bus, once. Gives why that was not possible."""
    if not STOCK.exists():
        wanted = str(ROOT / "bench" / "requirements-bus.txt")
        try:
            subprocess.run([sys.executable, "-m", "venv", str(STOCK.parents[1])], check=True, capture_output=True)
            subprocess.run([str(STOCK), "-m", "pip", "install", "-q", "-r", wanted], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            return f"it could not be installed: {error}"
    return None


@contextmanager
def serving(name: str) -> Iterator[Served]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TURNKEEPER_")}
    process = subprocess.Popen(
        COMMANDS[name], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("Listening on "):
            raise RuntimeError(f"{name} did not start; it said {line!r}")
        yield Served(int(line.split()[-1]), process.pid)
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
