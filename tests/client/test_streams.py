"""Streams notice what is missing, and lists go on to their end."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from tests.client.conftest import QUICK
from turnkeeper import errors
from turnkeeper.client import Retries, Turnkeeper
from turnkeeper.ledger.feed import Frame
from turnkeeper.ledger.saying import Spoken
from turnkeeper.model.feed import FeedType


def event(no: int, prev: int, type: str, **data: Any) -> str:
    said = {"seq": no, "prev": prev, "type": type, "run_id": "run_1", "session_id": "s", "trace_id": None}
    said |= {"ts": "2026-01-01T00:00:00Z", "truncated": False, "dropped": None, "data": data}
    return f"id: {no}\nevent: {type}\ndata: {json.dumps(said)}\n\n"


def stream(*events: str) -> httpx2.Response:
    return httpx2.Response(200, text="".join(events), headers={"Content-Type": "text/event-stream"})


class Line:
    def __init__(self, *answers: httpx2.Response) -> None:
        self.answers, self.asked = list(answers), list[httpx2.Request]()

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        return self.answers.pop(0)

    def keeper(self, retries: Retries = QUICK) -> Turnkeeper:
        http = httpx2.AsyncClient(base_url="http://house", transport=httpx2.MockTransport(self))
        return Turnkeeper.open("http://house", retries=retries, http=http)


ACCEPTED = event(4, 3, "run.accepted", created=True)
ONE, TWO = event(5, 4, "output.delta", text="one "), event(6, 5, "output.delta", text="two")
DONE = event(7, 6, "run.completed", text="one two", turn=1, finish="done")


async def test_a_frame_that_is_missing_is_asked_for_again() -> None:
    line = Line(stream(ACCEPTED, ONE, DONE), stream(TWO, DONE))

    frames = [frame async for frame in line.keeper().stream("hello")]

    assert [frame.no for frame in frames] == [4, 5, 6, 7]
    assert line.asked[1].url.path == "/api/v1/runs/run_1/feed"
    assert line.asked[1].headers["last-event-id"] == "5"


async def test_a_frame_that_comes_twice_is_told_once() -> None:
    line = Line(stream(ACCEPTED, ONE), stream(ACCEPTED, ONE, TWO, TWO, DONE))

    frames = [frame async for frame in line.keeper().stream("hello")]

    assert [frame.no for frame in frames] == [4, 5, 6, 7]


async def test_a_frame_of_a_newer_server_is_passed_over() -> None:
    line = Line(stream(ACCEPTED, event(5, 4, "quite.new"), event(6, 5, "output.delta", text="x")), stream(DONE))

    frames = [frame async for frame in line.keeper().stream("hello")]

    assert [frame.type for frame in frames][-1] == "run.completed"


async def test_a_server_that_leaves_in_the_middle_is_asked_again() -> None:
    line = Line(stream(ACCEPTED, ONE), stream("event: stream.broken\ndata: " + json.dumps(BROKEN) + "\n\n"))
    line.answers.append(stream(TWO, DONE))

    frames = [frame async for frame in line.keeper().stream("hello")]

    assert [frame.no for frame in frames] == [4, 5, 6, 7]


BROKEN = {"seq": 5, "prev": 5, "type": "stream.broken", "data": {}}


class Quiet(httpx2.AsyncByteStream):
    """Says a few events, then nothing but signs of life for three quarters of a minute, and breaks."""

    def __init__(self, clock: list[float], *events: str) -> None:
        self.clock, self.events = clock, events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield "".join(self.events).encode()
        self.clock[0] += 45
        yield b": heartbeat\n\n"
        raise httpx2.ReadError("cut")


async def test_a_stream_is_taken_up_however_long_it_was_quiet() -> None:
    clock = [0.0]
    line = Line(*[httpx2.Response(200, stream=Quiet(clock, *said)) for said in ([ACCEPTED, ONE], [], [])])
    line.answers.append(stream(TWO, DONE))
    retries = Retries(tries=2, now=lambda: clock[0], pause=QUICK.pause)

    frames = [frame async for frame in line.keeper(retries).stream("hello")]

    assert [frame.no for frame in frames] == [4, 5, 6, 7]


async def test_who_reads_slowly_does_not_lose_the_stream() -> None:
    clock = [0.0]
    line = Line(stream(ACCEPTED, ONE), stream(TWO, DONE))
    told = []

    async for frame in line.keeper(Retries(now=lambda: clock[0], pause=QUICK.pause)).stream("hello"):
        told.append(frame.no)
        clock[0] += 45

    assert told == [4, 5, 6, 7]


async def test_a_stream_that_cannot_be_taken_up_says_where_it_was_lost() -> None:
    line = Line(stream(ACCEPTED, ONE), stream(), stream())

    with pytest.raises(errors.StreamLost) as given_up:
        [frame async for frame in line.keeper(Retries(tries=2, pause=QUICK.pause)).stream("hello")]

    assert given_up.value.facts["last_no"] == 5


def frame(type: FeedType, **data: Any) -> Frame:
    return Frame(no=1, prev=0, type=type, run_id=None, at=None, data=data)  # type: ignore[arg-type]


def test_what_was_dropped_is_made_good_by_its_snapshot() -> None:
    spoken = Spoken()

    pieces = [
        spoken.heard(frame(FeedType.OUTPUT_DELTA, text="one ")),
        spoken.heard(frame(FeedType.OUTPUT_SNAPSHOT, text="one two three ")),
        spoken.heard(frame(FeedType.OUTPUT_DELTA, text="four")),
        spoken.heard(frame(FeedType.RUN_COMPLETED, text="one two three four")),
    ]

    assert pieces == ["one ", "two three ", "four", ""]
    assert spoken.text == "one two three four"


def test_words_that_are_taken_back_are_said_anew_on_a_line_of_their_own() -> None:
    spoken = Spoken()

    pieces = [
        spoken.heard(frame(FeedType.OUTPUT_DELTA, text="one two")),
        spoken.heard(frame(FeedType.RUN_RESUMED, text="one")),
        spoken.heard(frame(FeedType.OUTPUT_DELTA, text=" three")),
    ]

    assert pieces == ["one two", "\none", " three"]
    assert spoken.text == "one three"


async def test_every_item_of_a_list_comes_in_order_and_a_page_only_when_it_is_needed(remote: Turnkeeper) -> None:
    made = sorted([(await remote.create_session(agent="parrot")).id for _ in range(7)])

    page = await remote.sessions(limit=3)
    newer = await remote.create_session(agent="parrot")
    every = [session.id async for session in page.every()]

    assert [session.id for session in page] == made[:3:-1]
    assert (page.total, len(page), page[0].id) == (7, 3, made[-1])
    assert every == made[::-1]
    assert newer.id not in every


async def test_code_does_not_travel_and_the_client_says_what_to_do(remote: Turnkeeper) -> None:
    for verb in (remote.agent, remote.tool, remote.add_agent, remote.add_tool, remote.add_channel):
        with pytest.raises(errors.NotRemote, match="turnkeeper serve --setup"):
            verb("parrot")
    with pytest.raises(errors.NotRemote):
        remote.add_graph("parrot", object())


async def test_the_address_and_the_token_come_from_the_environment(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNKEEPER_URL", url)
    monkeypatch.setenv("TURNKEEPER_TOKEN", "token-of-local")
    async with Turnkeeper.open() as keeper:
        await keeper.ping()
        assert ((await keeper.me()).user, (await keeper.me()).role) == ("local", "owner")
        assert len(await keeper.sessions()) == 0
    async with Turnkeeper.open(token="another") as stranger:
        with pytest.raises(errors.NotAuthenticated):
            await stranger.sessions()


def test_importing_the_client_loads_nothing_of_the_server_and_needs_its_extra() -> None:
    program = (
        "import sys; sys.modules['httpx2'] = None\n"
        "import turnkeeper.client as client; from turnkeeper.errors import ExtraMissing\n"
        "try: client.Turnkeeper\n"
        "except ExtraMissing as error: assert 'turnkeeper[client]' in str(error)\n"
        "else: raise AssertionError\n"
        "del sys.modules['httpx2']; client.Turnkeeper\n"
        "heavy = {'fastapi', 'uvicorn', 'pydantic', 'turnkeeper.engine', 'turnkeeper.keeping'} & sys.modules.keys()\n"
        "assert not heavy, heavy\n"
    )

    subprocess.run([sys.executable, "-c", program], check=True)
