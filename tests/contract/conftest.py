"""Every contract test runs on SQLite and on PostgreSQL in the same go."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contract.backends import Backend, PostgresBackend, SqliteBackend
from turnkeeper.ports.store import Store


@pytest.fixture(params=["sqlite", "postgres"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """A place for one database that no other test sees."""
    if request.param == "sqlite":
        return SqliteBackend(tmp_path / "conversations.db")
    return PostgresBackend(request.getfixturevalue("postgres_dsn"))


@pytest.fixture
async def store(backend: Backend) -> AsyncIterator[Store]:
    opened = backend.store()
    await opened.database.open()
    yield opened
    await opened.database.close()
