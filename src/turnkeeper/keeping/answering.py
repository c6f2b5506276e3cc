"""Doing a request once that is no message, and answering it alike however often it comes."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from turnkeeper.model.principal import Principal
from turnkeeper.ports.answers import AnswerStore
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.runs import RequestKey

GIVEN_UP_AFTER = timedelta(minutes=5)
"""How long nobody else begins what a node that says nothing may still be doing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to do a request, or with `answer` what was answered before."""

    key: str
    at: datetime
    answer: str | None


class Answering:
    def __init__(self, store: AnswerStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def claim(self, key: str, asked: bytes, *, about: str, principal: Principal) -> Claim:
        """`asked` is all of the request. Raises DuplicateRequest or RequestUnderWay."""
        at = self._clock.now()
        request = RequestKey(key=key, body_hash=hashlib.sha256(b"once\n" + asked).digest())
        answer = await self._store.claim(
            principal.tenant, principal.holder, request, about=about, at=at, stale=at - GIVEN_UP_AFTER
        )
        return Claim(key=key, at=at, answer=answer)

    async def answered(self, claim: Claim, answer: str, *, principal: Principal) -> None:
        await self._store.answer(principal.tenant, principal.holder, claim.key, answer, at=claim.at)

    async def refused(self, claim: Claim, *, principal: Principal) -> None:
        """Nothing was done, so that it may be asked again."""
        await self._store.release(principal.tenant, principal.holder, claim.key, at=claim.at)
