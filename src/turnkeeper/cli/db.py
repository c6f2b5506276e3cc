"""What a database is like, from the terminal: its state, its schema, its room."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from turnkeeper import databases
from turnkeeper.cli.say import complain, counting, put_out, sized
from turnkeeper.cli.settled import own_settings
from turnkeeper.errors import TurnkeeperError
from turnkeeper.ports.tables import Door, Survey

DOORS = {
    Door.OPEN: "open",
    Door.NO_INTAKE: "being moved; no new messages, but runs may finish",
    Door.CLOSED: "being moved; nobody may write",
    Door.MOVED: "moved to {}; nobody may write here any more",
    Door.FILLING: "not filled to its end; no node opens it",
}
A_COLUMN = 26


def show_status(database: str | None, *, as_json: bool) -> int:
    def show(address: str) -> int:
        survey = asyncio.run(databases.survey(address))
        put_out(json.dumps(_told(survey), indent=2) + "\n" if as_json else _page(survey))
        return 0 if survey.is_made else 1

    return _with_database(database, show)


def upgrade(database: str | None, *, only_check: bool) -> int:
    def check(address: str) -> int:
        survey = asyncio.run(databases.survey(address))
        if not survey.is_made:
            print(f"There is no database at {survey.place} yet.")
            return 1
        for name in survey.pending:
            print(f"pending  {name}")
        if not survey.pending:
            print(f"{survey.place} is up to date, at level {survey.level}.")
        return 1 if survey.pending else 0

    def apply(address: str) -> int:
        applied = asyncio.run(databases.upgrade(address))
        for name in applied:
            print(f"applied  {name}")
        survey = asyncio.run(databases.survey(address))
        print(f"{survey.place} is up to date, at level {survey.level}.")
        return 0

    return _with_database(database, check if only_check else apply)


def vacuum(database: str | None) -> int:
    def compact(address: str) -> int:
        before, after = asyncio.run(databases.vacuum(address))
        won = before - after
        said = f"{sized(won)} given back: {sized(before)} before" if won > 0 else "Nothing to give back"
        print(f"{said}, {sized(after)} now.")
        if "://" in address.removeprefix("sqlite:///"):
            print("PostgreSQL keeps most of the room that became free, for what comes next.")
        return 0

    return _with_database(database, compact)


def _with_database(database: str | None, work: Callable[[str], int]) -> int:
    try:
        return work(own_settings(database=database).database)
    except ValueError as error:
        return complain(str(error))
    except TurnkeeperError as error:
        return complain(error.detail, code=1)


def _page(survey: Survey) -> str:
    lines = [f"{survey.kind}, {sized(survey.size_bytes)}", survey.place, ""]
    if not survey.is_made:
        return "\n".join([*lines, "There are no tables yet; the first node makes them, or turnkeeper db upgrade.", ""])
    pending = counting(len(survey.pending), "migration", "migrations")
    lines += [
        f"{'schema':12}level {survey.level}, for code of level {survey.min_code} and newer",
        f"{'pending':12}{f'{pending}; run turnkeeper db upgrade' if survey.pending else 'nothing'}",
        f"{'door':12}{DOORS[survey.door].format(survey.moved_to)}",
        f"{'nodes':12}{survey.living_nodes} seen in the last 30 seconds",
        f"{'open runs':12}{survey.open_runs}",
        "",
    ]
    cells = [f"{_counted(rows):>9}  {table}" for table, rows in survey.tables.items() if rows]
    half = -(-len(cells) // 2)
    for left, right in zip(cells[:half], [*cells[half:], ""], strict=False):
        lines.append(f"{left:{A_COLUMN + 12}}{right}".rstrip())
    if empty := sum(not rows for rows in survey.tables.values()):
        lines.append(f"{'':11}{counting(empty, 'more table is', 'more tables are')} empty")
    return "\n".join([*lines, ""])


def _counted(rows: int) -> str:
    return f"{rows}+" if rows >= Survey.COUNTED else str(rows)


def _told(survey: Survey) -> dict[str, Any]:
    return {
        "kind": survey.kind,
        "place": survey.place,
        "size_bytes": survey.size_bytes,
        "is_made": survey.is_made,
        "level": survey.level,
        "min_code": survey.min_code,
        "pending": list(survey.pending),
        "door": survey.door.value,
        "moved_to": survey.moved_to,
        "living_nodes": survey.living_nodes,
        "open_runs": survey.open_runs,
        "tables": dict(survey.tables),
        "counted_up_to": Survey.COUNTED,
    }
