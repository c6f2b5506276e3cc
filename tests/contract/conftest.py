"""Every contract test runs on SQLite and on PostgreSQL in the same go."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contract.builders import NODE
from turnkeeper.ports.store import Store
from turnkeeper.stores.postgres.store import postgres_store
from turnkeeper.stores.sqlite.store import sqlite_store


@pytest.fixture(params=["sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    if request.param == "sqlite":
        opened = sqlite_store(tmp_path / "conversations.db", NODE)
    else:
        opened = postgres_store(request.getfixturevalue("postgres_dsn"), NODE)
    await opened.database.open()
    yield opened
    await opened.database.close()
