"""When the house itself is in trouble."""

import contextlib
import logging
import sqlite3
from pathlib import Path

import httpx2
import pytest

from tests.server.process import a_server, audit_of
from turnkeeper import Principal, Turnkeeper
from turnkeeper.ports.identities import Shown
from turnkeeper.server.app import create_app


class BrokenIdentities:
    """A port whose other side fails in a way that nobody foresaw."""

    async def shown(self, token: str) -> Shown:
        raise RuntimeError(f"secret {token}")

    def standing(self, mark: str) -> Principal | None:
        return None


async def test_an_unforeseen_fault_is_a_problem_without_its_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Turnkeeper.open(tmp_path / "x.db") as keeper:
        transport = httpx2.ASGITransport(create_app(keeper, BrokenIdentities()))
        async with httpx2.AsyncClient(transport=transport, base_url="http://house") as client:
            broken = await client.post(
                "/api/v1/chat",
                json={"message": "Hi"},
                headers={"Authorization": "Bearer hush", "X-Request-Id": "req-1"},
            )

    assert (broken.status_code, broken.json()["code"]) == (500, "internal_error")
    assert broken.json()["request_id"] == broken.headers["x-request-id"] == "req-1"
    assert "secret" not in broken.text
    (line,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert (line.getMessage(), vars(line)["request_id"], vars(line)["kind"]) == (
        "request broke",
        "req-1",
        "RuntimeError",
    )
    assert "hush" not in caplog.text


async def test_a_server_that_is_closing_says_so(tmp_path: Path) -> None:
    async with Turnkeeper.open(tmp_path / "x.db") as keeper:
        transport = httpx2.ASGITransport(create_app(keeper, BrokenIdentities()))
        await keeper.drain(grace_seconds=0)
        async with httpx2.AsyncClient(transport=transport, base_url="http://house") as client:
            refused = await client.get("/readyz")

    assert (refused.status_code, refused.json()["code"]) == (503, "shutting_down")


def test_a_database_that_cannot_be_written_is_told_and_comes_back(tmp_path: Path) -> None:
    database = tmp_path / "x.db"
    with a_server(database, "--token", "sesame-open") as server:
        api = server.api("sesame-open")
        with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            refused = [api.client.get("/readyz"), api.post("/chat", {"message": "Hi"})]
            other.execute("ROLLBACK")

        again = api.chat("Hi")
        ready = api.client.get("/readyz")

    assert [(response.status_code, response.json()["code"]) for response in refused] == [(503, "store_unavailable")] * 2
    assert refused[0].headers["retry-after"] == "1"
    assert (again["turn"], ready.status_code) == (1, 200)
    assert [entry["outcome"] for entry in audit_of(database) if entry["tenant"] == "default"] == ["accepted"]
