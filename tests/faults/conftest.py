"""Every fault is caused for real, on SQLite and on PostgreSQL in the same go."""

from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "conversations.db")
    dsn: str = request.getfixturevalue("postgres_dsn")
    return dsn
