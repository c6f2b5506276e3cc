"""A link carries messages both ways, comes back by itself, and never breaks over what it hears."""

import logging
import socket
from collections.abc import AsyncIterator

import pytest

from tests.bus.wire import WITHIN, Participant, a_socket, eventually
from turnkeeper.bus.link import Link
from turnkeeper.bus.message import Message
from turnkeeper.bus.relay import Relay
from turnkeeper.errors import BusBacklogged, BusRefused, BusUnreachable


@pytest.fixture
async def relay() -> AsyncIterator[Relay]:
    async with Relay(port=0) as relay:
        yield relay


async def test_what_one_link_sends_every_link_hears_in_order(relay: Relay) -> None:
    async with Participant(relay.url) as one, Participant(relay.url) as other:
        for number in range(200):
            one.link.send(Message(type="count", data={"n": number}))

        for each in (one, other):
            assert [message.data["n"] for message in await each.hears("count", 200)] == list(range(200))


async def test_a_link_survives_every_frame_that_is_no_message(relay: Relay) -> None:
    async with a_socket(relay.url) as stranger, Participant(relay.url) as somebody:
        for frame in ("", "{", "[1]", "null", '{"type": 5}', '{"type":"a","data":[]}', "[" * 5_000):
            await stranger.send(frame)
        await stranger.send('{"type":"after"}')

        await somebody.hears("after")
        assert somebody.opened == 1
        assert [message.type for message in somebody.heard] == ["connected", "after"]


async def test_what_a_listener_raises_does_not_end_the_link(relay: Relay) -> None:
    def answers(message: Message) -> list[Message]:
        if message.type == "boom":
            raise RuntimeError("boom")
        return []

    async with Participant(relay.url, answers) as somebody:
        somebody.link.send(Message(type="boom"))
        somebody.link.send(Message(type="after"))

        await somebody.hears("after")


async def test_a_link_comes_back_and_says_so_before_it_sends_what_waited() -> None:
    first = Relay(port=0)
    await first.start()
    async with Participant(first.url, says_first=Message(type="hello")) as somebody:
        await somebody.hears("hello")
        await first.close()
        await eventually(lambda: not somebody.link.is_open)
        somebody.link.send(Message(type="waited", data={"n": 1}))
        somebody.link.send(Message(type="waited", data={"n": 2}))

        async with Relay(port=first.port) as _:
            await somebody.hears("waited", 2)

    told = [(message.type, message.data.get("n")) for message in somebody.heard]
    assert told == [
        ("connected", None),
        ("hello", None),
        ("connected", None),
        ("hello", None),
        ("waited", 1),
        ("waited", 2),
    ]


async def test_only_so_much_waits_for_a_connection() -> None:
    link = Link("ws://127.0.0.1:1/core", on_message=lambda _: None, queue_frames=2, queue_bytes=200)
    async with link:
        link.send(Message(type="one"))
        with pytest.raises(BusBacklogged):
            link.send(Message(type="large", data={"text": "x" * 200}))
        link.send(Message(type="two"))

        with pytest.raises(BusBacklogged):
            link.send(Message(type="three"))


async def test_a_closed_link_takes_nothing_more(relay: Relay) -> None:
    async with Participant(relay.url) as somebody:
        pass

    with pytest.raises(ValueError, match="closed"):
        somebody.link.send(Message(type="late"))


async def test_what_was_sent_last_goes_out_before_a_link_closes(relay: Relay) -> None:
    async with Participant(relay.url) as other:
        async with Participant(relay.url) as one:
            for number in range(100):
                one.link.send(Message(type="last", data={"n": number, "text": "x" * 100_000}))

        assert len(await other.hears("last", 100)) == 100


async def test_a_link_that_is_refused_says_what_the_bus_said(relay: Relay) -> None:
    async with Link(relay.url.replace("/core", "/other"), on_message=lambda _: None) as link:
        with pytest.raises(BusRefused, match=r"404: The bus is at /core\."):
            await link.opened(WITHIN)


async def test_a_bus_that_is_not_there_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    async with Link(f"ws://127.0.0.1:{port}/core", on_message=lambda _: None) as link:
        with pytest.raises(BusUnreachable):
            await link.opened(0.05)


async def test_a_link_sends_small_messages_at_once(relay: Relay) -> None:
    async with Participant(relay.url) as somebody:
        connection = somebody.link._connection
        assert connection is not None

        held = connection.transport.get_extra_info("socket")

        assert held.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


async def test_a_bus_that_is_not_there_is_told_once_and_without_its_token(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with caplog.at_level(logging.DEBUG, logger="turnkeeper.bus.link"):
        async with Link(f"ws://me:secret@127.0.0.1:{port}/core?token=secret", on_message=lambda _: None):
            await eventually(lambda: len(caplog.records) >= 2)

    first, *others = caplog.records
    assert (first.levelname, first.message) == ("WARNING", "bus not reached, trying again")
    assert vars(first)["bus"] == f"ws://127.0.0.1:{port}/core"
    assert all(each.levelname == "DEBUG" for each in others)
    assert not any("secret" in str(vars(each)) for each in caplog.records)
