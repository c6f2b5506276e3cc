"""Every story is told on SQLite and on PostgreSQL in the same go."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from turnkeeper import Settings, Turnkeeper

BRISK = {
    "default_agent": "echo",
    "sweep_seconds": 0.1,
    "lease_seconds": 5.0,
    "renew_seconds": 0.5,
    "grace_seconds": 5.0,
    "stop_seconds": 1.0,
}


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the conversations are kept."""
    if request.param == "sqlite":
        return str(tmp_path / "conversations.db")
    dsn: str = request.getfixturevalue("postgres_dsn")
    return dsn


@pytest.fixture
def settings(address: str) -> Settings:
    return Settings(database=address, pool_size=8, **BRISK)  # type: ignore[arg-type]


@pytest.fixture
async def keeper(settings: Settings) -> AsyncIterator[Turnkeeper]:
    async with Turnkeeper.open(settings=settings) as opened:
        yield opened


@pytest.fixture
async def other_keeper(settings: Settings, keeper: Turnkeeper) -> AsyncIterator[Turnkeeper]:
    """A second node on the same conversations."""
    async with Turnkeeper.open(settings=settings) as opened:
        yield opened
