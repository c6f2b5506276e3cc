"""All parts of one PostgreSQL database."""

from turnkeeper.model.ids import NodeId
from turnkeeper.ports.store import Store, WriteProbe
from turnkeeper.stores.postgres.answers import PostgresAnswers
from turnkeeper.stores.postgres.approvals import PostgresApprovals
from turnkeeper.stores.postgres.artifacts import PostgresArtifacts, PostgresBlobs
from turnkeeper.stores.postgres.audit import PostgresAudit
from turnkeeper.stores.postgres.bases import PostgresBases
from turnkeeper.stores.postgres.bindings import PostgresBindings
from turnkeeper.stores.postgres.buckets import PostgresBuckets
from turnkeeper.stores.postgres.checkpoints import PostgresCheckpoints
from turnkeeper.stores.postgres.collection import PostgresCollection
from turnkeeper.stores.postgres.contexts import PostgresContexts, PostgresLayouts
from turnkeeper.stores.postgres.custody import PostgresDevices, PostgresRevisions, PostgresSeals
from turnkeeper.stores.postgres.database import PostgresDatabase
from turnkeeper.stores.postgres.definitions import PostgresDefinitions
from turnkeeper.stores.postgres.effects import PostgresEffects
from turnkeeper.stores.postgres.erasure import PostgresErasure
from turnkeeper.stores.postgres.explanations import PostgresExplanations
from turnkeeper.stores.postgres.exports import PostgresExports
from turnkeeper.stores.postgres.feed import PostgresFeed
from turnkeeper.stores.postgres.histories import PostgresHistories
from turnkeeper.stores.postgres.keys import PostgresKeys
from turnkeeper.stores.postgres.layers import PostgresLayers, PostgresUsers
from turnkeeper.stores.postgres.manifests import PostgresManifests
from turnkeeper.stores.postgres.nodes import PostgresNodes
from turnkeeper.stores.postgres.outbox import PostgresOutbox
from turnkeeper.stores.postgres.outputs import PostgresOutputs
from turnkeeper.stores.postgres.overview import PostgresOverview
from turnkeeper.stores.postgres.packs import PostgresPacks
from turnkeeper.stores.postgres.pointers import PostgresPointers
from turnkeeper.stores.postgres.reach import PostgresReach
from turnkeeper.stores.postgres.retention import PostgresRetention
from turnkeeper.stores.postgres.runs import PostgresRuns
from turnkeeper.stores.postgres.sessions import PostgresSessions
from turnkeeper.stores.postgres.units import PostgresUnits
from turnkeeper.stores.postgres.wakes import PostgresWakes


def postgres_store(dsn: str, node: NodeId, *, pool_size: int = 16, probe: WriteProbe | None = None) -> Store:
    database = PostgresDatabase(dsn, pool_size=pool_size, probe=probe)
    audit = PostgresAudit(database, node)
    return Store(
        database=database,
        sessions=PostgresSessions(database, audit),
        runs=PostgresRuns(database, audit),
        approvals=PostgresApprovals(database, audit),
        checkpoints=PostgresCheckpoints(database),
        effects=PostgresEffects(database),
        feed=PostgresFeed(database),
        wakes=PostgresWakes(database, node),
        audit=audit,
        nodes=PostgresNodes(database),
        histories=PostgresHistories(database),
        units=PostgresUnits(database),
        bases=PostgresBases(database, audit),
        explanations=PostgresExplanations(database),
        packs=PostgresPacks(database, audit),
        answers=PostgresAnswers(database),
        buckets=PostgresBuckets(database),
        artifacts=PostgresArtifacts(database, audit),
        blobs=PostgresBlobs(database),
        manifests=PostgresManifests(database, audit),
        pointers=PostgresPointers(database, audit),
        outputs=PostgresOutputs(database, audit),
        reach=PostgresReach(database),
        collection=PostgresCollection(database),
        bindings=PostgresBindings(database, audit),
        outbox=PostgresOutbox(database, audit),
        layers=PostgresLayers(database, audit),
        users=PostgresUsers(database, audit),
        definitions=PostgresDefinitions(database, audit),
        contexts=PostgresContexts(database),
        layouts=PostgresLayouts(database),
        erasure=PostgresErasure(database, audit),
        retention=PostgresRetention(database),
        exports=PostgresExports(database),
        devices=PostgresDevices(database),
        seals=PostgresSeals(database, audit),
        keys=PostgresKeys(database, audit),
        revisions=PostgresRevisions(database),
        overview=PostgresOverview(database),
    )
