"""How nodes on one PostgreSQL database hear from each other.

Hints travel by NOTIFY, which takes a lock over the whole server at COMMIT. So they never travel inside the transaction
of a turn: what was told is collected and sent on a connection of its own, at most once in a few milliseconds. Whoever
was out of reach for a while is told that something may have happened anywhere.
"""

import asyncio
import contextlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from turnkeeper.errors import StoreUnavailable
from turnkeeper.model.ids import NodeId, Subject, TenantId
from turnkeeper.ports.feed import Woken
from turnkeeper.stores.postgres.database import PostgresDatabase, speaking_plainly

if TYPE_CHECKING:
    from turnkeeper.stores.postgres.database import Connection

CHANNEL = "turnkeeper"
SEND_EVERY_SECONDS = 0.005
TRY_AGAIN_SECONDS = 0.5
LOOK_EVERY_SECONDS = 10.0
CLOSING_SECONDS = 2.0
MOST_BYTES = 7_900
MOST_PLACES = 2_000

Place = tuple[TenantId, Subject]


class PostgresWakes:
    def __init__(self, database: PostgresDatabase, node: NodeId) -> None:
        self._database = database
        self._node = node
        self._woken: Woken | None = None
        self._told: set[Place] = set()
        self._something_to_do = asyncio.Event()
        self._is_closing = False
        self._hearing: asyncio.Task[None] | None = None
        self._sending: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._hearing = asyncio.create_task(self._hear(await self._listener()), name="turnkeeper-wakes-hear")
        self._sending = asyncio.create_task(self._send(), name="turnkeeper-wakes-send")

    async def close(self) -> None:
        self._is_closing = True
        self._something_to_do.set()
        if self._sending is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLOSING_SECONDS):
                    await self._sending
            self._sending = None
        if self._hearing is not None:
            self._hearing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._hearing
            self._hearing = None

    def listen(self, woken: Woken) -> None:
        self._woken = woken

    def tell(self, tenant: TenantId, subject: Subject) -> None:
        if self._woken is not None:
            self._woken(tenant, subject)
        if self._sending is not None and len(self._told) < MOST_PLACES:
            self._told.add((tenant, subject))
            self._something_to_do.set()

    # --- hearing from other nodes

    async def _hear(self, listener: "Connection") -> None:
        try:
            while True:
                await _until_lost(listener)
                listener = await self._listener_at_last()
                if self._woken is not None:
                    self._woken(None, None)
        finally:
            listener.terminate()

    async def _listener_at_last(self) -> "Connection":
        while True:
            try:
                return await self._listener()
            except StoreUnavailable:
                await asyncio.sleep(TRY_AGAIN_SECONDS)

    async def _listener(self) -> "Connection":
        connection = await self._database.connect()
        with speaking_plainly():
            await connection.add_listener(CHANNEL, self._heard)
        return connection

    def _heard(self, _connection: object, _pid: int, _channel: str, payload: object) -> None:
        node, places = json.loads(str(payload))
        if self._woken is None or node == self._node:
            return
        for tenant, subject in places:
            self._woken(tenant, subject)

    # --- telling the others

    async def _send(self) -> None:
        connection: Connection | None = None
        try:
            while True:
                await self._something_to_do.wait()
                if self._is_closing and not self._told:
                    return
                try:
                    if connection is None or connection.is_closed():
                        connection = await self._database.connect()
                    await self._send_what_was_told(connection)
                    await asyncio.sleep(SEND_EVERY_SECONDS)
                except StoreUnavailable:
                    await asyncio.sleep(TRY_AGAIN_SECONDS)
        finally:
            if connection is not None:
                connection.terminate()

    async def _send_what_was_told(self, connection: "Connection") -> None:
        told, self._told = self._told, set()
        if not self._is_closing:
            self._something_to_do.clear()
        try:
            with speaking_plainly():
                payloads = list(_payloads(self._node, told))
                await connection.execute("SELECT pg_notify($1, p) FROM unnest($2::text[]) AS p", CHANNEL, payloads)
        except BaseException:
            self._told |= told
            self._something_to_do.set()
            raise


async def _until_lost(listener: "Connection") -> None:
    """Returns when the connection is gone, also when nobody says so."""
    lost = asyncio.Event()
    listener.add_termination_listener(lambda _: lost.set())
    while not listener.is_closed():
        try:
            async with asyncio.timeout(LOOK_EVERY_SECONDS):
                await lost.wait()
        except TimeoutError:
            try:
                with speaking_plainly():
                    await listener.execute("SELECT 1")
            except StoreUnavailable:
                listener.terminate()


def _payloads(node: NodeId, places: set[Place]) -> Iterator[str]:
    """As few notifications as carry all places. Where there are too many of them, the hint is: it may be anywhere."""
    anywhere = json.dumps([node, [[None, None]]])
    if len(places) >= MOST_PLACES:
        yield anywhere
        return
    some: list[str] = []
    room = MOST_BYTES - len(anywhere)
    for place in places:
        text = json.dumps(place)
        if len(text) > MOST_BYTES - len(anywhere):
            yield anywhere
            continue
        if len(text) + 2 > room:
            yield _payload(node, some)
            some, room = [], MOST_BYTES - len(anywhere)
        some.append(text)
        room -= len(text) + 2
    if some:
        yield _payload(node, some)


def _payload(node: NodeId, places: list[str]) -> str:
    return f"[{json.dumps(node)}, [{', '.join(places)}]]"
