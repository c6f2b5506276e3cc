"""Turnkeeper at a distance: the verbs of the embedded face, on a server."""

import os
from types import TracebackType
from typing import Any, Never

import httpx2

from turnkeeper.client.approvals import Approvals
from turnkeeper.client.artifacts import Artifacts
from turnkeeper.client.audit import Audit
from turnkeeper.client.bases import Bases
from turnkeeper.client.carried import SessionKeep
from turnkeeper.client.carried_session import CarriedSession
from turnkeeper.client.channels import Bindings, Channels, Deliveries
from turnkeeper.client.definitions import Definitions
from turnkeeper.client.erasure import Erasing
from turnkeeper.client.keys import Keys, Me
from turnkeeper.client.layers import Layers, Users
from turnkeeper.client.overview import Overview
from turnkeeper.client.packs import Packs
from turnkeeper.client.retrying import Retries
from turnkeeper.client.runs import Runs
from turnkeeper.client.scoping import Scoping
from turnkeeper.client.seals import Seals
from turnkeeper.client.sessions import Sessions
from turnkeeper.client.shapes import read
from turnkeeper.client.substrate import Manifests, Pointers, Substrate
from turnkeeper.client.talking import Talking
from turnkeeper.client.transport import Transport, at
from turnkeeper.client.units import Units
from turnkeeper.errors import NotRemote

URL = "http://127.0.0.1:8765"


class Turnkeeper(Talking, Sessions, Runs):
    """A server, as whoever holds this token. Use it as `async with Turnkeeper.open("http://...") as keeper:`."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        retries: Retries | None = None,
        http: httpx2.AsyncClient | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        transport = Transport(self.url, token, retries=retries or Retries(), http=http)
        super().__init__(transport)
        self.approvals = Approvals(transport)
        self.artifacts = Artifacts(transport)
        self.audit = Audit(transport)
        self.bases = Bases(transport)
        self.bindings = Bindings(transport)
        self.channels = Channels(transport)
        self.definitions = Definitions(transport)
        self.deliveries = Deliveries(transport)
        self.erasure = Erasing(transport)
        self.keys = Keys(transport)
        self.manifests = Manifests(transport)
        self.overview = Overview(transport)
        self.packs = Packs(transport)
        self.pointers = Pointers(transport)
        self.scoping = Scoping(transport)
        self.seals = Seals(transport)
        self.substrate = Substrate(transport)
        self.tenants, self.projects, self.objectives = (
            Layers(transport, room) for room in ("tenants", "projects", "objectives")
        )
        self.units = Units(transport)
        self.users = Users(transport)

    @classmethod
    def open(
        cls,
        url: str | None = None,
        *,
        token: str | None = None,
        retries: Retries | None = None,
        http: httpx2.AsyncClient | None = None,
    ) -> "Turnkeeper":
        """The server at this address, else at TURNKEEPER_URL; the token is given, or TURNKEEPER_TOKEN.

        Opens nothing before `async with`. `http` is a client of one's own making, whose base URL is the address and
        who sends the token; it is left open.
        """
        url = url or os.environ.get("TURNKEEPER_URL") or URL
        return cls(url, token or os.environ.get("TURNKEEPER_TOKEN"), retries=retries, http=http)

    async def __aenter__(self) -> "Turnkeeper":
        await self._transport.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the server; what runs there goes on. Closing twice does no harm."""
        await self._transport.close()

    async def ping(self) -> None:
        """Raises StoreUnavailable when nothing can be written there, ShuttingDown when that node is going away."""
        await self._transport.ask("GET", "/readyz")

    async def me(self) -> Me:
        """Who the token speaks for. Raises NotAuthenticated."""
        return read(await self._transport.ask("GET", at("me")), Me)

    def carried(self, name: str, keep: SessionKeep, *, agent: str | None = None) -> CarriedSession:
        """A session that is kept here and nowhere else, under this name."""
        return CarriedSession(self, name, keep, agent=agent)

    def agent(self, name: str, **policy: Any) -> Never:
        """Raises NotRemote."""
        raise NotRemote("agent")

    def add_agent(self, agent: Any) -> Never:
        """Raises NotRemote."""
        raise NotRemote("add_agent")

    def add_graph(self, name: str, graph: Any, **policy: Any) -> Never:
        """Raises NotRemote."""
        raise NotRemote("add_graph")

    def tool(self, name: str, **about: Any) -> Never:
        """Raises NotRemote."""
        raise NotRemote("tool")

    def add_tool(self, tool: Any) -> Never:
        """Raises NotRemote."""
        raise NotRemote("add_tool")

    def add_channel(self, channel: Any) -> Never:
        """Raises NotRemote."""
        raise NotRemote("add_channel")
