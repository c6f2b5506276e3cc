"""One database with everything that turnkeeper keeps."""

from dataclasses import dataclass
from typing import Protocol

from turnkeeper.ports.answers import AnswerStore
from turnkeeper.ports.approvals import ApprovalStore
from turnkeeper.ports.artifacts import ArtifactStore, BlobStore
from turnkeeper.ports.audit import AuditStore
from turnkeeper.ports.bindings import BindingStore
from turnkeeper.ports.buckets import BucketStore
from turnkeeper.ports.checkpoints import CheckpointStore
from turnkeeper.ports.contexts import ContextStore, LayoutStore
from turnkeeper.ports.custody import DeviceStore, RevisionStore, SealStore
from turnkeeper.ports.definitions import DefinitionStore
from turnkeeper.ports.effects import EffectLedger
from turnkeeper.ports.erasure import ErasureStore, ExportStore, RetentionStore
from turnkeeper.ports.explanations import ExplanationStore
from turnkeeper.ports.feed import FeedStore, Wakes
from turnkeeper.ports.histories import HistoryStore
from turnkeeper.ports.keys import KeyStore
from turnkeeper.ports.knowledge_bases import KnowledgeBaseStore
from turnkeeper.ports.layers import LayerStore
from turnkeeper.ports.nodes import NodeStore
from turnkeeper.ports.outbox import OutboxStore
from turnkeeper.ports.overview import OverviewStore
from turnkeeper.ports.packs import PackStore
from turnkeeper.ports.runs import RunStore
from turnkeeper.ports.scopes import Reach
from turnkeeper.ports.sessions import SessionStore
from turnkeeper.ports.substrate import CollectionStore, ManifestStore, OutputStore, PointerStore
from turnkeeper.ports.units import UnitStore
from turnkeeper.ports.users import UserStore


class Database(Protocol):
    async def open(self) -> None:
        """Connect, and bring the schema up to date under a lock.

        Raises StoreUnavailable, SchemaTooNew or SchemaDamaged.
        """

    async def close(self) -> None:
        """Finish what was handed in, then let go of everything."""

    async def ping(self) -> None:
        """Raises StoreUnavailable when nothing can be written."""


class WriteProbe(Protocol):
    """Hears of every named durable write: `begun`, `written` (not yet durable) and `durable`."""

    def __call__(self, write: str, moment: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """The parts of one open database."""

    database: Database
    sessions: SessionStore
    runs: RunStore
    approvals: ApprovalStore
    checkpoints: CheckpointStore
    effects: EffectLedger
    feed: FeedStore
    wakes: Wakes
    audit: AuditStore
    nodes: NodeStore
    histories: HistoryStore
    units: UnitStore
    bases: KnowledgeBaseStore
    explanations: ExplanationStore
    packs: PackStore
    answers: AnswerStore
    buckets: BucketStore
    artifacts: ArtifactStore
    blobs: BlobStore
    manifests: ManifestStore
    pointers: PointerStore
    outputs: OutputStore
    reach: Reach
    collection: CollectionStore
    bindings: BindingStore
    outbox: OutboxStore
    layers: LayerStore
    users: UserStore
    definitions: DefinitionStore
    contexts: ContextStore
    layouts: LayoutStore
    erasure: ErasureStore
    retention: RetentionStore
    exports: ExportStore
    devices: DeviceStore
    seals: SealStore
    keys: KeyStore
    revisions: RevisionStore
    overview: OverviewStore
