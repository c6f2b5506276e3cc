"""Packs: pushing them, looking at them, and saying what a tenant wants otherwise."""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnkeeper.errors import (
    EnvelopeInvalid,
    ExtraMissing,
    KnowledgeBaseNotFound,
    NotAllowed,
    PackImmutable,
    PackInvalid,
    PackNotFound,
)
from turnkeeper.keeping.bases import Bases
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.band import Band
from turnkeeper.model.envelope import Command
from turnkeeper.model.ids import KnowledgeBaseId
from turnkeeper.model.pack import Classification, Pack, PackOverride, PackPin, PackSource, PushedPack, parse_ref
from turnkeeper.model.pack_config import PackConfig, config_keys, read_value
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.model.session import Session, SettingsChange
from turnkeeper.packs.shelf import PackShelf
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.packs import PackStore
from turnkeeper.settings import Settings
from turnkeeper.steps.open_session import lifetime_of

if TYPE_CHECKING:
    from turnkeeper.packs.faults import PackFault

PackFiles = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackPushed:
    """A pack that was taken, and what its author may want to look at all the same."""

    pushed: PushedPack
    warnings: "tuple[PackFault, ...]" = ()


class Packs:
    """The packs of a tenant. Everyone in it may read and use them; its owner and admins push and override them."""

    def __init__(
        self,
        store: PackStore,
        shelf: PackShelf,
        bases: Bases,
        clock: Clock,
        settings: Settings,
        *,
        bands: Mapping[Classification, Band],
        session_of: Callable[..., Awaitable[Session]],
        change_session: Callable[..., Awaitable[Session]],
        audit: Callable[..., AuditFacts],
    ) -> None:
        self._store, self._shelf, self._bases, self._clock, self._settings = store, shelf, bases, clock, settings
        self._session_of, self._change_session, self._audit, self._bands = session_of, change_session, audit, bands

    async def push(
        self,
        pack: str | os.PathLike[str] | bytes | PackFiles,
        *,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> PackPushed:
        """Keep a pack for good: a folder or an archive by its path, the bytes of an archive, or files by their names.

        The same files again change nothing. Raises PackInvalid with every fault in it, or PackImmutable.
        """
        self._check_may_change(principal)
        files = await asyncio.to_thread(self._files, pack)
        read, warnings, hash = await asyncio.to_thread(_read, files)
        audit = self._audit(Command.PUSH_PACK, principal, trace_id, pack=read.ref, hash=hash)
        with contextlib.suppress(PackNotFound):
            known = await self._store.get(principal.tenant, read.id, read.version)
            if known.hash != hash:
                raise PackImmutable(known.pin.ref)
            return PackPushed(pushed=known, warnings=warnings)
        base, revision = await self._knowledge(read, hash, principal, trace_id)
        pushed = PushedPack(
            tenant=principal.tenant,
            id=read.id,
            version=read.version,
            hash=hash,
            files=files,
            pushed_by=principal.user,
            pushed_at=self._clock.now(),
            knowledge_base=base,
            knowledge_revision=revision,
        )
        return PackPushed(pushed=await self._store.push(pushed, audit), warnings=warnings)

    async def push_demos(self) -> None:
        """Have the packs that ship with turnkeeper at hand, for whoever wants to see what a pack does."""
        from turnkeeper.packs.demos import demo_packs

        for files in demo_packs().values():
            with contextlib.suppress(PackImmutable):  # A demo of an older turnkeeper stays as it is.
                await self.push(files)

    async def get(self, ref: str, *, principal: Principal = LOCAL) -> PushedPack:
        """`id@version`, or the highest version of `id`. Raises PackNotFound."""
        named = parse_ref(ref)
        if named is None:
            raise PackNotFound(ref)
        return await self._store.get(principal.tenant, *named)

    async def read(self, ref: str, *, principal: Principal = LOCAL) -> Pack:
        """What a pushed pack says."""
        pushed = await self.get(ref, principal=principal)
        return await self._shelf.open(principal.tenant, pushed.pin)

    async def list(
        self, *, principal: Principal = LOCAL, after: str | None = None, limit: int = 50
    ) -> Sequence[PushedPack]:
        """By id, and of each its oldest version first; without their files. `after` is an `id@version`."""
        place = None
        if after is not None:
            pack_id, version = parse_ref(after) or (after, None)
            if version is None:
                raise PackNotFound(after)
            place = (pack_id, version)
        return await self._store.list(principal.tenant, after=place, limit=limit)

    async def config(
        self, pack_id: str, *, principal: Principal = LOCAL
    ) -> tuple[PackConfig, Mapping[str, PackOverride]]:
        """What holds for the newest version now, and what of it the tenant wants otherwise."""
        pack = await self.read(pack_id, principal=principal)
        overrides = await self._store.overrides(principal.tenant, pack.id)
        return await self._shelf.config(principal.tenant, pack), overrides

    async def override(
        self,
        pack_id: str,
        key: str,
        value: Any,
        *,
        enabled: bool = True,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> PackOverride:
        """Want a key of a pack's config otherwise, from the next turn on. Switched off it is kept but does not count.

        Raises PackNotFound, or EnvelopeInvalid for a key or value that cannot be.
        """
        self._check_may_change(principal)
        pack = await self.read(pack_id, principal=principal)
        try:
            _check_no_business(pack, read_value(key, value), key)
        except ValueError as error:
            raise EnvelopeInvalid.at("/value", str(error)) from None
        audit = self._audit(Command.OVERRIDE_PACK, principal, trace_id, pack=pack_id, key=key)
        override = PackOverride(
            key=key, value=value, enabled=enabled, changed_by=principal.user, changed_at=self._clock.now()
        )
        await self._store.set_override(principal.tenant, pack_id, override, audit)
        return override

    async def drop_override(
        self, pack_id: str, key: str, *, principal: Principal = LOCAL, trace_id: str | None = None
    ) -> bool:
        """Want a key as the pack says it again. Whether it was wanted otherwise before."""
        self._check_may_change(principal)
        if key not in config_keys():
            raise EnvelopeInvalid.at("/key", f"is none of {', '.join(config_keys())}")
        await self.get(pack_id, principal=principal)
        audit = self._audit(Command.OVERRIDE_PACK, principal, trace_id, pack=pack_id, key=key)
        return await self._store.drop_override(principal.tenant, pack_id, key, audit)

    async def repin(
        self,
        session_id: str,
        ref: str,
        *,
        principal: Principal = LOCAL,
        expected_version: int | None = None,
        trace_id: str | None = None,
    ) -> Session:
        """Pin a session to another pack or version, from its next turn on. Answers that the new one cannot hold go.

        Of several packs the one of the same id is exchanged.
        """
        pin = (await self.get(ref, principal=principal)).pin
        session = await self._session_of(session_id, principal=principal)
        pins = _repinned(session.packs, pin)
        life = await lifetime_of(session, pins, self._shelf, self._bands)
        return await self._change_session(
            session_id,
            SettingsChange(packs=pins, lifetime=life),
            command=Command.REPIN,
            principal=principal,
            expected_version=expected_version,
            trace_id=trace_id,
            pack=pin.ref,
        )

    def _files(self, pack: str | os.PathLike[str] | bytes | PackFiles) -> PackFiles:
        from turnkeeper.packs.files import read_files

        most = self._settings.pack_bytes
        source = pack if isinstance(pack, bytes | Mapping) else Path(pack)
        files, faults = read_files(source, most_file_bytes=most, most_bytes=most)
        _refuse_faulty(faults)
        return files

    async def _knowledge(
        self, pack: Pack, hash: str, principal: Principal, trace_id: str | None
    ) -> tuple[KnowledgeBaseId | None, int]:
        """The base with what stands in the folder `knowledge`. A push that broke off half-way goes on with it."""
        if not pack.knowledge:
            return None, 0
        base_id = KnowledgeBaseId(f"kb_pack_{hash[:32]}")
        try:
            base = await self._bases.get(base_id, principal=principal)
        except KnowledgeBaseNotFound:
            name = f"pack {pack.ref}"[:200]
            base = await self._bases.create(name, base_id=base_id, principal=principal, trace_id=trace_id)
        for source in pack.knowledge:
            base = await self._add(base_id, source, principal, trace_id)
        return base.id, base.revision

    async def _add(self, base_id: str, source: PackSource, principal: Principal, trace_id: str | None) -> Any:
        base, _ = await self._bases.add_source(
            base_id, source.name, source.content, kind=source.kind, principal=principal, trace_id=trace_id
        )
        return base

    def _check_may_change(self, principal: Principal) -> None:
        if not principal.sees_whole_tenant:
            raise NotAllowed("Only owner and admin of a tenant push and override its packs. Ask one of them.")


def _check_no_business(pack: Pack, value: Any, key: str) -> None:
    """Raises ValueError when a conversation would be wiped by what looks like something else that users want."""
    if key != "RESET_INTENT_CODES":
        return
    forms = {name.split(".")[0] for name in pack.schemas}
    business = [
        intent.code for intent in pack.intents if intent.code in value and (intent.code in forms or intent.states[1:])
    ]
    if business:
        raise ValueError(f"{business[0]} has a form or states of its own, so it is no intent to reset with")


def _read(files: PackFiles) -> "tuple[Pack, tuple[PackFault, ...], str]":
    try:
        from turnkeeper.packs.hashing import hash_of
        from turnkeeper.packs.reading import read_pack
    except ModuleNotFoundError as missing:
        raise ExtraMissing("packs", str(missing.name)) from None

    pack, faults = read_pack(files)
    if pack is None:
        _refuse_faulty(faults)
    assert pack is not None, "a pack without faults can be read"
    return pack, tuple(fault for fault in faults if fault.is_warning), hash_of(files)


def _repinned(held: tuple[PackPin, ...], pin: PackPin) -> tuple[PackPin, ...]:
    if len(held) < 2:
        return (pin,)
    if all(each.id != pin.id for each in held):
        names = ", ".join(each.id for each in held)
        raise EnvelopeInvalid.at("/pack", f"must be a version of a pack that the session has: {names}")
    return tuple(pin if each.id == pin.id else each for each in held)


def _refuse_faulty(faults: "Sequence[PackFault]") -> None:
    if any(not fault.is_warning for fault in faults):
        raise PackInvalid([fault.as_detail() for fault in faults])
