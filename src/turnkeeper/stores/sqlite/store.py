"""All parts of one SQLite file."""

from pathlib import Path

from turnkeeper.model.ids import NodeId
from turnkeeper.ports.store import Store, WriteProbe
from turnkeeper.stores.sqlite.answers import SqliteAnswers
from turnkeeper.stores.sqlite.approvals import SqliteApprovals
from turnkeeper.stores.sqlite.artifacts import SqliteArtifacts, SqliteBlobs
from turnkeeper.stores.sqlite.audit import SqliteAudit
from turnkeeper.stores.sqlite.bases import SqliteBases
from turnkeeper.stores.sqlite.bindings import SqliteBindings
from turnkeeper.stores.sqlite.buckets import SqliteBuckets
from turnkeeper.stores.sqlite.checkpoints import SqliteCheckpoints
from turnkeeper.stores.sqlite.collection import SqliteCollection
from turnkeeper.stores.sqlite.contexts import SqliteContexts, SqliteLayouts
from turnkeeper.stores.sqlite.custody import SqliteDevices, SqliteRevisions, SqliteSeals
from turnkeeper.stores.sqlite.database import SqliteDatabase
from turnkeeper.stores.sqlite.definitions import SqliteDefinitions
from turnkeeper.stores.sqlite.effects import SqliteEffects
from turnkeeper.stores.sqlite.erasure import SqliteErasure
from turnkeeper.stores.sqlite.explanations import SqliteExplanations
from turnkeeper.stores.sqlite.exports import SqliteExports
from turnkeeper.stores.sqlite.feed import SqliteFeed, SqliteWakes
from turnkeeper.stores.sqlite.histories import SqliteHistories
from turnkeeper.stores.sqlite.keys import SqliteKeys
from turnkeeper.stores.sqlite.layers import SqliteLayers, SqliteUsers
from turnkeeper.stores.sqlite.manifests import SqliteManifests
from turnkeeper.stores.sqlite.nodes import SqliteNodes
from turnkeeper.stores.sqlite.outbox import SqliteOutbox
from turnkeeper.stores.sqlite.outputs import SqliteOutputs
from turnkeeper.stores.sqlite.overview import SqliteOverview
from turnkeeper.stores.sqlite.packs import SqlitePacks
from turnkeeper.stores.sqlite.pointers import SqlitePointers
from turnkeeper.stores.sqlite.reach import SqliteReach
from turnkeeper.stores.sqlite.retention import SqliteRetention
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
        approvals=SqliteApprovals(database, audit),
        checkpoints=SqliteCheckpoints(database),
        effects=SqliteEffects(database),
        feed=SqliteFeed(database),
        wakes=SqliteWakes(database),
        audit=audit,
        nodes=SqliteNodes(database),
        histories=SqliteHistories(database),
        units=SqliteUnits(database),
        bases=SqliteBases(database, audit),
        explanations=SqliteExplanations(database),
        packs=SqlitePacks(database, audit),
        answers=SqliteAnswers(database),
        buckets=SqliteBuckets(database),
        artifacts=SqliteArtifacts(database, audit),
        blobs=SqliteBlobs(database),
        manifests=SqliteManifests(database, audit),
        pointers=SqlitePointers(database, audit),
        outputs=SqliteOutputs(database, audit),
        reach=SqliteReach(database),
        collection=SqliteCollection(database),
        bindings=SqliteBindings(database, audit),
        outbox=SqliteOutbox(database, audit),
        layers=SqliteLayers(database, audit),
        users=SqliteUsers(database, audit),
        definitions=SqliteDefinitions(database, audit),
        contexts=SqliteContexts(database),
        layouts=SqliteLayouts(database),
        erasure=SqliteErasure(database, audit),
        retention=SqliteRetention(database),
        exports=SqliteExports(database),
        devices=SqliteDevices(database),
        seals=SqliteSeals(database, audit),
        keys=SqliteKeys(database, audit),
        revisions=SqliteRevisions(database),
        overview=SqliteOverview(database),
    )
