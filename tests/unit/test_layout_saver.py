"""A layout is saved seldom enough, soon enough, and never in the way."""

import asyncio
from collections.abc import Mapping
from typing import Any

from turnkeeper.client.layout import LayoutSaver
from turnkeeper.errors import SessionEnded


class Desk:
    """A clock that is stepped, and a server that remembers what it was sent."""

    def __init__(self, *failures: Exception) -> None:
        self.seconds = 0.0
        self.saved: list[Mapping[str, Any]] = []
        self._failures = list(failures)
        self.saver = LayoutSaver(self.save, now=lambda: self.seconds)

    async def save(self, layout: Mapping[str, Any]) -> None:
        self.saved.append(layout)
        if self._failures:
            raise self._failures.pop(0)

    async def step(self, seconds: float) -> None:
        self.seconds = round(self.seconds + seconds, 6)
        await self.saver.save_if_due()


async def test_nyqst_80_fifty_changes_in_two_seconds_are_saved_at_most_four_times() -> None:
    desk = Desk()

    for number in range(50):
        desk.saver.change({"scroll": number})
        await desk.step(0.04)
    await desk.step(0.79)

    assert len(desk.saved) <= 4
    assert desk.saved[-1] == {"scroll": 49}


async def test_who_never_rests_is_saved_every_five_seconds() -> None:
    desk = Desk()

    for number in range(26):
        desk.saver.change({"scroll": number})
        await desk.step(0.5)

    assert [layout["scroll"] for layout in desk.saved] == [9, 19]
    assert desk.saver.layout == {"scroll": 25}


async def test_nyqst_81_a_save_that_fails_is_tried_once_more_and_raises_nothing() -> None:
    desk = Desk(OSError(), OSError())

    desk.saver.change({"tab": 1})
    await desk.step(0.8)
    assert (len(desk.saved), desk.saver.failures) == (2, 1)
    desk.saver.change({"pane": 2})
    await desk.step(0.8)

    assert desk.saved[-1] == {"tab": 1, "pane": 2}


async def test_for_a_session_that_is_over_nothing_is_saved_any_more() -> None:
    desk = Desk(SessionEnded("sess_1", "closed"))

    for number in range(3):
        desk.saver.change({"tab": number})
        await desk.step(1.0)

    assert len(desk.saved) == 1


async def test_one_save_is_on_its_way_at_a_time_and_the_last_layout_wins() -> None:
    going, may_end = asyncio.Event(), asyncio.Event()
    saved: list[Mapping[str, Any]] = []

    async def save(layout: Mapping[str, Any]) -> None:
        going.set()
        await may_end.wait()
        saved.append(layout)

    saver = LayoutSaver(save)
    saver.change({"tab": 1})
    first = asyncio.create_task(saver.flush())
    await going.wait()
    saver.change({"tab": 2})
    second = asyncio.create_task(saver.flush())
    may_end.set()
    await asyncio.gather(first, second)

    assert saved == [{"tab": 1}, {"tab": 2}]


async def test_what_is_not_saved_yet_is_saved_when_its_user_leaves() -> None:
    saved: list[Mapping[str, Any]] = []

    async def save(layout: Mapping[str, Any]) -> None:
        saved.append(layout)

    async with LayoutSaver(save, {"tab": 0}) as saver:
        saver.change({"pane": 1})

    assert saved == [{"tab": 0, "pane": 1}]
