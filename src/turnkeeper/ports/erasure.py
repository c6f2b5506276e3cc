"""What we ask of a database when something is to be erased, archived or exported."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.blob import Blob
from turnkeeper.model.ids import ReceiptId, SessionId, Subject, TenantId, UserId
from turnkeeper.model.manifest import NewManifest
from turnkeeper.model.pack import Classification
from turnkeeper.model.receipt import ErasureReason, Receipt

Place = tuple[SessionId, Subject]


@dataclass(frozen=True, slots=True, kw_only=True)
class Doomed:
    """What is to go, and whose it is. `places` are sessions with their subjects, `carried` those whose state a client
    keeps; `user` is whose rows go besides, and `pseudonym` what takes the place of the id where a row must stay.
    """

    tenant: TenantId
    owner: UserId
    places: Sequence[Place]
    carried: Sequence[Place] = ()
    user: UserId | None = None
    pseudonym: str | None = None

    @property
    def sessions(self) -> tuple[SessionId, ...]:
        return tuple(session_id for session_id, _ in self.places)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Content that what is doomed names, by id and by hash; and which of those names are used elsewhere.

    `since` is when that was looked for: what was sent after it is looked at once more.
    """

    ids: frozenset[str]
    hashes: frozenset[str]
    elsewhere: frozenset[str]
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What the receipt is to say besides the counts."""

    receipt_id: ReceiptId
    reason: ErasureReason
    threads: int
    erased_by: UserId
    at: datetime
    audit: AuditFacts


class ErasureStore(Protocol):
    async def of_user(self, tenant: TenantId, user: UserId) -> tuple[Sequence[Place], Sequence[Place]]:
        """The sessions of a user, and those whose state it keeps itself."""

    def named_in(self, doomed: Doomed) -> AsyncIterator[str]:
        """Everything in which what is doomed may name an artifact, and the ids and hashes of what came out of it."""

    async def erase(self, doomed: Doomed, named: Named, terms: Terms) -> tuple[Receipt, Sequence[Blob]]:
        """All rows in one transaction with the receipt; says which content has lost its last name.

        Whoever runs in one of the sessions has lost its lease. Raises SessionNotFound when a session is gone already,
        and LastOwner for the last owner of a tenant.
        """

    async def receipt(self, tenant: TenantId, receipt_id: ReceiptId) -> Receipt:
        """Raises ReceiptNotFound."""

    async def receipts(self, tenant: TenantId, *, before: ReceiptId | None, limit: int) -> Sequence[Receipt]:
        """Newest first."""

    def since(self, at: datetime) -> AsyncIterator[Receipt]:
        """Of every tenant."""

    async def scrub(self) -> bool:
        """Leave nothing of what was deleted in the files, as far as they are ours; False when to be tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverSession:
    """A session that is over."""

    tenant: TenantId
    id: SessionId
    closed_at: datetime
    classification: Classification | None
    archived_at: datetime | None


class RetentionStore(Protocol):
    def over(self, *, before: datetime) -> AsyncIterator[OverSession]:
        """Those of every tenant that have been over since before that moment."""

    async def mark_archived(
        self, tenant: TenantId, session_id: SessionId, archive: NewManifest, *, at: datetime
    ) -> bool:
        """Keep the manifest with the one entry that is the archive, name it, tell the feed, and drop the layout.

        False when the session is archived already, or gone; then nothing was written.
        """


class ExportStore(Protocol):
    """Rows as plain mappings, as they are kept, in their order and never all at once."""

    def rows(self, tenant: TenantId, place: Place, what: str) -> AsyncIterator[Mapping[str, Any]]:
        """`what` is one of EXPORTED."""

    async def contacts(self, tenant: TenantId, user: UserId) -> Sequence[Mapping[str, Any]]: ...

    async def session(self, tenant: TenantId, session_id: SessionId) -> Mapping[str, Any]:
        """Raises SessionNotFound."""


EXPORTED: Collection[str] = (
    "turns",
    "epochs",
    "units",
    "runs",
    "explanations",
    "feed",
    "checkpoints",
    "effects",
    "approvals",
    "deliveries",
    "outputs",
)
