"""How smooth the console is, as a table: in the terminal and in bench/README.md."""

import asyncio
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from bench import report
from bench.console.house import QUICK, Sizes, a_full_house
from bench.console.measure import Measured, measure
from bench.report import Table

BEGIN, END = "<!-- console begin: written by `./dev bench console` -->", "<!-- console end -->"
WANTED_KIB = 300
WANTED_MS = 50
ROUNDS = 5


def run(say: Callable[[str], None], *, quick: bool) -> None:
    sizes, load = QUICK if quick else Sizes(), os.getloadavg()[0]
    rounds = asyncio.run(_measured(say, sizes, rounds=1 if quick else ROUNDS))
    table = table_of(rounds, sizes)
    report.show(table)
    if quick:
        print("A quick round shows that it works, not how fast. Nothing was written to bench/: that is for full runs.")
        return
    text = [
        f"Measured with `./dev bench console`, load before {load:.2f}: one Chromium, with its server beside it.",
        report.markdown_table(table),
    ]
    report.write_part(BEGIN, END, "\n\n".join(text) + "\n")


async def _measured(say: Callable[[str], None], sizes: Sizes, rounds: int) -> list[Measured]:
    say("filling a house")
    with tempfile.TemporaryDirectory() as folder:
        async with a_full_house(Path(folder), sizes) as full:
            measured = []
            for number in range(rounds):
                say(f"looking at it, round {number + 1} of {rounds}")
                measured.append(await measure(full))
            return measured


def table_of(rounds: Sequence[Measured], sizes: Sizes) -> Table:
    shown = {
        "session": f"a session of {sizes.messages:,} messages",
        "list": f"a list of {sizes.sessions:,} sessions",
        "graph": f"a graph of {sizes.nodes:,} nodes",
    }
    load = max(measured.first_load_bytes for measured in rounds) / 1_024
    rows = [["first load, compressed", f"≤ {WANTED_KIB} KiB", f"{load:.0f} KiB", "", _word(load <= WANTED_KIB)]]
    for name, what in shown.items():
        for verb in ("opened", "moved"):
            longest = [getattr(measured, verb)[name].longest for measured in rounds]
            middle = median(longest)
            told = [f"{middle:.0f} ms", f"{max(longest):.0f} ms"]
            rows.append([f"{what}, {verb}", f"no task > {WANTED_MS} ms", *told, _word(middle <= WANTED_MS)])
    return Table(title="The console", head=("", "wanted", "longest task, median", "worst round", ""), rows=rows)


def _word(is_kept: bool) -> str:
    return "kept" if is_kept else "MISSED"
