"""A house without a socket, and callers with any token."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from turnkeeper import Principal, Role, TenantId, Turnkeeper, UserId
from turnkeeper.ports.identities import Identities
from turnkeeper.server.app import create_app
from turnkeeper.server.identities import Identity, StaticIdentities, hash_of

ACME = TenantId("acme")
ADA = Principal(tenant=ACME, user=UserId("ada"), role=Role.OWNER)
BEN = Principal(tenant=ACME, user=UserId("ben"), grants=frozenset({"orders.read"}))


@dataclass
class Calls:
    """One caller, from one address."""

    client: httpx2.AsyncClient

    async def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> httpx2.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.request(method, f"/api/v1{path}", json=body, headers=named)


@dataclass
class Callers:
    keeper: Turnkeeper
    app: Any

    def with_token(self, token: str | None, *, address: str = "192.0.2.7") -> Calls:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        transport = httpx2.ASGITransport(self.app, client=(address, 40_000))
        return Calls(httpx2.AsyncClient(transport=transport, base_url="http://house", headers=headers))

    @property
    def ada(self) -> Calls:
        return self.with_token("token-of-ada")

    @property
    def ben(self) -> Calls:
        return self.with_token("token-of-ben")


@asynccontextmanager
async def a_house(
    tmp_path: Path, *, identities: Identities | None = None, more: Iterable[Principal] = (), **settings: Any
) -> AsyncIterator[Callers]:
    people = (ADA, BEN, *more)
    named = StaticIdentities([Identity(token_hash=hash_of(f"token-of-{who.user}"), principal=who) for who in people])
    async with Turnkeeper.open(tmp_path / "conversations.db", default_agent="echo", **settings) as keeper:
        yield Callers(keeper, create_app(keeper, identities or named))
