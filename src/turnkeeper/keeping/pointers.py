"""Pointers: names that move from manifest to manifest, and their history."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from turnkeeper.errors import EnvelopeInvalid, NotAllowed, PointerNotFound
from turnkeeper.keeping.manifests import checked_manifest
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.envelope import Command
from turnkeeper.model.ids import PointerId, is_id
from turnkeeper.model.plain_text import is_plain_text
from turnkeeper.model.pointer import (
    DEFAULT_NAMESPACE,
    Expected,
    Move,
    MoveKind,
    Pointer,
    PointerKind,
    PointerMove,
    is_pointer_name,
)
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.substrate import PointerStore
from turnkeeper.steps.receive import json_size

MOST_CHARS = 2_000
MOST_METADATA_BYTES = 16_384


class Pointers:
    """The pointers of a tenant: everyone in it may read them. Whoever may write moves bundles and fills snapshots;
    a corpus is moved by owner and admin.
    """

    def __init__(self, store: PointerStore, clock: Clock, *, audit: Callable[..., AuditFacts]) -> None:
        self._store, self._clock, self._audit = store, clock, audit

    async def create(
        self,
        name: str,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        kind: PointerKind | str = PointerKind.BUNDLE,
        manifest: str | None = None,
        description: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> Pointer:
        """Raises PointerExists when there is one of this name in the namespace, or ManifestNotFound."""
        _check_names(namespace, name)
        _check_texts(description, metadata)
        kind = PointerKind(kind)
        self._check(principal, kind if manifest is not None else PointerKind.BUNDLE)
        now = self._clock.now()
        pointer = Pointer(
            tenant=principal.tenant,
            id=PointerId(self._clock.new_id("ptr")),
            namespace=namespace,
            name=name,
            kind=kind,
            manifest=None if manifest is None else checked_manifest(manifest),
            description=description,
            metadata=metadata or {},
            created_by=principal.user,
            created_at=now,
            updated_at=now,
        )
        audit = self._audit(Command.CREATE_POINTER, principal, trace_id, pointer_id=pointer.id)
        await self._store.create(pointer, audit)
        return pointer

    async def get(self, pointer: str, *, principal: Principal = LOCAL) -> Pointer:
        """By its id, or as `namespace/name`. Raises PointerNotFound."""
        namespace, slash, name = pointer.partition("/")
        if slash:
            return await self.named(namespace, name, principal=principal)
        if not is_id(pointer):
            raise PointerNotFound(pointer[:64])
        return await self._store.get(principal.tenant, PointerId(pointer))

    async def named(self, namespace: str, name: str, *, principal: Principal = LOCAL) -> Pointer:
        """Raises PointerNotFound."""
        if not (is_pointer_name(namespace) and is_pointer_name(name)):
            raise PointerNotFound(f"{namespace[:64]}/{name[:64]}")
        return await self._store.named(principal.tenant, namespace, name)

    async def resolve(self, pointer: str, *, principal: Principal = LOCAL) -> str | None:
        """The manifest where it stands; None while it is empty."""
        return (await self.get(pointer, principal=principal)).manifest

    async def list(
        self,
        *,
        namespace: str | None = None,
        kind: PointerKind | None = None,
        principal: Principal = LOCAL,
        before: str | None = None,
        limit: int = 50,
    ) -> Sequence[Pointer]:
        """Newest first."""
        at = None if before is None else PointerId(before)
        return await self._store.list(principal.tenant, namespace=namespace, kind=kind, before=at, limit=limit)

    async def advance(self, pointer: str, manifest: str, **asked: Any) -> Pointer:
        """Move it to a manifest, a newer or an older one. With `expected` only from there.

        Takes what `reset` takes. Raises PointerMoved with the current value, PointerFrozen or ManifestNotFound; then
        nothing was changed.
        """
        return await self._move(pointer, MoveKind.ADVANCE, checked_manifest(manifest), **asked)

    async def reset(
        self,
        pointer: str,
        manifest: str | None = None,
        *,
        expected: Expected | None = None,
        reason: str | None = None,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> Pointer:
        """Put it back to a manifest, or empty it."""
        to = None if manifest is None else checked_manifest(manifest)
        return await self._move(
            pointer,
            MoveKind.RESET,
            to,
            expected=expected,
            reason=reason,
            principal=principal,
            trace_id=trace_id,
        )

    async def delete(
        self, pointer: str, *, reason: str | None = None, principal: Principal = LOCAL, trace_id: str | None = None
    ) -> Pointer:
        """Its name is free again and every session loses it at once; its history stays."""
        return await self._move(pointer, MoveKind.DELETE, None, reason=reason, principal=principal, trace_id=trace_id)

    async def history(
        self, pointer_id: str, *, principal: Principal = LOCAL, before: int | None = None, limit: int = 50
    ) -> Sequence[PointerMove]:
        """Newest first, also of a pointer that was deleted. Raises PointerNotFound."""
        if not is_id(pointer_id):
            raise PointerNotFound(pointer_id[:64])
        found = await self._store.get(principal.tenant, PointerId(pointer_id), deleted=True)
        return await self._store.moves(principal.tenant, found.id, before=before, limit=limit)

    async def _move(
        self,
        pointer: str,
        kind: MoveKind,
        to: str | None,
        *,
        expected: Expected | None = None,
        reason: str | None = None,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> Pointer:
        _check_texts(reason, None)
        found = await self.get(pointer, principal=principal)
        self._check(principal, found.kind)
        if expected is not None and expected.manifest is not None:
            expected = Expected(manifest=expected.manifest.lower())
        move = Move(
            kind=kind,
            to=to,
            expected=expected,
            reason=reason,
            moved_by=principal.user,
            moved_at=self._clock.now(),
        )
        command = Command.DELETE_POINTER if kind is MoveKind.DELETE else Command.MOVE_POINTER
        audit = self._audit(command, principal, trace_id, pointer_id=found.id)
        return await self._store.move(principal.tenant, found.id, move, audit)

    def _check(self, principal: Principal, kind: PointerKind) -> None:
        check_may_move(principal, kind)


def check_may_move(principal: Principal, kind: PointerKind) -> None:
    """Raises NotAllowed."""
    if not principal.may_write:
        raise NotAllowed("A viewer moves no pointers. Ask the operator for another role.")
    if kind is PointerKind.CORPUS and not principal.sees_whole_tenant:
        raise NotAllowed("A corpus is moved by owner and admin of the tenant. Ask one of them.")


def _check_names(namespace: str, name: str) -> None:
    faults = [
        {"pointer": f"/{field}", "message": "must be letters, digits and _ . @ - and begin with a letter or digit"}
        for field, value in (("namespace", namespace), ("name", name))
        if not is_pointer_name(value)
    ]
    if faults:
        raise EnvelopeInvalid("A pointer needs simple names.", details=faults)


def _check_texts(text: str | None, metadata: Mapping[str, Any] | None) -> None:
    if text is not None and not (len(text) <= MOST_CHARS and is_plain_text(text)):
        raise EnvelopeInvalid(f"A description or reason is a text of at most {MOST_CHARS} characters.")
    size = 0 if metadata is None else json_size(metadata)
    if size is None or size > MOST_METADATA_BYTES:
        raise EnvelopeInvalid(f"The metadata of a pointer is JSON of at most {MOST_METADATA_BYTES} bytes.")
