"""A house for every test of the bus."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bus.house import House, a_house, a_settings


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with a_house(a_settings(tmp_path)) as house:
        yield house
