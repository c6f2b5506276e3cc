"""Sealing what clients carry, and the keys that this is done with."""

from collections.abc import Mapping, Sequence
from typing import Any

from turnkeeper.custody.sealing import Bearer, Sealing
from turnkeeper.errors import CarriedInvalid, NotAllowed, SealKeyNotFound
from turnkeeper.keeping.layers import AuditOf
from turnkeeper.model.envelope import Command
from turnkeeper.model.ids import SessionId, TenantId, UserId, is_id
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.model.seal import SealKey
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.custody import SealStore


class Seals:
    """Every tenant has keys of its own; its owner and admins look at them, rotate and retire them."""

    def __init__(self, store: SealStore, sealing: Sealing, clock: Clock, *, audit: AuditOf) -> None:
        self._store, self._sealing, self._clock, self._audit = store, sealing, clock, audit

    async def seal(self, carried: Mapping[str, Any], tenant: TenantId, user: UserId, session_id: SessionId) -> str:
        """What a client is given to carry, as a text that is good for this user in this session alone."""
        return await self._sealing.seal(carried, Bearer(tenant=tenant, user=user, session_id=session_id))

    async def open(self, text: str, session_id: str | None, *, principal: Principal = LOCAL) -> dict[str, Any]:
        """What was sealed for this user in this session. Raises CarriedInvalid."""
        if session_id is None:
            raise CarriedInvalid("no_session", "belongs to a session, and no session_id came with it")
        bearer = Bearer(tenant=principal.tenant, user=principal.user, session_id=SessionId(session_id))
        return await self._sealing.open(text, bearer)

    async def keys(self, *, principal: Principal = LOCAL) -> Sequence[SealKey]:
        """The oldest first; the newest one that is not retired is the one that seals. Raises NotAllowed."""
        _check(principal)
        return await self._store.keys(principal.tenant)

    async def rotate(self, *, principal: Principal = LOCAL, trace_id: str | None = None) -> SealKey:
        """Seal with a new key from now on. What was sealed before is opened as before. Raises NotAllowed."""
        _check(principal)
        key = self._sealing.new_key(principal.tenant)
        await self._store.add(key, self._audit(Command.ROTATE_SEALS, principal, trace_id, key=key.id))
        self._sealing.forget(principal.tenant)
        return key

    async def retire(self, id: str, *, principal: Principal = LOCAL, trace_id: str | None = None) -> None:
        """Destroy a key: what it has sealed is opened by nobody any more. Raises NotAllowed or SealKeyNotFound."""
        _check(principal)
        if not is_id(id):
            raise SealKeyNotFound(id)
        audit = self._audit(Command.RETIRE_SEAL, principal, trace_id, key=id)
        await self._store.retire(principal.tenant, id, audit, at=self._clock.now())
        self._sealing.forget(principal.tenant)


def _check(principal: Principal) -> None:
    if not principal.sees_whole_tenant or principal.session_id is not None:
        raise NotAllowed("Only owner and admin of a tenant have to do with the keys of its seals. Ask one of them.")
