"""Carried state as one opaque text, which only turnkeeper can make and open.

A seal proves where a state comes from and that nobody changed it, and is of no use to another tenant, user or session.
It says nothing of how new the state is.
"""

import base64
import binascii
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from turnkeeper.errors import CarriedInvalid, ExtraMissing
from turnkeeper.model.ids import SessionId, TenantId, UserId
from turnkeeper.model.seal import SealKey
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.custody import SealStore

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FORMAT = 1
KEY_BYTES, NONCE_BYTES, TAG_BYTES = 32, 12, 16
MOST_ID_BYTES = 64
REMEMBERED_FOR = timedelta(seconds=10)
_NOBODYS = bytes(KEY_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bearer:
    """Whose state it is; a seal binds to all three."""

    tenant: TenantId
    user: UserId
    session_id: SessionId

    def bound(self, key_id: str) -> bytes:
        return json.dumps([FORMAT, key_id, self.tenant, self.user, self.session_id]).encode()


@dataclass(slots=True)
class Sealing:
    """To open, keys are remembered for a few seconds; that long one that another node has retired may still open here.
    To seal, they are read each time: what is given out must not be of a key that nobody has any more.
    """

    store: SealStore
    clock: Clock
    most_bytes: int
    _known: dict[TenantId, tuple[datetime, Sequence[SealKey]]] = field(default_factory=dict)

    async def seal(self, carried: Mapping[str, Any], bearer: Bearer) -> str:
        newest = await self._newest(bearer.tenant)
        assert newest.key is not None, "it is not retired"
        id, nonce = newest.id.encode(), os.urandom(NONCE_BYTES)
        sealed = _cipher(newest.key).encrypt(nonce, msgspec.json.encode(carried), bearer.bound(newest.id))
        whole = bytes([FORMAT, len(id)]) + id + nonce + sealed
        return base64.urlsafe_b64encode(whole).rstrip(b"=").decode()

    async def open(self, text: str, bearer: Bearer) -> dict[str, Any]:
        """Raises CarriedInvalid. Whatever is wrong with the text, the same work is done to find out."""
        if len(text) > self.longest:
            raise CarriedInvalid("too_large", f"is {len(text)} characters long; at most {self.longest} are taken")
        key_id, nonce, sealed = _parts(text)
        found = await self._find(bearer.tenant, key_id)
        opened = _opened(found.key if found and found.key else _NOBODYS, nonce, sealed, bearer.bound(key_id))
        if found is None:
            raise CarriedInvalid("unknown_key", "was sealed with a key that is not known here")
        if found.key is None:
            raise CarriedInvalid("retired_key", "was sealed with a key that is retired")
        if opened is None:
            raise CarriedInvalid("not_yours", "was changed on its way, or was not given to this user in this session")
        carried: dict[str, Any] = msgspec.json.decode(opened)
        return carried

    @property
    def longest(self) -> int:
        """How long the text of the largest state is."""
        return _text_length(2 + MOST_ID_BYTES + NONCE_BYTES + self.most_bytes + TAG_BYTES)

    def forget(self, tenant: TenantId) -> None:
        """Look at the keys anew, since they were changed here."""
        self._known.pop(tenant, None)

    def new_key(self, tenant: TenantId) -> SealKey:
        return SealKey(
            tenant=tenant, id=self.clock.new_id("seal"), key=os.urandom(KEY_BYTES), created_at=self.clock.now()
        )

    async def _newest(self, tenant: TenantId) -> SealKey:
        if (newest := _usable(await self._read(tenant))) is None:
            await self.store.make_first(self.new_key(tenant))
            newest = _usable(await self._read(tenant))
            assert newest is not None, "one was made just now"
        return newest

    async def _find(self, tenant: TenantId, id: str) -> SealKey | None:
        if (found := _named(id, await self._keys(tenant))) is None:
            found = _named(id, await self._read(tenant))
        return found

    async def _keys(self, tenant: TenantId) -> Sequence[SealKey]:
        now = self.clock.now()
        known = self._known.get(tenant)
        if known is None or not known[0] <= now < known[0] + REMEMBERED_FOR:
            return await self._read(tenant)
        return known[1]

    async def _read(self, tenant: TenantId) -> Sequence[SealKey]:
        now = self.clock.now()
        keys = await self.store.keys(tenant)
        self._known[tenant] = now, keys
        return keys


def _usable(keys: Sequence[SealKey]) -> SealKey | None:
    return next((key for key in reversed(keys) if key.retired_at is None), None)


def _named(id: str, keys: Sequence[SealKey]) -> SealKey | None:
    return next((key for key in keys if key.id == id), None)


def _parts(text: str) -> tuple[str, bytes, bytes]:
    """The id of the key, the nonce, and what is sealed."""
    try:
        whole = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
        end = 2 + whole[1]
        key_id = whole[2:end].decode("ascii")
    except (binascii.Error, UnicodeError, IndexError):
        raise _no_seal() from None
    nonce, sealed = whole[end : end + NONCE_BYTES], whole[end + NONCE_BYTES :]
    if whole[0] != FORMAT or not 0 < whole[1] <= MOST_ID_BYTES or len(sealed) < TAG_BYTES:
        raise _no_seal()
    return key_id, nonce, sealed


def _no_seal() -> CarriedInvalid:
    return CarriedInvalid("no_seal", "is not a text that turnkeeper gave out, or a part of it is missing")


def _opened(key: bytes, nonce: bytes, sealed: bytes, bound: bytes) -> bytes | None:
    cipher = _cipher(key)
    from cryptography.exceptions import InvalidTag

    try:
        return cipher.decrypt(nonce, sealed, bound)
    except InvalidTag:
        return None


def _cipher(key: bytes) -> "AESGCM":
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ModuleNotFoundError as missing:
        raise ExtraMissing("server", str(missing.name)) from None
    return AESGCM(key)


def _text_length(count: int) -> int:
    return -(-count * 4 // 3)
