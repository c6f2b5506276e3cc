"""Everybody hears everything, byte for byte and in one order; who does not read is sent away alone."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.bus.house import House
from tests.bus.wire import WITHIN, a_socket, eventually, heard, heard_until
from turnkeeper.bus import topics
from turnkeeper.bus.relay import Relay
from turnkeeper.telemetry.counting import Counts

ODD_FRAMES = (
    '{"type":"a","context":{"session":null}}',
    '{"type":"a","context":{"session":{}}}',
    '{ "context" : {"session":{"x_vendor":7,  "session_id":"kiosk-9"}},\t"data":{},"type":"a"}',
    '{"type":"a","context":{"session":["no","object"]}}',
    '{"type":"a","type":"b","data":{"z":1,"a":2,"z":3}}',
    '{"type":"a","data":{"n":1.0e2,"big":123456789012345678901234567890}}',
    '{"type":"a","data":{"text":"\\u00e9 é 漢字 \\ud83d\\ude00 😀"}}',
    "no JSON at all",
    "[1, 2]",
    '"hello"',
    "42",
    "null",
    "",
)


@pytest.fixture
async def relay() -> AsyncIterator[Relay]:
    async with Relay(port=0) as relay:
        yield relay


async def test_ovos_62_every_frame_is_relayed_byte_for_byte_whatever_its_session(relay: Relay) -> None:
    async with a_socket(relay.url) as sender, a_socket(relay.url) as other:
        for frame in ODD_FRAMES:
            await sender.send(frame)

        for each in (sender, other):
            assert [await heard(each) for _ in ODD_FRAMES] == list(ODD_FRAMES)


async def test_ovos_01_61_a_restarted_bus_remembers_nothing_and_relays_as_before() -> None:
    frames = [frame_of(f"n{number % 7}", x_vendor=number) for number in range(1_000)]
    for _ in range(2):
        async with Relay(port=0) as relay, a_socket(relay.url) as sender, a_socket(relay.url) as other:
            for frame in frames:
                await sender.send(frame)

            assert [await heard(other) for _ in frames] == frames
            async with a_socket(relay.url) as late:
                await sender.send("the end")
                assert await heard(late) == "the end"


async def test_ovos_02_a_frame_that_comes_twice_is_relayed_twice_and_changes_nothing_else(relay: Relay) -> None:
    odd, next_one = frame_of("n1", lang="xx"), frame_of("n1", site_id="kitchen")
    async with a_socket(relay.url) as sender, a_socket(relay.url) as other:
        for frame in (odd, odd, next_one):
            await sender.send(frame)

        assert [await heard(other) for _ in range(3)] == [odd, odd, next_one]


async def test_ovos_02_a_frame_that_comes_twice_or_late_changes_nothing_in_the_next_round(house: House) -> None:
    session = {"session_id": "n1", "site_id": "kitchen"}
    first = await house.say("say hello", session)
    odd = first.one(topics.SPEAK).carrying({"session_id": "n1", "site_id": "elsewhere", "lang": "xx", "x_odd": 1})
    for _ in range(2):
        await house.tell(odd.type, odd.data, odd.context)

    second = await house.say("say hello", session)

    assert second.topics == first.topics
    assert [untimed(each.session) for each in second.frames] == [untimed(each.session) for each in first.frames]


def untimed(session: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in session.items() if not name.endswith("_handlers")}


async def test_a_new_connection_is_greeted_before_it_hears_anything(relay: Relay) -> None:
    async with connect(relay.url, proxy=None) as somebody:
        greeting = json.loads(await heard(somebody))

    assert greeting == {"type": "connected", "data": {}, "context": {"session": {"session_id": "default"}}}


async def test_all_hear_what_many_say_at_once_in_the_same_order(relay: Relay) -> None:
    async with a_socket(relay.url) as one, a_socket(relay.url) as two, a_socket(relay.url) as three:
        talkers = (one, two, three)

        async def talk(number: int) -> None:
            for count in range(150):
                await talkers[number].send(f"{number}:{count}")

        await asyncio.gather(*(talk(number) for number in range(3)))
        stories = [[await heard(each) for _ in range(450)] for each in talkers]

    assert stories[0] == stories[1] == stories[2]
    for number in range(3):
        own = [frame for frame in stories[0] if frame.startswith(f"{number}:")]
        assert own == [f"{number}:{count}" for count in range(150)]


async def test_a_frame_in_pieces_is_relayed_as_one(relay: Relay) -> None:
    async with a_socket(relay.url) as sender:
        await sender.send(["one ", "frame é", " 漢字"])

        assert await heard(sender) == "one frame é 漢字"


async def test_every_accepted_socket_sends_small_frames_at_once(relay: Relay) -> None:
    async with a_socket(relay.url):
        (listener,) = relay._listeners
        accepted = listener.transport.get_extra_info("socket")

        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


async def test_frames_are_never_compressed(relay: Relay) -> None:
    async with connect(relay.url, proxy=None, compression="deflate") as somebody:
        assert somebody.protocol.extensions == []


# --- those who do harm, or fail


async def test_who_does_not_read_is_sent_away_and_the_others_miss_nothing() -> None:
    async with (
        Relay(port=0, queue_bytes=2_000_000) as relay,
        deaf_socket(relay) as deaf,
        a_socket(relay.url) as sender,
        a_socket(relay.url) as other,
    ):
        frames = [f"{number:03}" + "x" * 50_000 for number in range(200)]
        for frame in frames:
            await sender.send(frame)
            assert await heard(sender) == frame
            assert await heard(other) == frame
        assert relay.counts.sent_away == 1
        told = await everything_of(deaf)
        deaf.close()
        await eventually(lambda: relay.counts.open == 2)

    assert b"too much waits to be read" in told[-80:]
    assert told.count(b"x" * 50_000) < len(frames)


async def test_many_small_frames_that_nobody_reads_are_too_many_as_well() -> None:
    async with Relay(port=0, queue_frames=50) as relay, deaf_socket(relay), a_socket(relay.url) as sender:
        # More than the kernel holds, and less than may wait in bytes.
        for _ in range(800):
            await sender.send("x" * 20_000)
            await heard(sender)

        assert relay.counts.sent_away == 1


async def test_who_says_more_than_it_reads_is_heard_again_when_it_has_caught_up() -> None:
    frames = [f"{number:04}" + "x" * 50_000 for number in range(400)]
    async with (
        Relay(port=0, queue_bytes=4_000_000) as relay,
        a_socket(relay.url, max_queue=1) as sender,
        a_socket(relay.url) as other,
    ):
        saying = asyncio.create_task(say_all(sender, frames))
        await eventually(lambda: any(listener.is_held for listener in relay._listeners))

        assert await heard_until(sender, frames[-1]) == frames
        assert await heard_until(other, frames[-1]) == frames
        await saying
        assert relay.counts.sent_away == 0


async def test_a_frame_that_is_too_large_closes_its_own_connection_only() -> None:
    async with Relay(port=0, frame_bytes=1_000) as relay, a_socket(relay.url) as other:
        async with a_socket(relay.url) as sender:
            await sender.send("x" * 1_001)
            assert (await closing_of(sender))[0] == 1009
        async with a_socket(relay.url) as sender:
            await sender.send("x" * 1_000)

        assert await heard(other) == "x" * 1_000


async def test_a_binary_frame_closes_its_own_connection_only(relay: Relay) -> None:
    async with a_socket(relay.url) as other, a_socket(relay.url) as sender:
        await sender.send("before")
        await sender.send(b"\x00\x01")
        assert await closing_of(sender) == (1007, "a message is a text frame")

        await other.send('{"type":"after"}')

        assert await heard(other) == "before"
        assert json.loads(await heard(other))["type"] == "after"


async def test_text_that_is_no_unicode_closes_its_own_connection_only(relay: Relay) -> None:
    async with a_socket(relay.url) as other, a_socket(relay.url) as sender:
        await sender.send(b'{"type":"a\xff"}', text=True)

        assert await closing_of(sender) == (1007, "a text frame is UTF-8")
        await other.send('{"type":"after"}')
        assert json.loads(await heard(other))["type"] == "after"


async def test_a_bus_that_closes_says_so_to_readers_and_does_not_wait_for_others() -> None:
    relay = Relay(port=0, farewell_seconds=0.1)
    await relay.start()
    async with deaf_socket(relay), a_socket(relay.url) as reader:
        while not any(listener.paused for listener in relay._listeners):
            await reader.send("x" * 100_000)
            await heard(reader)

        async with asyncio.timeout(WITHIN):
            await relay.close()

        assert await closing_of(reader) == (1001, "the bus is closing")


async def test_a_bus_that_closes_does_not_wait_for_those_who_never_came_in() -> None:
    relay = Relay(port=0)
    await relay.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
    writer.write(b"GET /core HTTP/1.1\r\n")
    await eventually(lambda: len(relay.arriving) == 1)

    async with asyncio.timeout(5):
        await relay.close()

    with suppress(ConnectionError):
        assert await reader.read() == b""
    writer.close()


async def test_what_happened_is_counted(relay: Relay) -> None:
    async with a_socket(relay.url) as one, a_socket(relay.url):
        await one.send("hello")
        await heard(one)

        assert (relay.counts.open, relay.counts.connections) == (2, 2)
        assert (relay.counts.frames_in, relay.counts.frames_out) == (1, 2)
    await eventually(lambda: relay.counts.open == 0)


async def test_what_was_counted_is_there_for_prometheus(relay: Relay) -> None:
    telemetry = Counts()
    telemetry.bus(lambda: asdict(relay.counts))
    async with a_socket(relay.url) as somebody:
        await somebody.send("hello")
        await heard(somebody)

        told = telemetry.exposition().decode()

    assert "turnkeeper_bus_open 1.0" in told
    assert 'turnkeeper_bus_total{what="frames_in"} 1.0' in told
    assert 'turnkeeper_bus_total{what="sent_away"} 0.0' in told


async def test_only_so_many_are_let_in() -> None:
    async with Relay(port=0, connections=1) as relay, a_socket(relay.url):
        assert await refusal(relay.url) == (503, "There are too many connections to this bus. Try again later.")


# --- who may come in


@pytest.mark.parametrize("path", ["/", "/Core", "/core/", "/corex", "/core/other", "//core"])
async def test_the_bus_is_at_one_path_only(relay: Relay, path: str) -> None:
    assert await refusal(relay.url.replace("/core", path)) == (404, "The bus is at /core.")


async def test_a_bus_on_loopback_asks_nobody_for_a_token() -> None:
    async with Relay(port=0, admits=admits_nobody) as relay, a_socket(relay.url) as somebody:
        await somebody.send("hello")

        assert await heard(somebody) == "hello"


async def test_a_bus_for_other_machines_asks_them_for_a_token_and_not_this_one() -> None:
    async with open_relay() as relay:
        url = f"ws://{own_address()}:{relay.port}/core"
        status, text = await refusal(url)
        assert status == 401
        assert "Authorization: Bearer TOKEN" in text
        assert "/core?token=TOKEN" in text
        assert (await refusal(url + "?token=wrong"))[0] == 401
        assert (await refusal(url, additional_headers={"Authorization": "Basic good"}))[0] == 401

        async with (
            a_socket(url + "?token=good"),
            a_socket(url, additional_headers={"Authorization": "Bearer good"}),
            a_socket(f"{url}?token={relay.token}"),
            a_socket(relay.url),
        ):
            assert relay.counts.open == 4
        assert relay.counts.refused == 3


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("https://evil.example", "127.0.0.1:8181"),
        # A name of a stranger that points to this machine: page and address agree, and prove nothing.
        ("http://evil.example:8181", "evil.example:8181"),
        ("http://192.168.1.9:8181", "192.168.1.5:8181"),
        ("http://localhost.evil.example", "127.0.0.1:8181"),
        ("null", "127.0.0.1:8181"),
        ("file://", "127.0.0.1:8181"),
        ("http://[", "127.0.0.1:8181"),
    ],
)
async def test_a_web_page_of_another_site_is_refused_unless_it_brings_a_token(origin: str, host: str) -> None:
    headers = {"Origin": origin}
    async with Relay(port=0, admits=admits_the_good) as relay:
        assert (await raw_status(relay, host, headers)) == 403
        assert (await raw_status(relay, host, headers, path="/core?token=good")) == 101


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        (None, "evil.example:8181"),
        ("http://127.0.0.1:8181", "127.0.0.1:8181"),
        ("http://localhost:3000", "127.0.0.1:8181"),
        ("http://[::1]:8181", "[::1]:8181"),
        ("http://192.168.1.5:8181", "192.168.1.5:8181"),
        ("http://messagebus:8181", "messagebus:8181"),
        ("http://hub.local:8181", "hub.local:8181"),
    ],
)
async def test_a_program_that_names_the_address_it_calls_is_let_in(origin: str | None, host: str) -> None:
    async with Relay(port=0) as relay:
        assert await raw_status(relay, host, {"Origin": origin} if origin else {}) == 101


# --- those who take part


def frame_of(session_id: str, **fields: Any) -> str:
    session = {"session_id": session_id, **fields}
    return json.dumps({"type": "some.topic", "data": {"n": 1}, "context": {"session": session}})


def open_relay() -> Relay:
    return Relay("0.0.0.0", 0, admits=admits_the_good)


def own_address() -> str:
    """Some address of this machine that is not loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address but loopback")
        return str(probe.getsockname()[0])


