"""How the time of a turn and the bytes on disk grow with the length of a session."""

import sqlite3
from importlib import import_module
from pathlib import Path

from bench.scenarios import Numbers, Task
from bench.scenarios.turns import milliseconds, walk
from bench.work import Place

MARKS = {10: 10, 100: 30, 300: 50, 1_000: 100}
"""How many turns up to each mark are taken for its p50."""


async def measure(task: Task) -> Numbers:
    """The session stays where it is, for others to open it cold."""
    contender = task.contender.make()
    await contender.open(task.place)
    session = await contender.create()
    took = await walk(contender, session, range(task.given["turns"]))
    await contender.close()
    marks = {mark: window for mark, window in MARKS.items() if mark <= len(took)}
    sizes = await bytes_by_table(task.place, task.contender.on_postgres)
    return {
        "session": session,
        "turns": len(took),
        "p50_ms_at": {mark: milliseconds(took[mark - window : mark]) for mark, window in marks.items()},
        "bytes_per_turn": sum(sizes.values()) / len(took),
        "bytes_per_turn_of": {table: size / len(took) for table, size in sizes.items()},
        "explanation_bytes": await _explanation_bytes(task),
    }


async def bytes_by_table(place: Place, on_postgres: bool) -> dict[str, int]:
    """Pages of each table with its indexes; of tables that are more than empty."""
    return await _bytes_on_postgres(place.server) if on_postgres else _bytes_on_sqlite(place.file)


def _bytes_on_sqlite(file: Path) -> dict[str, int]:
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        page = connection.execute("PRAGMA page_size").fetchone()[0]
        try:
            found = connection.execute(
                "SELECT m.tbl_name, sum(d.pgsize) FROM dbstat d JOIN sqlite_master m ON m.name = d.name GROUP BY 1"
            ).fetchall()
        except sqlite3.OperationalError:  # This SQLite was built without dbstat.
            return {"all tables": connection.execute("PRAGMA page_count").fetchone()[0] * page}
    connection.close()
    return {table: size for table, size in found if size > 2 * page}


async def _bytes_on_postgres(dsn: str) -> dict[str, int]:
    connection = await import_module("asyncpg").connect(dsn)
    try:
        await connection.execute("VACUUM")
        found = await connection.fetch(
            "SELECT relname, pg_total_relation_size(oid) AS size FROM pg_class "
            "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        )
    finally:
        await connection.close()
    return {row["relname"]: row["size"] for row in found if row["size"] > 65_536}


async def _explanation_bytes(task: Task) -> float | None:
    if not task.contender.name.endswith(":turnkeeper"):
        return None
    question = "SELECT avg(octet_length(data)) FROM explanations"
    if task.contender.on_postgres:
        connection = await import_module("asyncpg").connect(task.place.server)
        try:
            return float(await connection.fetchval(question))
        finally:
            await connection.close()
    with sqlite3.connect(task.place.file) as file:
        found = file.execute(question.replace("octet_length(data)", "length(CAST(data AS BLOB))")).fetchone()[0]
    file.close()
    return float(found)
