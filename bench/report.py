"""The numbers as tables: in the terminal, in bench/README.md, and as JSON."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.chart import chart
from bench.contenders import ENTRIES, Entry
from bench.targets import Medians, Verdict

HERE = Path(__file__).resolve().parent
BEGIN, END = "<!-- results begin: written by `./dev bench` -->", "<!-- results end -->"
DATABASES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}

_RED, _GREEN, _GREY = 31, 32, 90


@dataclass(frozen=True, slots=True)
class Table:
    """The first column is text, the others are numbers."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def tables(medians: Medians) -> list[Table]:
    every = [
        _one_turn(medians),
        _at_once(medians),
        _writers(medians),
        _growth(medians),
        _bytes(medians),
        _create_and_open(medians),
    ]
    return [table for table in every if table.rows]


def targets_table(verdicts: Sequence[Verdict]) -> Table:
    rows = [
        (verdict.title, DATABASES[verdict.database], verdict.wanted, verdict.measured, _word(verdict))
        for verdict in verdicts
    ]
    return Table("Targets", ("target", "database", "wanted", "measured", ""), rows)


def _word(verdict: Verdict) -> str:
    return {True: "kept", False: "MISSED", None: "-"}[verdict.kept]


def _listed(medians: Medians, scenario: str) -> list[tuple[Entry, Mapping[str, Any]]]:
    found = medians.get(scenario, {})
    return [(entry, found[entry.name]) for entry in ENTRIES.values() if entry.name in found]


def _name(entry: Entry) -> str:
    return f"{DATABASES[entry.database]}: {entry.title}"


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _one_turn(medians: Medians) -> Table:
    rows = []
    for entry, numbers in _listed(medians, "one_turn"):
        times = numbers["times"]
        bare = 1.0 if entry.name.endswith(":raw") else times.get(f"{entry.database}:raw")
        same_rows = times.get(f"{entry.database}:raw-rows")
        figures = (numbers["p50_ms"], numbers["p99_ms"], bare, same_rows, numbers["cpu_ms"])
        rows.append((_name(entry), *map(_number, figures)))
    return Table(
        "One client, one session",
        ("contender", "p50 ms", "p99 ms", "x bare turn", "x bare, our rows", "CPU ms"),
        rows,
        "A turn loads 20 messages and the state, and adds two messages of 400 characters and 500 bytes of state, "
        "durably. Ratios are taken inside one process, block by block. CPU is that of the client's process; where a "
        "run is prepared outside of the measured time, it holds that too.",
    )


def _at_once(medians: Medians) -> Table:
    rows = []
    for scenario in sorted((name for name in medians if name.startswith("at_once/")), key=lambda n: int(n[8:])):
        for entry, numbers in _listed(medians, scenario):
            figures = (
                scenario[8:],
                _number(numbers["turns_per_s"], 0),
                _number(numbers["p50_ms"]),
                _number(numbers["max_ms"], 0),
                _number(numbers["slowest_to_fastest"]),
                _number(numbers["cpu_ms"]),
            )
            rows.append((_name(entry), *figures))
    for entry, numbers in _listed(medians, "processes"):
        speed, ratio = _number(numbers["turns_per_s"], 0), _number(numbers["ratio"])
        rows.append((f"{_name(entry)}, two processes", "2 x 32", speed, "-", "-", ratio, "-"))
    return Table(
        "Sessions at once",
        ("contender", "sessions", "turns/s", "p50 ms", "max ms", "slowest/fastest", "CPU ms"),
        rows,
        "Where only the store is measured, all sessions prepare and then take their turns together, wave by wave.",
    )


def _writers(medians: Medians) -> Table:
    rows = []
    for entry, numbers in _listed(medians, "writers"):
        off = numbers["counter_off_by"]
        figures = (
            f"{numbers['acknowledged']:.0f}/{numbers['asked']:.0f}",
            _number(numbers["lost_messages"], 0),
            _number(numbers["half_turns"], 0),
            _number(numbers["split_turns"], 0),
            "no state" if off is None else _number(off, 0),
            _number(numbers["turns_per_s"], 0),
        )
        rows.append((_name(entry), *figures))
    return Table(
        "Eight writers on one session",
        ("contender", "acknowledged", "messages lost", "half turns", "split turns", "state updates lost", "turns/s"),
        rows,
        "Nobody tries again. Lost messages are acknowledged ones that the session no longer has.",
    )


