"""`python -m bench`: measure, judge, and write down."""

import argparse
import asyncio
import os
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import asyncpg

from bench import report
from bench.acceptance import report as acceptance
from bench.bus import report as bus
from bench.console import report as console
from bench.contenders import ENTRIES
from bench.extraction import report as extraction
from bench.machine import PEERS, facts, folder_on_disk, look_at, this_python
from bench.plan import QUICK, Bench, Sizes
from bench.targets import verdicts
from tests.postgres import PostgresServer
from turnkeeper.knowledge.extraction import RuleExtractor

SCENARIOS = ("one_turn", "at_once", "processes", "writers", "growth", "length", "counted")
EXTRACTION, ACCEPTANCE, BUS, CONSOLE = "extraction", "acceptance", "bus", "console"
APART = {EXTRACTION, ACCEPTANCE, BUS, CONSOLE}
NOT_WRITTEN = "Nothing was written to bench/: that is for full runs with all contenders, without names or --quick."


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev bench",
        description="Measures turns of turnkeeper, of bare databases and of other session stores, interleaved.",
        epilog=f"names: {', '.join(SCENARIOS)}; sqlite, postgres; {', '.join(ENTRIES)}; or extraction, "
        "acceptance, bus or console, by itself",
    )
    parser.add_argument("names", nargs="*", help="scenarios, databases or contenders; all of them if none is named")
    parser.add_argument("--rounds", type=int, help="how often each measurement is taken (3)")
    parser.add_argument("--quick", action="store_true", help="one small round: to see that it works, not how fast")
    parser.add_argument("--postgres", metavar="DSN", help="a server to use instead of one of our own; 'none' for none")
    parser.add_argument("--peers", type=Path, default=PEERS, help="a Python with bench/requirements-peers.txt")
    asked = parser.parse_args()
    unknown = set(asked.names) - {*SCENARIOS, "sqlite", "postgres", *ENTRIES, *APART}
    if unknown:
        parser.error(f"nothing is called {', '.join(sorted(unknown))}; see --help")
    if APART.intersection(asked.names) and len(asked.names) > 1:
        parser.error("extraction, acceptance, bus and console have contenders of their own: name each by itself")
    return asked


def main() -> int:
    asked = arguments()
    if asked.names == [EXTRACTION]:
        extraction.run(RuleExtractor())
        return 0
    began = time.monotonic()
    if asked.names == [ACCEPTANCE]:
        acceptance.run(Progress(began), quick=asked.quick, rounds=asked.rounds)
        return 0
    if asked.names == [BUS]:
        bus.run(Progress(began), quick=asked.quick, rounds=asked.rounds)
        return 0
    if asked.names == [CONSOLE]:
        console.run(Progress(began), quick=asked.quick)
        return 0
    sizes = QUICK if asked.quick else Sizes(rounds=3)
    sizes = replace(sizes, rounds=asked.rounds or sizes.rounds)
    with ExitStack() as at_the_end:
        server, version = _server(asked.postgres, at_the_end)
        folder = folder_on_disk()
        interpreters = [look_at(path, ENTRIES.values()) for path in (this_python(), asked.peers)]
        about = facts(version, interpreters, folder)
        for name, text in about.items():
            print(f"{name}: {text}")
        bench = Bench(
            sizes=sizes,
            ours=interpreters[0],
            peers=interpreters[1],
            folder=folder,
            server=server,
            wanted=frozenset(asked.names),
        )
        bench.run(Progress(began))
    Progress(began)("")
    medians = bench.results.medians()
    judged = verdicts(medians, full=not asked.quick)
    for table in (*report.tables(medians), report.targets_table(judged)):
        report.show(table)
    for name, why in bench.not_measured.items():
        print(f"not measured: {name}: {why}")
    print(f"\ntook {time.monotonic() - began:.0f} s")
    if asked.names or asked.quick:
        print(NOT_WRITTEN)
    else:
        command = "./dev bench" + (f" --rounds {asked.rounds}" if asked.rounds else "")
        report.write(medians, judged, about, bench.not_measured, command)
    return 0


def _server(dsn: str | None, at_the_end: ExitStack) -> tuple[str | None, str | None]:
    """The address of a durable server, and its version."""
    if dsn == "none":
        return None, None
    if dsn is None:
        own = at_the_end.enter_context(PostgresServer())
        own.start(durable=True)
        dsn = own.dsn()
    return dsn, asyncio.run(_version(dsn))


async def _version(dsn: str) -> str:
    connection = await asyncpg.connect(dsn)
    try:
        for setting in ("fsync", "synchronous_commit"):
            if await connection.fetchval(f"SHOW {setting}") != "on":
                sys.exit(
                    f"The server at --postgres has {setting} off: its numbers would not be those of durable turns."
                )
        version: str = await connection.fetchval("SHOW server_version")
    finally:
        await connection.close()
    return version.split()[0]


class Progress:
    """One line that is rewritten on a terminal; elsewhere a line whenever the scenario changes."""

    def __init__(self, began: float) -> None:
        self._began = began
        self._last = ""

    def __call__(self, text: str) -> None:
        seconds = time.monotonic() - self._began
        if sys.stdout.isatty():
            width = os.get_terminal_size().columns
            print(f"\r\033[K{f'{text} ({seconds:.0f} s)'[: width - 1] if text else ''}", end="", flush=True)
        elif text and text.split(",")[0] != self._last:
            self._last = text.split(",")[0]
            print(f"{self._last} ({seconds:.0f} s)", flush=True)


if __name__ == "__main__":
    sys.exit(main())
