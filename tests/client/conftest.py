"""One story told twice: beside the engine, and through a server on a socket of this loop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.client.house import TOKEN, served, set_up
from turnkeeper import Turnkeeper
from turnkeeper.client import Retries
from turnkeeper.client import Turnkeeper as RemoteTurnkeeper


async def at_once(seconds: float) -> None:
    """Nobody waits in tests."""


QUICK = Retries(pause=at_once)
STUBBORN = Retries(tries=1_000, pause=at_once)


@asynccontextmanager
async def an_engine(folder: Path) -> AsyncIterator[Turnkeeper]:
    async with Turnkeeper.open(folder / "conversations.db", anchor_seconds=3600) as engine:
        set_up(engine)
        yield engine


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Turnkeeper]:
    async with an_engine(tmp_path) as engine:
        yield engine


@pytest.fixture
async def url(engine: Turnkeeper) -> AsyncIterator[str]:
    """The address of a server on this engine."""
    async with served(engine) as url:
        yield url


@pytest.fixture
async def remote(url: str) -> AsyncIterator[RemoteTurnkeeper]:
    async with RemoteTurnkeeper.open(url, token=TOKEN, retries=QUICK) as keeper:
        yield keeper


@pytest.fixture(params=["embedded", "remote"])
def keeper(request: pytest.FixtureRequest) -> Any:
    """The same verbs either way; a story does not know which."""
    return request.getfixturevalue("engine" if request.param == "embedded" else "remote")
