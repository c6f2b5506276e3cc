"""The bus beside other relays as tables and as a chart: in the terminal, in bench/README.md, and as JSON."""

import json
import os
import platform
import statistics
from dataclasses import replace
from pathlib import Path

from bench import report
from bench.bus.chart import TITLES, chart
from bench.bus.clients import CHARACTERS
from bench.bus.measure import QUICK, WARM_UP, Measured, Say, Sizes, measure
from bench.bus.serving import BARE, ORCHESTRATED, OURS, PATCHED, install_stock
from bench.report import Table

HERE = Path(__file__).resolve().parent
BEGIN, END = "<!-- bus begin: written by `./dev bench bus` -->", "<!-- bus end -->"
WANTED_RATIO = 1.5
WANTED_BYTES = 100
"""A session that a process remembers costs far more than this."""


def run(say: Say, *, quick: bool, rounds: int | None) -> None:
    sizes = QUICK if quick else Sizes()
    sizes = replace(sizes, rounds=rounds or sizes.rounds)
    load = os.getloadavg()[0]
    why_not = install_stock()
    measured = measure(sizes, say, with_stock=why_not is None)
    every = (_relays(measured, sizes), _memory(measured, sizes))
    for table in every:
        report.show(table)
    judged = verdicts(measured, sizes)
    print("\n" + "\n".join(judged))
    if why_not is not None:
        print(f"not measured: the stock bus: {why_not}")
    if quick or why_not is not None:
        print("Nothing was written to bench/: that is for full runs with all relays.")
        return
    command = "./dev bench bus" + (f" --rounds {rounds}" if rounds else "")
    text = [
        f"Measured with `{command}`, {os.cpu_count()} cores, Python {platform.python_version()}, load {load:.2f}.",
        "![Round trips and messages a second over our bus, a bare relay and the stock bus](bus.svg)",
        "\n".join(f"- {line}" for line in judged),
        *(part for table in every for part in (f"### {table.title}", table.note, report.markdown_table(table))),
    ]
    report.write_part(BEGIN, END, "\n\n".join(text) + "\n")
    (report.HERE / "bus.svg").write_text(chart(measured), encoding="utf-8")
    (HERE / "results.json").write_text(json.dumps(_kept(measured), indent=1) + "\n", encoding="utf-8")


def verdicts(measured: Measured, sizes: Sizes) -> list[str]:
    """Each target with what was measured."""
    ours, bare = measured.relays[OURS], measured.relays[BARE]
    per_session = max(_growth(measured, name, sizes) for name in (OURS, ORCHESTRATED))
    told = [
        f"Round trip: wanted at most {WANTED_RATIO} x the bare relay, measured {ours.ratio(bare):.2f} x: "
        f"{_word(ours.ratio(bare) <= WANTED_RATIO)}.",
        f"Messages a second: wanted at least the bare relay / {WANTED_RATIO}, measured {_speed(measured):.2f} x it: "
        f"{_word(_speed(measured) >= 1 / WANTED_RATIO)}.",
        f"Memory over {sizes.sessions:,} new named sessions: wanted flat, at most {WANTED_BYTES} bytes a session, "
        f"measured {per_session:.0f}: {_word(per_session <= WANTED_BYTES)}.",
    ]
    if PATCHED in measured.relays:
        stock = measured.relays[PATCHED]
        ahead = ours.ratio(stock) < 1 and _median(ours.per_second) > _median(stock.per_second)
        told.append(
            f"Stock bus with TCP_NODELAY: wanted ahead of it, measured {ours.ratio(stock):.2f} x its round trip and "
            f"{_median(ours.per_second) / _median(stock.per_second):.1f} x its messages a second: {_word(ahead)}."
        )
    return told


def _relays(measured: Measured, sizes: Sizes) -> Table:
    bare = measured.relays[BARE]
    rows = [
        (
            TITLES[name],
            f"{series.trip(0.5):,.3f}",
            f"{series.trip(0.99):,.3f}",
            f"{series.ratio(bare):.2f}",
            f"{_median(series.per_second):,.0f}",
            f"{_median(series.in_crowd):,.0f}",
        )
        for name, series in measured.relays.items()
    ]
    return Table(
        f"Round trips and messages of {CHARACTERS} characters",
        ("relay", "p50 ms", "p99 ms", "p50 x bare", "messages/s", f"to {sizes.crowd} listeners"),
        rows,
        f"Medians of {sizes.rounds} rounds, new processes in each. A round trip is a question of one client and the "
        "answer of another, both over the bus, one at a time. Messages a second is one way to "
        f"{sizes.listeners} clients, who all hear each; the last column is the same to more of them. Clients write "
        "frames that are ready and count bytes. All on the loop of asyncio. The stock bus as shipped waits for "
        "Nagle's algorithm.",
    )


def _memory(measured: Measured, sizes: Sizes) -> Table:
    rows = [
        (
            TITLES[name],
            f"{before / 1e6:.1f}",
            f"{after / 1e6:.1f}",
            f"{_growth(measured, name, sizes):.0f}",
        )
        for name, (before, after) in measured.memory.items()
    ]
    return Table(
        f"Memory over {sizes.sessions:,} new named sessions",
        ("process", "MB before", "MB after", "bytes a session"),
        rows,
        f"Before is after {max(WARM_UP, sizes.sessions // 5):,} other sessions, when everything is loaded.",
    )


def _growth(measured: Measured, name: str, sizes: Sizes) -> float:
    before, after = measured.memory[name]
    return max(0, after - before) / sizes.sessions


def _speed(measured: Measured) -> float:
    return _median(measured.relays[OURS].per_second) / _median(measured.relays[BARE].per_second)


def _median(values: list[float]) -> float:
    return statistics.median(values)


def _word(is_kept: bool) -> str:
    return "kept" if is_kept else "MISSED"


def _kept(measured: Measured) -> dict[str, object]:
    return {
        "relays": {
            name: {
                "p50_ms": round(series.trip(0.5), 4),
                "p99_ms": round(series.trip(0.99), 4),
                "p50_ratio_to_bare": round(series.ratio(measured.relays[BARE]), 3),
                "messages_per_second": [round(each) for each in series.per_second],
                "messages_per_second_in_crowd": [round(each) for each in series.in_crowd],
            }
            for name, series in measured.relays.items()
        },
        "memory_bytes": {name: list(sizes) for name, sizes in measured.memory.items()},
    }
