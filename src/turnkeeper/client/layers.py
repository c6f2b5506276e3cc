"""Tenants, projects, objectives and users, looked after from a distance."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import msgspec

from turnkeeper.client.pages import Page
from turnkeeper.client.part import Part, reading
from turnkeeper.client.shapes import read
from turnkeeper.client.transport import Transport
from turnkeeper.errors import RevisionMoved
from turnkeeper.model.ids import LayerId, UserId
from turnkeeper.model.layer import LayerStatus, LayerTerms
from turnkeeper.model.principal import Role
from turnkeeper.model.scope import Level
from turnkeeper.model.user import UserStatus

OF_TENANTS = ("allowed_models", "quotas")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    level: Level
    id: LayerId
    name: str
    terms: LayerTerms
    project_id: LayerId | None
    status: LayerStatus
    revision: int
    created_by: UserId
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    id: UserId
    name: str | None
    role: Role
    status: UserStatus
    version: int
    created_by: UserId
    created_at: datetime
    updated_at: datetime


class Layers(Part):
    """Those of one level: `room` is what they are called in addresses."""

    def __init__(self, transport: Transport, room: str) -> None:
        super().__init__(transport)
        self._room = room

    async def create(
        self,
        name: str,
        *,
        id: str | None = None,
        project_id: str | None = None,
        terms: LayerTerms = LayerTerms(),  # noqa: B008
    ) -> Layer:
        """A tenant is made by an operator and needs an id. Raises LayerExists, NotAllowed or EnvelopeInvalid."""
        said = {name: value for name, value in _written(terms).items() if value != _NOTHING[name]}
        asked = {"name": name, "id": id, "project_id": project_id, "terms": said}
        body = {name: value for name, value in asked.items() if value is not None}
        return read(await self._ask("POST", self._room, body=body), Layer)

    async def get(self, id: str) -> Layer:
        """Raises LayerNotFound. A tenant of which nobody has said anything yet is at revision 0."""
        return await self._get(Layer, self._room, id)

    async def list(self, *, project_id: str | None = None, cursor: str | None = None, limit: int = 50) -> Page[Layer]:
        """Newest first; tenants by their ids, and for an operator only."""
        return await self._page(reading(Layer), self._room, cursor=cursor, limit=limit, project_id=project_id)

    async def change(
        self,
        id: str,
        *,
        name: str | None = None,
        status: LayerStatus | str | None = None,
        terms: LayerTerms | Callable[[LayerTerms], LayerTerms] | None = None,
        expected_revision: int | None = None,
    ) -> Layer:
        """What sessions inherited stays; what is excluded is gone at once. Raises LayerNotFound or RevisionMoved."""
        body: dict[str, Any] = {} if name is None else {"name": name}
        if status is not None:
            body["status"] = status
        while callable(terms):
            before = await self.get(id)
            revision = before.revision if expected_revision is None else expected_revision
            try:
                return await self._changed(id, {**body, "terms": self._all_of(terms(before.terms))}, revision)
            except RevisionMoved:
                if expected_revision is not None:
                    raise
        if terms is not None:
            body["terms"] = self._all_of(terms)
        return await self._changed(id, body, expected_revision)

    def _all_of(self, terms: LayerTerms) -> dict[str, Any]:
        """Also what they say nothing of, so that it is taken back; but for what only a tenant could say."""
        unsaid = {name for name in OF_TENANTS if self._room != "tenants" and not getattr(terms, name)}
        return {name: value for name, value in _written(terms).items() if name not in unsaid}

    async def _changed(self, id: str, body: Mapping[str, Any], revision: int | None) -> Layer:
        return read(await self._ask("PATCH", self._room, id, body=body, if_match=revision), Layer)


class Users(Part):
    async def create(
        self, id: str, *, role: Role | str = Role.MEMBER, name: str | None = None, tenant: str | None = None
    ) -> User:
        """`tenant` is for an operator, who may give a tenant its first owner. Raises UserExists or NotAllowed."""
        body = {"id": id, "role": role, "name": name}
        return read(await self._ask("POST", "users", body=body, query={"tenant": tenant}), User)

    async def get(self, id: str, *, tenant: str | None = None) -> User:
        """Oneself, or for owner and admin anyone of the tenant. Raises UserNotFound."""
        return await self._get(User, "users", id, tenant=tenant)

    async def list(self, *, tenant: str | None = None, cursor: str | None = None, limit: int = 50) -> Page[User]:
        """By their ids."""
        return await self._page(reading(User), "users", cursor=cursor, limit=limit, tenant=tenant)

    async def change(
        self,
        id: str,
        *,
        name: str | None = None,
        role: Role | str | None = None,
        status: UserStatus | str | None = None,
        tenant: str | None = None,
        expected_version: int | None = None,
    ) -> User:
        """Seen within a second on every node. Raises UserNotFound, RevisionMoved or LastOwner."""
        wanted = {"name": name, "role": role, "status": status}
        body = {what: value for what, value in wanted.items() if value is not None}
        query = {"tenant": tenant}
        return read(await self._ask("PATCH", "users", id, body=body, query=query, if_match=expected_version), User)


def _written(terms: LayerTerms) -> dict[str, Any]:
    written: dict[str, Any] = msgspec.to_builtins(terms)
    return written


_NOTHING = {each.name: _written(LayerTerms())[each.name] for each in fields(LayerTerms)}
