"""Everything that is kept of a session or of a user, as one archive that is sent while it is read."""

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import msgspec

from turnkeeper.errors import ArtifactNotFound, ScopeDenied, UserNotFound
from turnkeeper.keeping.artifacts import Artifacts
from turnkeeper.keeping.zipping import Zipping
from turnkeeper.model.api_key import KeyKind
from turnkeeper.model.artifact import Artifact
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import ArtifactId, Subject, TenantId, UserId, is_id
from turnkeeper.model.message import Message
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.model.session import DEVICE_SESSION, Session
from turnkeeper.model.tool import Denial
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.erasure import EXPORTED, Doomed, Place
from turnkeeper.ports.store import Store
from turnkeeper.ports.threads import Threads
from turnkeeper.substrate.artifacts import ArtifactShelf

FORMAT = 1
AT_ONCE = 200
OF_RUNS = ("runs", "explanations", "feed", "checkpoints", "effects")
_NAMES = re.compile(r"art_[A-Za-z0-9_.-]+|(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


def names_in(text: str) -> set[str]:
    """What may be the id or the hash of an artifact."""
    return set(_NAMES.findall(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporting:
    store: Store
    artifacts: Artifacts
    shelf: ArtifactShelf
    clock: Clock
    threads: Callable[[], Threads | None]
    session_of: Callable[..., Awaitable[Session]]

    async def session(
        self, session_id: str, *, principal: Principal = LOCAL, trace_id: str | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Raises SessionNotFound before the first byte, ScopeDenied for a token that is bound to a session."""
        session = await self.session_of(session_id, principal=principal)
        if principal.session_id is not None:
            raise ScopeDenied(Denial.POLICY_DENIED)
        await self.store.audit.record(self._facts(principal, trace_id, session_id=session.id))
        archive = _Archive(self, principal, kind="session", subject=session.id)
        return archive.sent(archive.session(session, ""))

    async def user(
        self, user: str, *, principal: Principal = LOCAL, trace_id: str | None = None
    ) -> AsyncGenerator[bytes, None]:
        """For the user itself, and for owner and admin of its tenant. Raises UserNotFound."""
        may = principal.session_id is None and (user == principal.user or principal.sees_whole_tenant)
        if not may or not is_id(user):
            raise UserNotFound(user)
        if user != principal.user:
            await check_is_known(self.store, principal.tenant, UserId(user))
        await self.store.audit.record(self._facts(principal, trace_id, exported=user))
        archive = _Archive(self, principal, kind="user", subject=user)
        return archive.sent(archive.user(UserId(user)))

    def _facts(self, principal: Principal, trace_id: str | None, **about: str) -> AuditFacts:
        """No command: a viewer may have what is its own, too."""
        facts = {"user": principal.holder, "role": principal.role.value, "trace_id": trace_id, **about}
        return AuditFacts(tenant=principal.tenant, at=self.clock.now(), verb="export", outcome="accepted", facts=facts)


async def check_is_known(store: Store, tenant: TenantId, user: UserId) -> None:
    """Raises UserNotFound for somebody who has no role, no key, no session and no file here."""
    kept = Doomed(tenant=tenant, owner=user, places=(), user=user)
    is_known = await store.users.find(tenant, user) is not None or any(await store.erasure.of_user(tenant, user))
    if not is_known and await store.keys.list(tenant, KeyKind.KEY, user=user, before=None, limit=1):
        return
    if not is_known and not [name async for name in store.erasure.named_in(kept)]:
        raise UserNotFound(user)


class _Archive:
    """One archive on its way."""

    def __init__(self, by: Exporting, principal: Principal, *, kind: str, subject: str) -> None:
        self._by, self._principal, self._kind, self._subject = by, principal, kind, subject
        self._at = by.clock.now()
        self._zip = Zipping(self._at)
        self._counts: dict[str, int] = {}

    @property
    def _tenant(self) -> TenantId:
        return self._principal.tenant

    async def sent(self, parts: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        async with aclosing(parts) as pieces:
            async for piece in pieces:
                if piece:
                    yield piece
        async for piece in self._json("index.json", self._index()):
            yield piece
        yield self._zip.finish()

    def _index(self) -> dict[str, Any]:
        """Written last, since it tells of all the others."""
        members = [
            {
                "path": each.path,
                "bytes": each.bytes,
                "sha256": each.sha256,
                **({"count": self._counts[each.path]} if each.path in self._counts else {}),
            }
            for each in self._zip.members
        ]
        return {
            "format": "turnkeeper-export",
            "version": FORMAT,
            "kind": self._kind,
            "subject": self._subject,
            "tenant": self._tenant,
            "exported_at": _utc(self._at),
            "members": members,
        }

    async def session(self, session: Session, folder: str) -> AsyncGenerator[bytes, None]:
        by, place = self._by, (session.id, Subject(session.id))
        row = dict(await by.store.exports.session(session.tenant, session.id))
        context = session.context_sha256 and await by.store.contexts.find(session.tenant, session.context_sha256)
        row["context"] = json.loads(context) if context else None
        layout = await by.store.layouts.find(session.tenant, session.id)
        parts = [
            self._json(f"{folder}session.json", row),
            self._json(f"{folder}layout.json", json.loads(layout) if layout else None),
            self._lines(f"{folder}messages.ndjson", self._messages(session)),
            *(self._rows(folder, place, what) for what in EXPORTED),
            self._graph(session, f"{folder}graph.json"),
            self._contents(Doomed(tenant=session.tenant, owner=session.owner, places=[place]), folder),
        ]
        for part in parts:
            async for piece in part:
                yield piece

    async def user(self, user: UserId) -> AsyncGenerator[bytes, None]:
        store = self._by.store
        found = await store.users.find(self._tenant, user)
        profile = {"id": user, "profile": None if found is None else msgspec.to_builtins(found)}
        sessions, carried = await store.erasure.of_user(self._tenant, user)
        contacts = await store.exports.contacts(self._tenant, user)
        device = await store.devices.load(self._tenant, user, DEVICE_SESSION)
        kept = Doomed(tenant=self._tenant, owner=user, places=(), user=user)
        parts = [
            self._json("user.json", profile),
            self._lines("contacts.ndjson", _each(contacts)),
            self._lines("keys.ndjson", self._keys(user)),
            self._json("device.json", None if device is None else device.fields),
            self._lines("carried_revisions.ndjson", _each(await store.revisions.of_user(self._tenant, user))),
            self._lines("artifacts.ndjson", self._kept(kept)),
            self._contents(kept, ""),
        ]
        for part in parts:
            async for piece in part:
                yield piece
        for session_id, _ in sessions:
            session = await store.sessions.get(self._tenant, session_id)
            async for piece in self.session(session, f"sessions/{safe(session_id)}/"):
                yield piece
        for number, place in enumerate(carried, start=1):
            for what in OF_RUNS:
                async for piece in self._rows(f"carried/{number:04}/", place, what):
                    yield piece

    async def _keys(self, user: UserId) -> AsyncIterator[Mapping[str, Any]]:
        """Without their digests, which are of use to nobody."""
        for kind in KeyKind:
            before = None
            while page := await self._by.store.keys.list(self._tenant, kind, user=user, before=before, limit=AT_ONCE):
                for key in page:
                    told: dict[str, Any] = msgspec.to_builtins(replace(key, digest=b""))
                    del told["digest"]
                    yield told
                before = page[-1].id

    def _rows(self, folder: str, place: Place, what: str) -> AsyncGenerator[bytes, None]:
        return self._lines(f"{folder}{what}.ndjson", self._by.store.exports.rows(self._tenant, place, what))

    async def _messages(self, session: Session) -> AsyncIterator[Mapping[str, Any]]:
        """With those that a fork shares."""
        after = 0
        while page := await self._by.store.sessions.messages(session.tenant, session.id, after=after, limit=AT_ONCE):
            for message in page:
                yield _message(message)
            after = page[-1].seq

    async def _graph(self, session: Session, path: str) -> AsyncGenerator[bytes, None]:
        threads = self._by.threads()
        async for piece in self._zip.add(path, _listed(self._threads(threads, session))):
            yield piece

    async def _threads(self, threads: Threads | None, session: Session) -> AsyncIterator[Mapping[str, Any]]:
        if threads is not None:
            for thread in await threads.threads_of(session.tenant, session.id):
                async for told in threads.told(thread):
                    yield told

    async def _contents(self, named: Doomed, folder: str) -> AsyncGenerator[bytes, None]:
        """The bytes of what came out of it and of what came along with messages, each once."""
        done: set[str] = set()
        async for text in self._by.store.erasure.named_in(named):
            for name in sorted(names_in(text)):
                artifact = await self._readable(name)
                if artifact is None or artifact.sha256 in done:
                    continue
                done.add(artifact.sha256)
                path = f"{folder}artifacts/{artifact.sha256}"
                async for piece in self._zip.add(path, self._by.shelf.pieces(artifact)):
                    yield piece

    async def _readable(self, name: str) -> Artifact | None:
        """Naming what is somebody else's does not bring it into the archive."""
        try:
            return await self._by.artifacts.get(name, principal=self._principal)
        except ArtifactNotFound:
            return None

    async def _kept(self, named: Doomed) -> AsyncIterator[Mapping[str, Any]]:
        async for name in self._by.store.erasure.named_in(named):
            artifact = await self._by.store.artifacts.get(self._tenant, ArtifactId(name))
            yield msgspec.to_builtins(artifact)

    async def _lines(self, path: str, rows: AsyncIterator[Mapping[str, Any]]) -> AsyncGenerator[bytes, None]:
        async def lines() -> AsyncIterator[bytes]:
            self._counts[path] = 0
            async for row in rows:
                self._counts[path] += 1
                yield _line(row)

        async for piece in self._zip.add(path, lines()):
            yield piece

    async def _json(self, path: str, value: Any) -> AsyncGenerator[bytes, None]:
        async for piece in self._zip.add(path, _once(json.dumps(value, ensure_ascii=False, indent=1).encode())):
            yield piece


def safe(id: str) -> str:
    """A name that is one folder, whatever the id is."""
    return quote(id, safe="@:-_").replace(".", "%2E")


def _message(message: Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "seq": message.seq,
        "turn": message.turn,
        "epoch": message.epoch,
        "role": message.role.value,
        "content": message.content,
        "created_at": _utc(message.created_at),
        "event": message.event,
    }


def _utc(moment: Any) -> str:
    told: str = moment.isoformat()
    return told.replace("+00:00", "Z")


def _line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False, default=str).encode() + b"\n"


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def _each(rows: Iterable[Mapping[str, Any]]) -> AsyncIterator[Mapping[str, Any]]:
    for row in rows:
        yield row


async def _listed(rows: AsyncIterator[Mapping[str, Any]]) -> AsyncIterator[bytes]:
    """As one JSON list, row by row."""
    before = b"[\n"
    async for row in rows:
        yield before + _line(row).rstrip(b"\n")
        before = b",\n"
    yield b"[]\n" if before == b"[\n" else b"\n]\n"
