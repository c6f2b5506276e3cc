"""The session of a device, in the memory of the one process that owns it.

A restart forgets it unless it is kept. There is one for each user of a tenant, and it is called `default`.
"""

import asyncio
import copy
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from turnkeeper.custody.client import end_of
from turnkeeper.custody.packing import CARRIED_CUT, Carried, Packing, carried_of
from turnkeeper.errors import EnvelopeInvalid, SessionMoved
from turnkeeper.knowledge.retrieval import UnitMemory
from turnkeeper.model.explanation import Explanation
from turnkeeper.model.ids import RunId, TenantId, UnitId, UserId
from turnkeeper.model.lease import Lease
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.model.run import Run
from turnkeeper.model.session import DEVICE_SESSION, Conversation
from turnkeeper.model.turn import Turn
from turnkeeper.model.unit import Unit, UnitChanges, UnitPlace
from turnkeeper.ports.audit import AuditStore
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.custodian import Kept, ResetOrder
from turnkeeper.ports.custody import DeviceFields, DeviceStore
from turnkeeper.ports.runs import RunStore

log = logging.getLogger(__name__)

CONVERSATION = "turnkeeper"
"""The field of the carrier that holds the conversation; all the others are the business of the bus."""


class DeviceMemory:
    """The fields of the carrier, known and unknown ones. To write is one step of the event loop: there is no between.

    Without a store it is never durable. Whoever keeps something holds `keeping`: what is kept takes the place of the
    version that was known here, and of no newer one.
    """

    def __init__(self, store: DeviceStore | None, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._fields: dict[tuple[TenantId, UserId], dict[str, Any]] = {}
        self._versions: dict[tuple[TenantId, UserId], int] = {}
        self.keeping = asyncio.Lock()

    def read(self, principal: Principal = LOCAL) -> dict[str, Any]:
        """A copy; changing it changes nothing here."""
        return copy.deepcopy(self._fields.get(_owner(principal), {}))

    def write(self, fields: Mapping[str, Any], principal: Principal = LOCAL) -> None:
        """In place of what was there."""
        self._fields[_owner(principal)] = copy.deepcopy(dict(fields))

    async def keep(self, principal: Principal = LOCAL) -> None:
        """Where it is kept, what is there now is durable when this returns; else nothing happens.

        Raises SessionMoved when another process has kept something since; from then on that is what is here.
        """
        async with self.keeping:
            await self.keep_now(principal)

    async def keep_now(self, principal: Principal) -> None:
        """The same, for who holds `keeping`."""
        if self._store is not None and (kept := self.kept(self.read(principal), principal)) is not None:
            try:
                await self._store.keep(principal.tenant, kept, at=self._clock.now())
            except SessionMoved:
                await self.load_now(principal)
                raise
            self.was_kept(principal)

    async def load(self, principal: Principal = LOCAL) -> None:
        """Take over what was kept last, by whichever process; nothing where nothing is kept."""
        async with self.keeping:
            await self.load_now(principal)

    async def load_now(self, principal: Principal) -> None:
        """The same, for who holds `keeping`."""
        if self._store is not None:
            kept = await self._store.load(*_owner(principal), DEVICE_SESSION)
            self._fields[_owner(principal)] = {} if kept is None else dict(kept.fields)
            self._versions[_owner(principal)] = 0 if kept is None else kept.version

    async def ready(self, principal: Principal = LOCAL) -> None:
        """Take over what was kept, unless this process holds something already."""
        if self._store is not None and _owner(principal) not in self._fields:
            async with self.keeping:
                if _owner(principal) not in self._fields:
                    await self.load_now(principal)

    def kept(self, fields: Mapping[str, Any], principal: Principal = LOCAL) -> DeviceFields | None:
        """What must be durable of these fields; None where nothing is kept."""
        if self._store is None:
            return None
        version = self._versions.get(_owner(principal), 0)
        return DeviceFields(user=principal.user, session_id=DEVICE_SESSION, fields=fields, version=version)

    def was_kept(self, principal: Principal) -> None:
        """What `kept` gave is durable by now."""
        self._versions[_owner(principal)] = self._versions.get(_owner(principal), 0) + 1

    def forget(self, tenant: TenantId, user: UserId) -> None:
        self._fields.pop((tenant, user), None)
        self._versions.pop((tenant, user), None)


def _owner(principal: Principal) -> tuple[TenantId, UserId]:
    return principal.tenant, principal.user


@dataclass(frozen=True, slots=True)
class DeviceCustodian:
    """Of two turns that began with the same revision one is kept; the other one is refused, and changes nothing."""

    packing: Packing
    device: DeviceMemory
    runs: RunStore
    audit: AuditStore
    clock: Clock
    _last_reset: dict[tuple[TenantId, UserId], RunId] = field(default_factory=dict)

    async def open(self, run: Run) -> Conversation:
        whose = Principal(tenant=run.tenant, user=run.user)
        await self.device.ready(whose)
        return self.packing.opened(run, self._carried(whose))

    def _carried(self, whose: Principal) -> Carried | None:
        """What the field holds. One that is malformed is none: a device goes on, whatever was put into it."""
        value = self.device.read(whose).get(CONVERSATION)
        if value is None:
            return None
        try:
            return carried_of(value)
        except EnvelopeInvalid as error:
            log.warning("conversation of the device left out", extra={"reason": error.detail, "tenant": whose.tenant})
            return None

    async def reset(self, run: Run, lease: Lease, conversation: Conversation, order: ResetOrder) -> Conversation:
        """It stands at once, in the memory of the device too."""
        session, owner = conversation.session, (run.tenant, run.user)
        if self._last_reset.get(owner) == run.first_attempt:
            return conversation
        now = self.clock.now()
        await self.audit.record(order.audited(run, conversation, now))
        after = conversation.after_reset(session.epoch.next(at=now, last_seq=session.last_seq), order.params)
        async with self.device.keeping:
            whose = self._unmoved(conversation)
            self._last_reset[owner] = run.first_attempt
            self.device.write(self._with(self.packing.packed(after)[0], whose), whose)
            await self.device.keep_now(whose)
        return after

    def memory(self, conversation: Conversation) -> UnitMemory:
        return self.packing.memory(conversation)

    async def settle(
        self,
        conversation: Conversation,
        staged: Sequence[Unit],
        place: UnitPlace,
        *,
        forgotten: Sequence[UnitId] = (),
    ) -> UnitChanges:
        return await self.packing.settle(conversation, staged, place, forgotten)

    def carried(self, conversation: Conversation) -> None:
        return None

    def kept_until(self, run: Run, at: datetime) -> None:
        return None

    async def keep(
        self, run: Run, turn: Turn, lease: Lease, conversation: Conversation, explanation: Explanation
    ) -> Kept:
        after = conversation.after(turn)
        carried, is_cut = self.packing.packed(after)
        warnings = (CARRIED_CUT,) if is_cut else ()
        async with self.device.keeping:
            whose = self._unmoved(conversation)
            kept = self.device.kept(self._with(carried, whose), whose)
            try:
                committed = await self.runs.end(lease, replace(end_of(turn, explanation, warnings), device=kept))
            except SessionMoved:
                # Another process owns it by now. What it has kept is what the next turn here begins with.
                await self.device.load_now(whose)
                raise
            self.device.write(self._with(carried, whose), whose)
            self.device.was_kept(whose)
        return Kept(committed=replace(committed, revision=after.session.revision), warnings=warnings)

    def _unmoved(self, conversation: Conversation) -> Principal:
        """Whose session it is. Raises SessionMoved when another turn was kept since this one began."""
        session = conversation.session
        whose = Principal(tenant=session.tenant, user=session.owner)
        carried = self._carried(whose)
        if (carried.revision if carried else 0) != session.revision:
            raise SessionMoved(session.id, expected_revision=session.revision)
        return whose

    def _with(self, carried: Mapping[str, Any], whose: Principal) -> dict[str, Any]:
        """Beside what the bus has written into the other fields by now."""
        return {**self.device.read(whose), CONVERSATION: carried}
