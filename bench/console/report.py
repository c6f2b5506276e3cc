"""How smooth the console is, as a table: in the terminal and in bench/README.md."""

import asyncio
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench import report
from bench.console.house import QUICK, Sizes, a_full_house
from bench.console.measure import Measured, measure
from bench.report import Table

BEGIN, END = "<!-- console begin: written by `./dev bench console` -->", "<!-- console end -->"
WANTED_KIB = 300
WANTED_MS = 50


def run(say: Callable[[str], None], *, quick: bool) -> None:
    sizes, load = QUICK if quick else Sizes(), os.getloadavg()[0]
    measured = asyncio.run(_measured(say, sizes))
    table = table_of(measured, sizes)
    report.show(table)
    if quick:
        print("A quick round shows that it works, not how fast. Nothing was written to bench/: that is for full runs.")
        return
    text = [
        f"Measured with `./dev bench console`, load before {load:.2f}: one Chromium, with its server beside it.",
        report.markdown_table(table),
    ]
    report.write_part(BEGIN, END, "\n\n".join(text) + "\n")


async def _measured(say: Callable[[str], None], sizes: Sizes) -> Measured:
    say("filling a house")
    with tempfile.TemporaryDirectory() as folder:
        async with a_full_house(Path(folder), sizes) as full:
            say("looking at it")
            return await measure(full)


def table_of(measured: Measured, sizes: Sizes) -> Table:
    shown = {
        "session": f"a session of {sizes.messages:,} messages",
        "list": f"a list of {sizes.sessions:,} sessions",
        "graph": f"a graph of {sizes.nodes:,} nodes",
    }
    load = measured.first_load_bytes / 1_024
    rows = [["first load, compressed", f"≤ {WANTED_KIB} KiB", f"{load:.0f} KiB", _word(load <= WANTED_KIB)]]
    for name, what in shown.items():
        for verb, tasks in (("opened", measured.opened[name]), ("moved", measured.moved[name])):
            told = f"{tasks.longest:.0f} ms, {tasks.over(WANTED_MS)} longer"
            rows.append([f"{what}, {verb}", f"no task > {WANTED_MS} ms", told, _word(tasks.over(WANTED_MS) == 0)])
    return Table(title="The console", head=("", "wanted", "longest task", ""), rows=rows)


def _word(is_kept: bool) -> str:
    return "kept" if is_kept else "MISSED"