def _growth(medians: Medians) -> Table:
    rows = []
    for entry, numbers in _listed(medians, "growth"):
        at = numbers["p50_ms_at"]
        length = medians.get("length", {}).get(entry.name)
        figures = [_number(at.get(mark)) for mark in ("10", "100", "300", "1000")]
        last = "-"
        if length is not None:
            last = (
                f"{length['p50_ms']:.2f} at {length['long']:,.0f} ({length['times']:.2f} x at {length['short']:,.0f})"
            )
        rows.append((_name(entry), *figures, last, _number(numbers["bytes_per_turn"], 0)))
    return Table(
        "Growth of one session",
        ("contender", "p50 ms at 10", "at 100", "at 300", "at 1,000", "a long one", "bytes a turn"),
        rows,
        "The text of a turn is 800 bytes. LangGraph stops at 300 turns: its bytes grow with the square of the length. "
        "A long session is compared with a shorter one in the same process, block by block.",
    )


def _bytes(medians: Medians) -> Table:
    by_database = {
        database: medians.get("growth", {}).get(f"{database}:turnkeeper", {}).get("bytes_per_turn_of", {})
        for database in DATABASES
    }
    names = sorted(
        {t for tables in by_database.values() for t in tables}, key=lambda t: -by_database["sqlite"].get(t, 0)
    )
    rows = [(name, *(_number(by_database[database].get(name), 0) for database in DATABASES)) for name in names]
    return Table("Our bytes a turn, by table with its indexes", ("table", *DATABASES.values()), rows)


def _create_and_open(medians: Medians) -> Table:
    rows = []
    created, opened = dict(_listed(medians, "create")), dict(_listed(medians, "cold_open"))
    for entry in ENTRIES.values():
        if entry in created or entry in opened:
            cold = opened.get(entry, {})
            figures = (
                _number(created.get(entry, {}).get("sessions_per_s"), 0),
                _number(cold.get("open_ms")),
                _number(cold.get("read_ms")),
                _number(cold.get("cold_ms")),
            )
            rows.append((_name(entry), *figures))
    return Table(
        "Creating a session, and opening a long one cold",
        ("contender", "created/s", "open ms", "read 20 ms", "together ms"),
        rows,
        "A new process opens a session of 1,000 turns (LangGraph: 300) and reads its newest 20 messages. On SQLite no "
        "page of the file is in memory; on PostgreSQL the server's cache is warm.",
    )


# --- the terminal


def paint(text: str, colour: int) -> str:
    return f"\033[{colour}m{text}\033[0m" if sys.stdout.isatty() and "NO_COLOR" not in os.environ else text


def show(table: Table) -> None:
    print(f"\n{table.title}")
    widths = [max(len(row[place]) for row in (table.head, *table.rows)) for place in range(len(table.head))]
    is_text = table.title == "Targets"
    for row in (table.head, *table.rows):
        cells = [
            cell.ljust(width) if place == 0 or is_text else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = "  ".join(cells).rstrip()
        if row is table.head:
            line = paint(line, _GREY)
        elif row[-1] == "MISSED":
            line = paint(line, _RED)
        elif row[-1] == "kept":
            line = line.removesuffix("kept") + paint("kept", _GREEN)
        print(f"  {line}")


# --- the files


def write(
    medians: Medians,
    verdicts: Sequence[Verdict],
    facts: Mapping[str, str],
    not_measured: Mapping[str, str],
    command: str,
) -> None:
    kept = {
        "facts": dict(facts),
        "targets": [asdict(verdict) for verdict in verdicts],
        "not_measured": dict(not_measured),
        "medians": medians,
    }
    (HERE / "results.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    (HERE / "chart.svg").write_text(chart(medians), encoding="utf-8")
    write_part(BEGIN, END, _markdown(medians, verdicts, facts, not_measured, command))


def write_part(begin: str, end: str, text: str) -> None:
    """Put a text in the place between two marks of bench/README.md."""
    readme = HERE / "README.md"
    before, _, rest = readme.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    readme.write_text(f"{before}{begin}\n\n{text}\n{end}{after}", encoding="utf-8")


def _markdown(
    medians: Medians,
    verdicts: Sequence[Verdict],
    facts: Mapping[str, str],
    not_measured: Mapping[str, str],
    command: str,
) -> str:
    parts = [f"Measured with `{command}`.", "![Turns against the bare database and against peers](chart.svg)"]
    parts.append("\n".join(f"- {name}: {text}" for name, text in facts.items()))
    for table in (targets_table(verdicts), *tables(medians)):
        parts += [f"### {table.title}", *([table.note] if table.note else []), markdown_table(table)]
    if not_measured:
        parts.append("### Not measured")
        parts.append("\n".join(f"- {name}: {why}" for name, why in not_measured.items()))
    return "\n\n".join(parts) + "\n"


def markdown_table(table: Table) -> str:
    numbers = ":---" if table.title == "Targets" else "---:"
    lines = [_line(table.head), _line(["---", *[numbers] * (len(table.head) - 1)])]
    for row in table.rows:
        bold = row[-1] == "MISSED" or "turnkeeper" in row[0]
        lines.append(_line([f"**{cell}**" if bold and cell not in ("", "-") else cell for cell in row]))
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
