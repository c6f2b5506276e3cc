"""The latencies as tables and as a chart: in the terminal, in bench/README.md, and as JSON."""

import asyncio
import json
import os
import platform
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import uvloop

from bench import report
from bench.acceptance.chart import PARTS, TITLES, chart
from bench.acceptance.measure import QUICK, Measured, Say, Series, Sizes, measure
from bench.machine import file_system_of, folder_on_disk
from bench.report import Table

HERE = Path(__file__).resolve().parent
BEGIN, END = "<!-- acceptance begin: written by `./dev bench acceptance` -->", "<!-- acceptance end -->"
WANTED_RATIO = 1.5


def run(say: Say, *, quick: bool, rounds: int | None) -> None:
    sizes = QUICK if quick else Sizes()
    sizes = replace(sizes, rounds=rounds or sizes.rounds)
    load = os.getloadavg()[0]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        measured = runner.run(measure(sizes, say))
    every = (_accepting(measured, sizes), _chatting(measured, sizes))
    for table in every:
        report.show(table)
    print(f"\n{verdict(measured)}")
    if quick:
        print("A quick round shows that it works, not how fast. Nothing was written to bench/: that is for full runs.")
        return
    command = "./dev bench acceptance" + (f" --rounds {rounds}" if rounds else "")
    text = [
        f"Measured with `{command}`, {_machine()}, load before {load:.2f}.",
        "![How fast envelopes are taken in, and chats beside a stalled reader](acceptance.svg)",
        verdict(measured),
        *(part for table in every for part in (f"### {table.title}", table.note, report.markdown_table(table))),
    ]
    report.write_part(BEGIN, END, "\n\n".join(text) + "\n")
    drawn = chart(measured, clients=sizes.clients, talkers=sizes.talkers)
    (report.HERE / "acceptance.svg").write_text(drawn, encoding="utf-8")
    (HERE / "results.json").write_text(json.dumps(_kept(measured), indent=1) + "\n", encoding="utf-8")


def verdict(measured: Measured) -> str:
    ours, plain, group = (measured.accepting[name] for name in ("ours", "plain", "group"))
    ratio = ours.ratio(plain, 0.5)
    word = "kept" if ratio <= WANTED_RATIO else "MISSED"
    return (
        f"Wanted: p50 of acceptance at most {WANTED_RATIO} x that of a route which only validates and inserts one row. "
        f"Measured over the whole run: {ratio:.2f} x, {word}; single rounds from {min(ours.ratios(plain, 0.5)):.2f} to "
        f"{max(ours.ratios(plain, 0.5)):.2f}. Against a group commit: {ours.ratio(group, 0.5):.2f} x."
    )


def _accepting(measured: Measured, sizes: Sizes) -> Table:
    plain = measured.accepting["plain"]
    rows = [
        (TITLES[name], *_figures(series), f"{series.cpu_ms:.2f}", f"{series.ratio(plain, 0.5):.2f}")
        for name, series in measured.accepting.items()
    ]
    return Table(
        f"Acceptance, {sizes.clients} clients at once",
        ("server", "p50 ms", "p95 ms", "p99 ms", "requests/s", "CPU ms", "p50 x bare"),
        rows,
        f"{sizes.rounds} rounds with new servers and databases; in each, {sizes.blocks} blocks of {sizes.requests} "
        "requests a client. CPU is the server's, for one request. By its own count, from the envelope read to its "
        f"durable intake, our server took {measured.acceptance_ms:.0f} ms on average.",
    )


def _chatting(measured: Measured, sizes: Sizes) -> Table:
    reader = measured.chatting["reader"]
    rows = [
        (TITLES[name], *_figures(series), f"{series.cpu_ms:.2f}", f"{series.ratio(reader, 0.5):.2f}")
        for name, series in measured.chatting.items()
    ]
    return Table(
        f"{sizes.talkers} clients chat beside a stream",
        ("beside", "p50 ms", "p95 ms", "p99 ms", "answers/s", "CPU ms", "p50 x read"),
        rows,
        "Whole turns with the echo, each client in a session of its own. The stream says 100 pieces of 2,100 "
        "characters a second; its reader takes all of it or, stalled, nothing at all. CPU holds that of the stream.",
    )


def _figures(series: Series) -> tuple[str, ...]:
    return (*(f"{series.at(part):,.1f}" for part in PARTS), f"{series.per_second:,.0f}")


def _machine() -> str:
    return (
        f"{os.cpu_count()} cores, {file_system_of(folder_on_disk())}, Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version} with WAL and synchronous=FULL"
    )


def _kept(measured: Measured) -> dict[str, object]:
    ours = measured.accepting["ours"]
    return {
        "accepting": _numbers(measured.accepting),
        "chatting": _numbers(measured.chatting),
        "counted_acceptance_ms": round(measured.acceptance_ms, 3),
        "p50_ratios_by_round": {
            name: [round(ratio, 3) for ratio in ours.ratios(measured.accepting[name], 0.5)]
            for name in ("plain", "group")
        },
    }


def _numbers(every: Mapping[str, Series]) -> dict[str, dict[str, float]]:
    return {
        name: {
            **{f"p{part * 100:.0f}_ms": round(series.at(part), 3) for part in PARTS},
            "per_second": round(series.per_second, 1),
            "cpu_ms": round(series.cpu_ms, 3),
        }
        for name, series in every.items()
    }
