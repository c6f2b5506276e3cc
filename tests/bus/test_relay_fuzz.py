"""Whatever is thrown at the bus, those who behave lose neither their connection nor a frame."""

import asyncio
import json
import random
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import pytest

from tests.bus.wire import WITHIN, Participant, a_socket, eventually, heard, heard_until
from tests.scale import rounds
from turnkeeper.bus.guard import guarded
from turnkeeper.bus.relay import Relay

FRAMES, BATCH = rounds(3_000, 100_000), 1_000
HANDSHAKE = (
    b"GET /core HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
SOUND = '{"type":"sound","data":{"n":[1]},"context":{"session":{"session_id":"k"},"utterance_id":"u"}}'


@pytest.fixture(params=["guard on", "guard off"])
async def relay(request: pytest.FixtureRequest) -> AsyncIterator[Relay]:
    guard = guarded if request.param == "guard on" else None
    async with Relay(port=0, guard=guard, frame_bytes=100_000, farewell_seconds=0.2) as relay:
        yield relay


async def test_malformed_frames_by_the_thousand_break_no_connection(relay: Relay) -> None:
    async with a_socket(relay.url) as sender, Participant(relay.url) as listener, a_socket(relay.url) as other:
        reading = asyncio.create_task(heard_until(other, '{"type":"the.end"}'))
        echo = asyncio.create_task(heard_until(sender, '{"type":"the.end"}'))
        for number, frame in enumerate(malformed(FRAMES), 1):
            await sender.send(frame)
            if number % BATCH == 0:
                # Who logs each of them reads more slowly than they are made.
                await sender.send('{"type":"so.far"}')
                await listener.hears("so.far", number // BATCH)
        await sender.send('{"type":"the.end"}')

        assert await reading == await echo
        await listener.hears("the.end")
        assert relay.counts.open == 3
        assert relay.counts.frames_in == FRAMES + FRAMES // BATCH + 1
        assert listener.opened == 1


async def test_whatever_bytes_a_stranger_sends_the_others_go_on(relay: Relay) -> None:
    async with a_socket(relay.url) as sender, a_socket(relay.url) as other:
        await asyncio.gather(*(knock(relay, attack) for attack in attacks()))
        await sender.send('{"type":"the.end"}')

        assert (await heard_until(other, '{"type":"the.end"}'))[-1] == '{"type":"the.end"}'
        await eventually(lambda: relay.counts.open == 2)
        assert relay.counts.connections > 40


async def test_those_who_vanish_in_the_middle_of_a_frame_leave_nothing_behind(relay: Relay) -> None:
    async with a_socket(relay.url) as survivor:
        for number in range(rounds(30, 1_000)):
            await knock(relay, HANDSHAKE + client_frame(SOUND.encode())[: number % 40])
        await eventually(lambda: relay.counts.open == 1)
        await survivor.send('{"type":"after"}')

        assert (await heard_until(survivor, '{"type":"after"}'))[-1] == '{"type":"after"}'
        assert len(relay._listeners) == 1


async def test_who_was_sent_away_is_not_heard_any_more(relay: Relay) -> None:
    async with a_socket(relay.url) as other:
        await knock(relay, HANDSHAKE + client_frame(b"binary", head=0x82) + client_frame(SOUND.encode()))
        await eventually(lambda: relay.counts.open == 1)
        await other.send('{"type":"after"}')

        assert await heard(other) == '{"type":"after"}'


async def test_who_speaks_before_it_was_let_in_is_not_heard(relay: Relay) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
    writer.write(HANDSHAKE + client_frame(SOUND.encode()))

    with suppress(ConnectionError):
        async with asyncio.timeout(WITHIN):
            await reader.read()

    assert relay.counts.frames_in == 0
    writer.close()


async def test_a_handshake_that_never_ends_holds_nobody_up(relay: Relay) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
    writer.write(HANDSHAKE[:-2])

    async with a_socket(relay.url) as somebody:
        await somebody.send('{"type":"news"}')
        assert await heard(somebody) == '{"type":"news"}'

    writer.transport.abort()
    assert await reader.read() == b""


# --- what strangers send


def malformed(count: int) -> Iterator[str]:
    """Frames that are sound, cut, garbled, mixed and nested, the same ones each time."""
    chance = random.Random(7)
    for number in range(count):
        text = SOUND
        match number % 6:
            case 0:
                text = text[: chance.randrange(len(text))]
            case 1:
                place = chance.randrange(len(text))
                text = text[:place] + chr(chance.choice((0, 9, 34, 92, 123, 125, 0xE9, 0x1F600))) + text[place + 1 :]
            case 2:
                session = chance.choice(("5", '"x"', "[]", "true", "null", "{}", "NaN", '{"session_id":null}'))
                text = f'{{"type":"a","context":{{"session":{session}}}}}'
            case 3:
                text = "[" * chance.randrange(200) + "]" * chance.randrange(200)
            case 4:
                text = json.dumps(
                    chance.choice(([1, 2], "text", 42, None, True, {}, {"type": 5}, {"type": "", "data": 1}))
                )
            case _:
                text = "".join(chr(chance.randrange(1, 0xD7FF)) for _ in range(chance.randrange(40)))
        yield text


def client_frame(payload: bytes, *, head: int = 0x81, is_masked: bool = True) -> bytes:
    length = struct.pack("!B", len(payload)) if len(payload) < 126 else struct.pack("!BH", 126, len(payload))
    first = length[0] | (0x80 if is_masked else 0)
    return bytes([head, first]) + length[1:] + (b"\0\0\0\0" if is_masked else b"") + payload


def attacks() -> Iterator[bytes]:
    chance = random.Random(11)
    yield b""
    yield b"\x00" * 5_000
    yield b"GET / HTTP/1.1\r\n\r\n"
    yield b"POST /core HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
    yield b"GET /core HTTP/1.1\r\n" + b"X: y\r\n" * 5_000
    yield b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n"
    yield HANDSHAKE.replace(b"Version: 13", b"Version: 8")
    yield HANDSHAKE.replace(b"AAAAAAAAAAAAAAAAAAAAAA==", b"short")
    yield HANDSHAKE.replace(b"Host: 127.0.0.1", b"Host: a\r\nOrigin: \xff\xfe")
    yield HANDSHAKE + client_frame(b"not masked", is_masked=False)
    yield HANDSHAKE + client_frame(b"reserved bits", head=0xF1)
    yield HANDSHAKE + client_frame(b"unknown kind", head=0x83)
    yield HANDSHAKE + client_frame(b"goes on from nothing", head=0x80)
    yield HANDSHAKE + client_frame(b"x" * 100, head=0x01) * 2
    yield HANDSHAKE + client_frame(b"\xff\xfe\xfd")
    yield HANDSHAKE + client_frame(b"\x00\x00", head=0x88)
    yield HANDSHAKE + client_frame(b"binary", head=0x82)
    yield HANDSHAKE + b"\x81\xff" + struct.pack("!Q", 2**62) + b"\0\0\0\0"
    yield HANDSHAKE + b"\x81\xfe\xff\xff\0\0\0\0" + b"half"
    yield from (HANDSHAKE + chance.randbytes(chance.randrange(1, 300)) for _ in range(rounds(40, 2_000)))


async def knock(relay: Relay, attack: bytes) -> None:
    """Shake hands where that is part of it, send the rest at once, and go without a word."""
    reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
    with suppress(ConnectionError):
        async with asyncio.timeout(WITHIN):
            if attack.startswith(HANDSHAKE):
                writer.write(HANDSHAKE)
                await reader.readuntil(b'"default"}}}')
            writer.write(attack.removeprefix(HANDSHAKE))
            await writer.drain()
            writer.close()
            await writer.wait_closed()
