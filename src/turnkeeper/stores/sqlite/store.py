"""All parts of one SQLite file."""

from pathlib import Path

from turnkeeper.model.ids import NodeId
from turnkeeper.ports.store import Store, WriteProbe
from turnkeeper.stores.sqlite.audit import SqliteAudit
from turnkeeper.stores.sqlite.bases import SqliteBases
from turnkeeper.stores.sqlite.database import SqliteDatabase
from turnkeeper.stores.sqlite.explanations import SqliteExplanations
from turnkeeper.stores.sqlite.feed import SqliteFeed, SqliteWakes
from turnkeeper.stores.sqlite.nodes import SqliteNodes
from turnkeeper.stores.sqlite.packs import SqlitePacks
from turnkeeper.stores.sqlite.runs import SqliteRuns
from turnkeeper.stores.sqlite.sessions import SqliteSessions
from turnkeeper.stores.sqlite.units import SqliteUnits


def sqlite_store(
    path: Path, node: NodeId, *, synchronous: str = "FULL", busy_seconds: float = 5.0, probe: WriteProbe | None = None
) -> Store:
    database = SqliteDatabase(path, synchronous=synchronous, busy_seconds=busy_seconds, probe=probe)
    audit = SqliteAudit(database, node)
    return Store(
        database=database,
        sessions=SqliteSessions(database, audit),
        runs=SqliteRuns(database, audit),
        feed=SqliteFeed(database),
        wakes=SqliteWakes(database),
        audit=audit,
        nodes=SqliteNodes(database),
        units=SqliteUnits(database),
        bases=SqliteBases(database, audit),
        explanations=SqliteExplanations(database),
        packs=SqlitePacks(database, audit),
    )
