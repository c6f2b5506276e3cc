"""What goes over the wire about what was erased."""

from datetime import datetime

from turnkeeper.model.receipt import ErasedKind, ErasureReason, Receipt
from turnkeeper.server.wire import Outbound


class DatabaseErasedOut(Outbound):
    """How many rows of each table went, and how many were changed."""

    erased: dict[str, int]
    changed: dict[str, int]


class ContentErasedOut(Outbound):
    files: int


class GraphsErasedOut(Outbound):
    threads: int


class StoresErasedOut(Outbound):
    database: DatabaseErasedOut
    content: ContentErasedOut
    graphs: GraphsErasedOut


class KeptOut(Outbound):
    """What had to stay. A count of 0 is what always stays."""

    what: str
    count: int
    why: str


class ReceiptOut(Outbound):
    """`erased_by` is `-` where the house did it. `pseudonym` stands where the id of a user was, in rows of others."""

    id: str
    kind: ErasedKind
    subject: str
    erased_by: str
    erased_at: datetime
    reason: ErasureReason
    sessions: list[str]
    stores: StoresErasedOut
    kept: list[KeptOut]
    pseudonym: str | None

    @classmethod
    def of(cls, receipt: Receipt) -> "ReceiptOut":
        return cls(
            id=receipt.id,
            kind=receipt.kind,
            subject=receipt.subject,
            erased_by=receipt.erased_by,
            erased_at=receipt.erased_at,
            **receipt.erased.told,
        )
