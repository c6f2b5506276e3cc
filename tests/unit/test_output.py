"""What an agent says while it is still running goes out in few pieces, in order, or not at all."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contract.builders import NODE, TENANT
from tests.eventually import eventually
from turnkeeper.errors import AgentFailed, LeaseLost
from turnkeeper.ledger.output import Output, OutputRules
from turnkeeper.model.feed import FeedEntry, FeedType
from turnkeeper.model.ids import Fence, RunId, Subject, TenantId
from turnkeeper.model.lease import Lease
from turnkeeper.ports.feed import Woken
from turnkeeper.testing.clock import NOON

LEASE = Lease(
    tenant=TENANT, subject=Subject("sess_1"), run_id=RunId("run_1"), holder=NODE, fence=Fence(1), expires_at=NOON
)
NEVER = 3600.0
MANY = 1_000_000


class RecordingFeed:
    """Keeps the deltas it was given. It writes one at a time, and each only once it is let."""

    def __init__(self) -> None:
        self.deltas: list[str] = []
        self.begun = 0
        self._may_write = asyncio.Event()
        self._may_write.set()

    def hold(self) -> None:
        self._may_write.clear()

    def let_go(self) -> None:
        self._may_write.set()

    async def append_delta(self, lease: Lease, text: str) -> int:
        self.begun += 1
        await self._may_write.wait()
        self.deltas.append(text)
        return len(self.deltas)

    async def append(self, lease: Lease, type: FeedType, data: Mapping[str, Any], *, at: datetime) -> int:
        raise NotImplementedError

    async def read(self, tenant: TenantId, subject: Subject, *, after: int, limit: int) -> Sequence[FeedEntry]:
        raise NotImplementedError

    async def last_no(self, tenant: TenantId, subject: Subject) -> int:
        return len(self.deltas)


class LostFeed(RecordingFeed):
    """The feed of a session that another run has taken over."""

    async def append_delta(self, lease: Lease, text: str) -> int:
        self.begun += 1
        raise LeaseLost(lease.run_id)


class CountedWakes:
    def __init__(self) -> None:
        self.told = 0

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    def listen(self, woken: Woken) -> None: ...

    def tell(self, tenant: TenantId, subject: Subject) -> None:
        self.told += 1


def an_output(
    feed: RecordingFeed,
    *,
    seconds: float = NEVER,
    size: int = MANY,
    most: int = MANY,
    wakes: CountedWakes | None = None,
) -> Output:
    rules = OutputRules(delta_seconds=seconds, delta_bytes=size, most_chars=most)
    return Output(feed, wakes or CountedWakes(), LEASE, rules)


async def so_it_happens(is_so: Callable[[], bool]) -> None:
    async def happened() -> bool:
        return is_so()

    await eventually(happened)


async def test_an_answer_that_is_complete_in_time_is_never_written_as_a_delta() -> None:
    feed = RecordingFeed()
    output = an_output(feed)

    await output.add("Good ")
    await output.add("morning")
    text = await output.finished()

    assert text == "Good morning"
    assert feed.deltas == []


async def test_nothing_goes_out_after_the_end() -> None:
    feed, witness = RecordingFeed(), RecordingFeed()
    output = an_output(feed, seconds=0.01)

    await output.add("Good morning")
    await output.finished()
    await an_output(witness, seconds=0.01).add("It is later now")
    await so_it_happens(lambda: witness.begun == 1)

    assert feed.begun == 0


async def test_pieces_wait_until_there_are_enough_of_them() -> None:
    feed = RecordingFeed()
    output = an_output(feed, size=10)

    for piece in ("four", "four", "four", "four", "four"):
        await output.add(piece)
    text = await output.finished()

    assert feed.deltas == ["fourfourfour"]
    assert text == "four" * 5


async def test_a_large_piece_goes_out_at_once_and_whole() -> None:
    feed = RecordingFeed()

    await an_output(feed, size=10).add("x" * 25)

    assert feed.deltas == ["x" * 25]


async def test_pieces_that_wait_long_enough_go_out_together() -> None:
    feed = RecordingFeed()
    output = an_output(feed, seconds=0.01)

    await output.add("Good ")
    await output.add("morning")
    await so_it_happens(lambda: feed.deltas == ["Good morning"])
    await output.add(", Ada")
    await so_it_happens(lambda: feed.deltas == ["Good morning", ", Ada"])

    assert await output.finished() == "Good morning, Ada"


async def test_what_is_said_while_a_delta_is_on_its_way_goes_with_the_next_one() -> None:
    feed = RecordingFeed()
    output = an_output(feed, seconds=0.01)
    feed.hold()

    await output.add("Good ")
    await so_it_happens(lambda: feed.begun == 1)
    await output.add("morning")
    await output.add(", Ada")
    feed.let_go()
    await so_it_happens(lambda: len(feed.deltas) == 2)

    assert feed.deltas == ["Good ", "morning, Ada"]


async def test_a_slow_database_holds_the_agent_back_instead_of_piling_up() -> None:
    feed = RecordingFeed()
    output = an_output(feed, size=4)
    feed.hold()

    speaking = asyncio.create_task(_say(output, "four", "more"))
    await so_it_happens(lambda: feed.begun == 1)
    held_back = not speaking.done()
    feed.let_go()
    await speaking

    assert held_back
    assert feed.deltas == ["four", "more"]


async def _say(output: Output, *pieces: str) -> None:
    for piece in pieces:
        await output.add(piece)


async def test_the_end_waits_for_the_delta_that_is_on_its_way() -> None:
    feed = RecordingFeed()
    output = an_output(feed, seconds=0.01)
    feed.hold()
    await output.add("Good morning")
    await so_it_happens(lambda: feed.begun == 1)

    async def end() -> tuple[str, list[str]]:
        return await output.finished(), list(feed.deltas)

    ending = asyncio.create_task(end())
    feed.let_go()

    assert await ending == ("Good morning", ["Good morning"])


async def test_a_cancelled_run_does_not_end_before_the_delta_that_is_on_its_way() -> None:
    feed = RecordingFeed()
    output = an_output(feed, size=1)
    feed.hold()
    speaking = asyncio.create_task(output.add("half a"))
    await so_it_happens(lambda: feed.begun == 1)
    speaking.cancel()
    await asyncio.wait([speaking])

    stopping = asyncio.create_task(output.stop())
    await asyncio.wait([stopping], timeout=0.02)
    ended_too_early = stopping.done()
    feed.let_go()
    await stopping

    assert not ended_too_early
    assert feed.deltas == ["half a"]


async def test_readers_are_told_of_each_delta_once_it_is_durable() -> None:
    feed, wakes = RecordingFeed(), CountedWakes()
    output = an_output(feed, size=4, wakes=wakes)

    await _say(output, "four", "more", "end")
    await output.finished()

    assert wakes.told == len(feed.deltas) == 2


async def test_an_agent_that_says_too_much_fails() -> None:
    feed = RecordingFeed()
    output = an_output(feed, most=10)
    await output.add("x" * 10)

    with pytest.raises(AgentFailed):
        await output.add("x")

    assert feed.deltas == []


async def test_an_empty_piece_is_nothing() -> None:
    feed = RecordingFeed()
    output = an_output(feed, size=0)

    await output.add("")

    assert await output.finished() == ""
    assert feed.begun == 0


async def test_a_run_that_has_lost_its_session_hears_of_it_when_it_speaks() -> None:
    output = an_output(LostFeed(), size=4)

    with pytest.raises(LeaseLost):
        await output.add("four")


async def test_a_run_that_has_lost_its_session_hears_of_it_at_its_end_at_the_latest() -> None:
    feed = LostFeed()
    output = an_output(feed, seconds=0.01)
    await output.add("four")
    await so_it_happens(lambda: feed.begun == 1)

    with pytest.raises(LeaseLost):
        await output.finished()


@given(pieces=st.lists(st.text(max_size=8), max_size=30), size=st.integers(0, 20), seconds=st.sampled_from([0.0, 1.0]))
def test_nothing_that_was_said_is_lost_doubled_or_out_of_order(pieces: list[str], size: int, seconds: float) -> None:
    async def say_it() -> tuple[str, list[str]]:
        feed = RecordingFeed()
        output = an_output(feed, size=size, seconds=seconds)
        await _say(output, *pieces)
        return await output.finished(), feed.deltas

    text, deltas = asyncio.run(say_it())

    assert text == "".join(pieces)
    assert text.startswith("".join(deltas))
    assert all(deltas)
