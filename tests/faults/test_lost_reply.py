"""A commit that is durable although the word of it never came back."""

import asyncio
import contextlib
from urllib.parse import urlsplit

from turnkeeper import AgentTurn, Turnkeeper
from turnkeeper.model.run import RunStatus

KEPT = "an answer that is kept"


class CuttingRelay:
    """Stands between us and the server; after one statement that holds `marker` it swallows the reply and hangs up."""

    def __init__(self, dsn: str, marker: bytes) -> None:
        self._address = urlsplit(dsn)
        self._marker = marker
        self._tasks: set[asyncio.Task[None]] = set()
        self.cuts = 0

    async def open(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        return self._address._replace(netloc=f"{self._address.username}@127.0.0.1:{port}").geturl()

    async def close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, ours: asyncio.StreamReader, to_us: asyncio.StreamWriter) -> None:
        theirs, to_them = await asyncio.open_connection(self._address.hostname, self._address.port)
        armed = asyncio.Event()
        for work in (self._pass_on(ours, to_them, armed), self._pass_back(theirs, to_us, armed)):
            self._tasks.add(asyncio.create_task(work))

    async def _pass_on(self, ours: asyncio.StreamReader, to_them: asyncio.StreamWriter, armed: asyncio.Event) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await ours.read(1 << 20):
                if self._marker in data and self.cuts == 0:
                    self.cuts = 1
                    armed.set()
                to_them.write(data)
        to_them.close()

    async def _pass_back(self, theirs: asyncio.StreamReader, to_us: asyncio.StreamWriter, armed: asyncio.Event) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await theirs.read(1 << 20):
                if armed.is_set():
                    break
                to_us.write(data)
        to_us.close()


async def test_a_commit_whose_reply_was_lost_is_looked_up_and_told_as_it_is(postgres_dsn: str) -> None:
    relay = CuttingRelay(postgres_dsn, KEPT.encode())
    async with Turnkeeper.open(await relay.open(), pool_size=4) as keeper:

        @keeper.agent("brief")
        async def brief(turn: AgentTurn) -> str:
            return KEPT

        reply = await keeper.chat("hello", agent="brief")

        run = await keeper.run(reply.run_id)
        messages = await keeper.messages(reply.session_id)
    await relay.close()
    assert relay.cuts == 1
    assert (reply.status, reply.turn, reply.text) == (RunStatus.COMPLETED, 1, KEPT)
    assert (run.status, run.turn) == (RunStatus.COMPLETED, 1)
    assert [message.content for message in messages] == ["hello", KEPT]
