"""`python -m bench.acceptance.bare FILE plain|group`: a route that validates an envelope and inserts one row."""

import asyncio
import json
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import uvicorn
import uvloop
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from jsonschema_rs import Draft202012Validator

from turnkeeper.schemas import schema
from turnkeeper.server.listen import bind, url_of
from turnkeeper.stores.sqlite.database import PAGES_BEFORE_A_CHECKPOINT

INSERT = "INSERT INTO intake (request_id, received_at, envelope) VALUES (?, ?, ?)"

Row = tuple[str, float, bytes]
Insert = Callable[[Row], Awaitable[None]]


def opened(file: Path) -> sqlite3.Connection:
    """One connection that all requests write through, set as ours is."""
    connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {PAGES_BEFORE_A_CHECKPOINT}")
    connection.execute(
        "CREATE TABLE intake (request_id TEXT PRIMARY KEY, received_at REAL NOT NULL, envelope BLOB NOT NULL)"
    )
    return connection


def plain(connection: sqlite3.Connection) -> Insert:
    """One commit a request, on the loop's own thread: a hop to another costs more than the disk does."""

    async def insert(row: Row) -> None:
        connection.execute(INSERT, row)

    return insert


def group(connection: sqlite3.Connection) -> Insert:
    """What waits together is inserted and committed together, on a second thread."""
    waiting: list[tuple[Row, asyncio.Future[None]]] = []
    writer = ThreadPoolExecutor(1)
    writing: asyncio.Task[None] | None = None

    def write(rows: list[Row]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(INSERT, rows)
        connection.execute("COMMIT")

    async def write_what_waits() -> None:
        nonlocal writing
        loop = asyncio.get_running_loop()
        while waiting:
            batch = waiting[:]
            waiting.clear()
            await loop.run_in_executor(writer, write, [row for row, _ in batch])
            for _, durable in batch:
                durable.set_result(None)
        writing = None

    async def insert(row: Row) -> None:
        nonlocal writing
        durable = asyncio.get_running_loop().create_future()
        waiting.append((row, durable))
        if writing is None:
            writing = asyncio.create_task(write_what_waits())
        await durable

    return insert


def app_with(insert: Insert) -> FastAPI:
    app = FastAPI()
    validator = Draft202012Validator(schema("envelope"))

    @app.post("/api/v1/invoke")
    async def invoke(request: Request) -> JSONResponse:
        body = await request.body()
        document = json.loads(body)
        if not validator.is_valid(document):
            return JSONResponse({"error": "schema_invalid"}, status_code=422)
        await insert((document["request_id"], time.time(), body))
        return JSONResponse({"request_id": document["request_id"]}, status_code=202)

    return app


async def serve(file: Path, way: str) -> None:
    app = app_with({"plain": plain, "group": group}[way](opened(file)))
    bound = bind("127.0.0.1", 0)
    config = uvicorn.Config(
        app, http="httptools", ws="none", lifespan="off", log_config=None, access_log=False, server_header=False
    )
    print(f"Listening on {url_of(bound)}", flush=True)
    bound.listen(2048)
    await uvicorn.Server(config).serve(sockets=[bound])


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(Path(sys.argv[1]), sys.argv[2]))
