"""Remembering what was answered to a request, so that the same request is done once."""

from datetime import datetime
from typing import Protocol

from turnkeeper.model.ids import TenantId, UserId
from turnkeeper.ports.runs import RequestKey


class AnswerStore(Protocol):
    """For requests that are no messages; those are remembered with their runs, under the same keys."""

    async def claim(
        self, tenant: TenantId, user: UserId, request: RequestKey, *, about: str, at: datetime, stale: datetime
    ) -> str | None:
        """None for the one who is to do it, and to say at `at` what was answered; else what was answered before.

        `about` is the session that it is about, if any, with which it is erased. A claim from before `stale` that was
        never answered is given away. Raises DuplicateRequest, or RequestUnderWay while somebody else is at it.
        """

    async def answer(self, tenant: TenantId, user: UserId, key: str, answer: str, *, at: datetime) -> None:
        """Keep the answer of who claimed at this moment; nothing when the claim was given away since."""

    async def release(self, tenant: TenantId, user: UserId, key: str, *, at: datetime) -> None:
        """Forget a claim whose request was refused: asked again, it is looked at anew."""
