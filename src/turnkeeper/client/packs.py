"""Packs, pushed to a server and looked after from a distance."""

import asyncio
import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from turnkeeper.client.pages import Page
from turnkeeper.client.part import Part, reading
from turnkeeper.client.shapes import Session, read, session_of
from turnkeeper.model.ids import KnowledgeBaseId, UserId
from turnkeeper.model.pack import Classification, PackOverride, PackPin
from turnkeeper.model.pack_config import PackConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedPack:
    """As a tenant keeps it; in lists without its files."""

    id: str
    version: str
    hash: str
    pushed_by: UserId
    pushed_at: datetime
    knowledge_base: KnowledgeBaseId | None
    files: Mapping[str, str] | None = None

    @property
    def pin(self) -> PackPin:
        return PackPin(id=self.id, version=self.version, hash=self.hash)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackFault:
    file: str
    line: int
    column: int
    pointer: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PackPushed:
    """A pack that was taken, and what its author may want to look at all the same."""

    pushed: PushedPack
    warnings: tuple[PackFault, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    code: str
    name: str
    description: str
    states: tuple[State, ...]
    has_form: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """What a pack says, as far as it is told; all of it is in its files."""

    id: str
    version: str
    title: str
    description: str
    classification: Classification
    intents: tuple[Intent, ...]
    tools: tuple[str, ...]


class Packs(Part):
    async def push(self, pack: str | os.PathLike[str] | bytes | Mapping[str, str]) -> PackPushed:
        """Keep a pack for good: a folder or an archive by its path, the bytes of an archive, or files by their names.

        The same files again change nothing. Raises PackInvalid with every fault in it, or PackImmutable.
        """
        body = await asyncio.to_thread(_body_of, pack)
        told = await self._ask("POST", "packs", body=body)
        warnings = read(told.get("warnings", []), tuple[PackFault, ...])
        return PackPushed(pushed=read(told, PushedPack), warnings=warnings)

    async def get(self, ref: str) -> PushedPack:
        """`id@version`, or the highest version of `id`. Raises PackNotFound."""
        return await self._get(PushedPack, "packs", ref)

    async def read(self, ref: str) -> Pack:
        """What a pushed pack says."""
        told = await self._ask("GET", "packs", ref)
        intents = [{**each, "states": [{"code": code} for code in each["states"]]} for each in told["intents"]]
        return read({**told, "intents": intents}, Pack)

    async def list(self, *, after: str | None = None, limit: int = 50) -> Page[PushedPack]:
        """By id, and of each its oldest version first; without their files. `after` is an `id@version`."""
        return await self._page(reading(PushedPack), "packs", cursor=after, limit=limit)

    async def config(self, pack_id: str) -> tuple[PackConfig, Mapping[str, PackOverride]]:
        """What holds for the newest version now, and what of it the tenant wants otherwise."""
        told = await self._ask("GET", "packs", pack_id, "config")
        held = {key.lower(): value for key, value in told["config"].items()}
        overrides = read(told["overrides"], list[PackOverride])
        return read(held, PackConfig), {each.key: each for each in overrides}

    async def override(self, pack_id: str, key: str, value: Any, *, enabled: bool = True) -> PackOverride:
        """Want a key of a pack's config otherwise, from the next turn on. Switched off it does not count."""
        body = {"value": value, "enabled": enabled}
        return read(await self._ask("PUT", "packs", pack_id, "config", key, body=body), PackOverride)

    async def drop_override(self, pack_id: str, key: str) -> None:
        """Want a key as the pack says it again."""
        await self._ask("DELETE", "packs", pack_id, "config", key)

    async def repin(self, session_id: str, ref: str, *, expected_version: int | None = None) -> Session:
        """Pin a session to another pack or version, from its next turn on. Answers that the new one cannot hold go."""
        body = {"pack": ref}
        return session_of(
            await self._ask("POST", "sessions", session_id, "repin", body=body, if_match=expected_version)
        )


def _body_of(pack: str | os.PathLike[str] | bytes | Mapping[str, str]) -> dict[str, Any]:
    if isinstance(pack, Mapping):
        return {"files": dict(pack)}
    if isinstance(pack, bytes):
        return {"archive": base64.b64encode(pack).decode()}
    path = Path(pack)
    if not path.is_dir():
        return _body_of(path.read_bytes())
    # Files that are no part of a pack, such as those of an editor, are left out by the server.
    found = sorted(each for each in path.rglob("*") if each.is_file() and not each.name.startswith("."))
    return {"files": {each.relative_to(path).as_posix(): each.read_text(encoding="utf-8") for each in found}}
