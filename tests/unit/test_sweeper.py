"""Small duties at regular times."""

import logging

import pytest

from tests.eventually import eventually
from turnkeeper.errors import DatabaseMoving
from turnkeeper.upkeep.sweeper import Duty, Sweeper


async def test_a_duty_that_is_put_off_again_and_again_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    tries = 0

    async def works_once_in_a_while() -> None:
        nonlocal tries
        tries += 1
        if tries != 5:
            raise DatabaseMoving

    async def tried_often() -> bool:
        return tries >= 10

    sweeper = Sweeper(Duty("anchor", 0.001, works_once_in_a_while))
    with caplog.at_level(logging.WARNING):
        sweeper.start()
        await eventually(tried_often)
        await sweeper.stop()

    assert [(record.message, vars(record)["reason"]) for record in caplog.records] == [("duty put off", "moving")] * 2
