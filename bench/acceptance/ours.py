"""`python -m bench.acceptance.ours FILE`: our own server, with settings under which nothing is refused."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import uvloop

from bench.acceptance.envelopes import ECHO, ELSEWHERE, PACK, TOKEN, TORRENT
from turnkeeper import AgentTurn, Turnkeeper
from turnkeeper.model.ids import NodeId
from turnkeeper.model.node import Node
from turnkeeper.server.identities import StaticIdentities, single_identity
from turnkeeper.server.listen import bind, listen, url_of
from turnkeeper.settings import Settings
from turnkeeper.stores.sqlite.store import sqlite_store

PIECE = "." * 2_100
"""More than a delta holds, so that every piece is one."""
PIECES_PER_SECOND = 100
MOST_PIECES = 60 * PIECES_PER_SECOND
SEND_BYTES = 16_384
"""What the system takes for a reader in advance. By itself it would take megabytes, and no reader would ever stall."""


def settings_for(file: Path) -> Settings:
    return Settings(
        database=str(file),
        default_agent=ECHO,
        rate_per_second=1_000_000.0,
        rate_burst=1_000_000,
        long_runs=0,
        lease_seconds=3_600.0,
        queue_seconds=3_600.0,
        output_chars=MOST_PIECES * len(PIECE),
        grace_seconds=0.5,
    )


async def torrent(turn: AgentTurn) -> AsyncIterator[str]:
    for _ in range(MOST_PIECES):
        yield PIECE
        await asyncio.sleep(1 / PIECES_PER_SECOND)


async def serve(file: Path) -> None:
    store = sqlite_store(file, NodeId("node-elsewhere"))
    await store.database.open()
    now = datetime.now(UTC)
    await store.nodes.beat(
        Node(id=NodeId("node-elsewhere"), started_at=now, seen_at=now, agents=frozenset({ELSEWHERE}))
    )
    await store.database.close()
    keeper = Turnkeeper(settings_for(file))
    keeper.agent(TORRENT)(torrent)

    async def prepare() -> None:
        await keeper.packs.push(PACK)

    bound = bind("127.0.0.1", 0)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
    await listen(
        keeper,
        StaticIdentities([single_identity(TOKEN)]),
        bound,
        when_ready=lambda: print(f"Listening on {url_of(bound)}", flush=True),
        prepare=prepare,
    )


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(Path(sys.argv[1])))
