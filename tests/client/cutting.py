"""A wire between a client and a server that is cut after some bytes, in either direction."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class Wire:
    """Each connection lives for a random number of bytes, as long as there are cuts left."""

    server: str
    cuts: int
    most_bytes: int
    chance: random.Random
    made: int = 0
    url: str = ""
    _under_way: set[asyncio.Task[None]] = field(default_factory=set)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry bytes both ways, until either side is through or the wire is cut."""
        where = urlsplit(self.server)
        there, back = await asyncio.open_connection(where.hostname, where.port)
        is_cut = self.made < self.cuts
        # Which direction is cut, and after how many bytes: also in the middle of a letter, or before the first.
        outwards = self.chance.random() < 0.3
        most = self.chance.randrange(300 if outwards else self.most_bytes) if is_cut else None
        ways = [
            asyncio.create_task(self._carry(reader, back, most if outwards else None)),
            asyncio.create_task(self._carry(there, writer, None if outwards else most)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            for side in (writer, back):
                # Not in order: what is on its way is lost, as when a cable is pulled.
                side.transport.abort()

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, most: int | None) -> None:
        left = most
        with contextlib.suppress(ConnectionError):
            while left is None or left > 0:
                piece = await source.read(65_536 if left is None else min(left, 65_536))
                if not piece:
                    return
                sink.write(piece)
                await sink.drain()
                left = None if left is None else left - len(piece)
        if most is not None:
            self.made += 1


@contextlib.asynccontextmanager
async def a_wire(server: str, *, cuts: int, most_bytes: int, seed: int) -> AsyncIterator[Wire]:
    wire = Wire(server=server, cuts=cuts, most_bytes=most_bytes, chance=random.Random(seed))
    listening = await asyncio.start_server(wire.connected, "127.0.0.1", 0)
    wire.url = "http://{}:{}".format(*listening.sockets[0].getsockname()[:2])
    try:
        yield wire
    finally:
        listening.close()
        await asyncio.sleep(0)
