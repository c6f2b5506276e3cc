"""What one whole turn asks of the disk or of the network, counted and not timed.

On SQLite the process is watched by strace and says when counting begins and ends. On PostgreSQL it talks through a
relay that reads along.
"""

import os
import sqlite3
from urllib.parse import urlsplit, urlunsplit

from bench.relay import Relay
from bench.scenarios import Numbers, Task
from bench.scenarios.turns import walk
from bench.work import Place

BEGIN, PAUSE, END = ("/bench-counting-begins", "/bench-counting-pauses", "/bench-counting-ends")
"""Files that do not exist; asking for them leaves a mark in the trace."""


async def measure(task: Task) -> Numbers:
    return await (_trips(task) if task.contender.on_postgres else _syncs(task))


async def _syncs(task: Task) -> Numbers:
    contender = task.contender.make()
    await contender.open(task.place)
    session = await contender.create()
    await walk(contender, session, range(20))
    # Start the log anew, so that no checkpoint falls into the first part.
    with sqlite3.connect(task.place.file) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other.close()
    await walk(contender, session, range(1))
    os.access(BEGIN, os.F_OK)
    await walk(contender, session, range(task.given["turns"]))
    os.access(PAUSE, os.F_OK)
    await walk(contender, session, range(task.given["more_turns"]))
    os.access(END, os.F_OK)
    await contender.close()
    return {}


async def _trips(task: Task) -> Numbers:
    address = urlsplit(task.place.server)
    relay = Relay(address.hostname or "127.0.0.1", address.port or 5432)
    port = await relay.open()
    through = urlunsplit(address._replace(netloc=f"{address.username or 'postgres'}@127.0.0.1:{port}"))
    contender = task.contender.make()
    await contender.open(Place(folder=task.place.folder, dsn=through, quiet=True))
    session = await contender.create()
    await walk(contender, session, range(20))
    turns: int = task.given["turns"]
    before = relay.counts()
    await walk(contender, session, range(turns))
    after = relay.counts()
    await contender.close()
    await relay.close()
    return {name: (after[name] - before[name]) / turns for name in after}
