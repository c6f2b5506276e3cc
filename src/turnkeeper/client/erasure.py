"""What is left of what was erased, as a server tells it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnkeeper.client.pages import Page
from turnkeeper.client.part import MOST, Part
from turnkeeper.errors import NotAllowed, SessionNotFound, TurnkeeperError, UserNotFound
from turnkeeper.model.ids import ReceiptId, SessionId, UserId
from turnkeeper.model.receipt import Erased, ErasedKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    id: ReceiptId
    kind: ErasedKind
    subject: str
    erased: Erased
    erased_by: UserId
    erased_at: datetime


class Erasing(Part):
    async def receipts(self, *, before: str | None = None, limit: int = 50) -> Page[Receipt]:
        """Newest first; for owner and admin."""
        return await self._page(receipt_of, "receipts", cursor=before, limit=limit)

    async def receipt(self, receipt_id: str) -> Receipt:
        """For owner and admin. Raises ReceiptNotFound."""
        return receipt_of(await self._ask("GET", "receipts", receipt_id))

    async def session(self, session_id: str) -> Receipt:
        """For its owner, and for owner and admin of the tenant. Raises SessionNotFound or NotAllowed."""
        told = await self._ask("DELETE", "sessions", session_id)
        if told is None:
            return await self._found(ErasedKind.SESSION, session_id, SessionNotFound(SessionId(session_id)))
        return receipt_of(told)

    async def user(self, user: str) -> Receipt:
        """For the user itself, and for owner and admin of its tenant. Raises UserNotFound, NotAllowed or LastOwner."""
        told = await self._ask("DELETE", "users", user)
        if told is None:
            return await self._found(ErasedKind.USER, user, UserNotFound(UserId(user)))
        return receipt_of(told)

    async def _found(self, kind: ErasedKind, subject: str, gone: TurnkeeperError) -> Receipt:
        """The receipt of an erasure whose answer was lost. For who may not see it: that it is `gone`."""
        try:
            newest = await self.receipts(limit=MOST)
        except NotAllowed:
            raise gone from None
        for receipt in newest:
            if (receipt.kind, receipt.subject) == (kind, subject):
                return receipt
        raise gone


def receipt_of(told: Mapping[str, Any]) -> Receipt:
    return Receipt(
        id=ReceiptId(told["id"]),
        kind=ErasedKind(told["kind"]),
        subject=told["subject"],
        erased=Erased.of(told),
        erased_by=UserId(told["erased_by"]),
        erased_at=datetime.fromisoformat(told["erased_at"]),
    )
