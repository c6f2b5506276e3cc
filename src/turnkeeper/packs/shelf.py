"""Packs as turns use them: read once, and kept at hand for as long as they are wanted."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field

from turnkeeper.errors import ExtraMissing, PackIntegrityError, PackInvalid, PackNotFound
from turnkeeper.model.ids import TenantId
from turnkeeper.model.mount import Mount, MountKind
from turnkeeper.model.pack import Pack, PackPin, PushedPack, parse_ref
from turnkeeper.model.pack_config import PackConfig
from turnkeeper.ports.packs import PackStore

MOST_AT_HAND = 64


@dataclass(frozen=True, slots=True)
class PackShelf:
    """A pushed pack never changes, so it is read from the store once; what a tenant wants otherwise is read live."""

    store: PackStore
    _at_hand: OrderedDict[tuple[TenantId, str, str], tuple[Pack, PushedPack]] = field(default_factory=OrderedDict)
    _pins: OrderedDict[tuple[TenantId, str], PackPin] = field(default_factory=OrderedDict)

    async def find(self, tenant: TenantId, ref: str) -> PackPin:
        """The pack that is meant by `id` or `id@version`; without a version the highest. Raises PackNotFound."""
        named = parse_ref(ref)
        if named is None:
            raise PackNotFound(ref)
        place, (_, version) = (tenant, ref), named
        if place in self._pins:
            self._pins.move_to_end(place)
            return self._pins[place]
        pin = (await self.store.get(tenant, *named)).pin
        if version is not None:  # Without one, another pack may be meant tomorrow.
            self._pins[place] = pin
            if len(self._pins) > MOST_AT_HAND:
                self._pins.popitem(last=False)
        return pin

    async def open(self, tenant: TenantId, pin: PackPin) -> Pack:
        """Raises PackNotFound, or PackInvalid when this turnkeeper can no longer read it."""
        return (await self._taken(tenant, pin))[0]

    async def holding_intents(self, tenant: TenantId, pins: tuple[PackPin, ...]) -> Pack:
        """Of several packs the first that has intents; else the first."""
        opened = [await self.open(tenant, pin) for pin in pins]
        return next((pack for pack in opened if pack.intents), opened[0])

    async def config(self, tenant: TenantId, pack: Pack) -> PackConfig:
        """What holds in this very turn: what the tenant wants, else what the pack says."""
        overrides = await self.store.overrides(tenant, pack.id)
        return pack.config.with_values({key: each.value for key, each in overrides.items() if each.enabled})

    async def mounts(self, tenant: TenantId, pins: tuple[PackPin, ...]) -> tuple[Mount, ...]:
        """The knowledge that comes with these packs."""
        pushed = [(await self._taken(tenant, pin))[1] for pin in pins]
        return tuple(
            Mount(
                kind=MountKind.PACK, id=each.knowledge_base, revision=each.knowledge_revision, mounted_at=each.pushed_at
            )
            for each in pushed
            if each.knowledge_base is not None
        )

    async def _taken(self, tenant: TenantId, pin: PackPin) -> tuple[Pack, PushedPack]:
        place = (tenant, pin.ref, pin.hash)
        if place in self._at_hand:
            self._at_hand.move_to_end(place)
            return self._at_hand[place]
        pushed = await self.store.get(tenant, pin.id, pin.version)
        if pushed.hash != pin.hash:
            raise PackIntegrityError(pin.ref)
        # In a thread: a large pack takes a while to read, and nobody else should wait for it.
        self._at_hand[place] = (await asyncio.to_thread(ready, pushed), pushed)
        taken = self._at_hand[place]
        if len(self._at_hand) > MOST_AT_HAND:
            self._at_hand.popitem(last=False)
        return taken


def ready(pushed: PushedPack) -> Pack:
    """The pack, read and warm: the first message that meets it waits for nothing but its own answer."""
    try:
        # For those who have packs; without them these libraries are never loaded.
        from turnkeeper.intent.warming import warm_up
        from turnkeeper.packs.reading import read_pack
    except ModuleNotFoundError as missing:
        raise ExtraMissing("packs", str(missing.name)) from None

    pack, faults = read_pack(pushed.files)
    if pack is None:
        raise PackInvalid([fault.as_detail() for fault in faults])
    warm_up(pack)
    return pack