async def say_all(socket: Any, frames: list[str]) -> None:
    for frame in frames:
        await socket.send(frame)


async def refusal(url: str, **more: Any) -> tuple[int, str]:
    with pytest.raises(InvalidStatus) as refused:
        async with connect(url, proxy=None, **more):
            pass
    return refused.value.response.status_code, bytes(refused.value.response.body or b"").decode().strip()


async def closing_of(socket: ClientConnection) -> tuple[int, str]:
    """How the bus closed it, after everything that came before."""
    async with asyncio.timeout(WITHIN):
        with suppress(ConnectionClosed):
            while True:
                await socket.recv()
    return socket.close_code or 0, socket.close_reason or ""


HANDSHAKE = "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{more}\r\n"
KEYS = {"Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Version": "13"}


async def raw_status(relay: Relay, host: str, headers: dict[str, str], path: str = "/core") -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
    more = "".join(f"{name}: {value}\r\n" for name, value in (KEYS | headers).items())
    writer.write(HANDSHAKE.format(path=path, host=host, more=more).encode())
    async with asyncio.timeout(WITHIN):
        line = await reader.readline()
    writer.close()
    await writer.wait_closed()
    return int(line.split()[1])


class deaf_socket:  # noqa: N801  # reads like the other participants
    """Somebody who connects, and then does not read."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay

    async def __aenter__(self) -> socket.socket:
        before = self._relay.counts.open
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        self._socket.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(self._socket, ("127.0.0.1", self._relay.port))
        more = "".join(f"{name}: {value}\r\n" for name, value in KEYS.items())
        host = f"127.0.0.1:{self._relay.port}"
        await loop.sock_sendall(self._socket, HANDSHAKE.format(path="/core", host=host, more=more).encode())
        await eventually(lambda: self._relay.counts.open > before)
        return self._socket

    async def __aexit__(self, *error: object) -> None:
        self._socket.close()


async def everything_of(deaf: socket.socket) -> bytes:
    """What it finds when it begins to read after all."""
    found, loop = bytearray(), asyncio.get_running_loop()
    async with asyncio.timeout(WITHIN):
        while chunk := await loop.sock_recv(deaf, 1_000_000):
            found += chunk
    return bytes(found)


async def test_who_came_in_by_a_token_is_sent_away_when_it_is_taken_back() -> None:
    good: dict[str, bool | None] = {"good": True, "other": True}

    async def admits(token: str, address: str) -> bool | None:
        return good.get(token, False)

    async with (
        Relay(port=0, admits=admits) as relay,
        a_socket(f"{relay.url}?token=good") as one,
        a_socket(f"{relay.url}?token=other") as other,
    ):
        good["other"] = None
        await relay.look_again()
        good["good"] = False
        await relay.look_again()
        await asyncio.wait_for(one.wait_closed(), 10)

        assert (one.close_code, one.close_reason) == (1008, "the token is not good any more")
        assert other.close_code is None


async def admits_nobody(token: str, address: str) -> bool:
    return False


async def admits_the_good(token: str, address: str) -> bool:
    return token == "good"
