"""The guard keeps away what would break those who listen, and is never wrong about it."""

import json
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bus.wire import a_socket, heard, heard_until
from tests.scale import rounds
from turnkeeper.bus.guard import guarded, is_plainly_sound, judged
from turnkeeper.bus.relay import Relay

SOUND = (
    '{"type":"a"}',
    '{"type":"a","context":{}}',
    '{"type":"a","context":null}',
    '{"type":"a","context":{"session":null}}',
    ' {"context" : {"session":{}}, "type":"a"}\n',
    '{"type":"a","context":{"session":{"session_id":5,"x_vendor":[1,{"session":7}]}}}',
    '{"type":"a","data":{"context":{"session":"elsewhere"}},"session":"on top"}',
    # Of two that are called the same the last one counts, as for everybody who reads it.
    '{"type":"a","context":{"session":7},"context":{"session":{}}}',
    '{"type":"a","context":{"session":7,"session":{}}}',
    # Not quite JSON, but every client reads it.
    '{"type":"a","data":{"n":NaN,"lone":"\\ud800"}}',
    # Strange messages, but those who listen drop them alone.
    '{"type":5}',
    "{}",
)
MALFORMED = ('"text"', "5", "0", "true", "false", "[]", '["a"]', '""', "1.5")
NO_MESSAGE = (
    *("", " ", "hello", "[1, 2]", '"hello"', "42", "null", "true", "{", '{"type":"a"} x', "{'type':'a'}"),
    *('{"type":"a","context":5}', '{"type":"a","context":[]}', '{"type":"a","data":"text"}', '{"data":[]}'),
)


@pytest.fixture
async def relay() -> AsyncIterator[Relay]:
    async with Relay(port=0, guard=guarded) as relay:
        yield relay


@pytest.mark.parametrize("frame", SOUND)
async def test_what_is_sound_is_relayed_byte_for_byte(relay: Relay, frame: str) -> None:
    async with a_socket(relay.url) as sender, a_socket(relay.url) as other:
        await sender.send(frame)

        assert await heard(other) == frame
        assert relay.counts.frames_rejected == 0


@pytest.mark.parametrize("session", MALFORMED)
async def test_a_session_that_is_no_object_is_rejected_before_everybody(relay: Relay, session: str) -> None:
    async with a_socket(relay.url) as sender, a_socket(relay.url) as other:
        await sender.send(f'{{"type":"some.topic","context":{{"session":{session},"utterance_id":"u1"}}}}')
        await sender.send('{"type":"after"}')

        for each in (sender, other):
            notice, *after = [json.loads(frame) for frame in await heard_until(each, '{"type":"after"}')]
            assert notice == {
                "type": "ovos.session.rejected",
                "data": {"msg_type": "some.topic", "reason": "malformed_carrier"},
                "context": {"utterance_id": "u1"},
            }
            assert len(after) == 1
        assert relay.counts.frames_rejected == 1


@pytest.mark.parametrize("frame", ['{"context":{"session":5}}', '{"type":5,"context":{"session":5,"utterance_id":7}}'])
def test_a_rejection_tells_only_what_it_knows(frame: str) -> None:
    told = guarded(frame.encode())

    assert told is not None
    assert json.loads(told)["data"] == {"msg_type": "", "reason": "malformed_carrier"}
    assert json.loads(told)["context"] == {}


async def test_what_is_no_message_is_not_relayed_since_it_breaks_stable_clients(relay: Relay) -> None:
    async with a_socket(relay.url) as sender, a_socket(relay.url) as other:
        for frame in (*NO_MESSAGE, deep(129), deep(100_000)):
            await sender.send(frame)
        await sender.send(deep(128))

        assert await heard(other) == deep(128)
        assert relay.counts.frames_rejected == len(NO_MESSAGE) + 2


async def test_a_hundred_rejections_break_no_connection(relay: Relay) -> None:
    async with a_socket(relay.url) as sender, a_socket(relay.url) as other:
        for _ in range(100):
            await sender.send('{"type":"a","context":{"session":5}}')
        await sender.send('{"type":"after"}')

        assert len(await heard_until(other, '{"type":"after"}')) == 101
        assert len(await heard_until(sender, '{"type":"after"}')) == 101


SESSIONS = st.sampled_from(["{}", "null", "5", '"x"', "[]", '{"session":5}', "NaN", "{", "tru", '"\\ud800"', '"\\q"'])
KEYS = st.sampled_from(
    ['"session"', '"sess\\u0069on"', '"Session"', '"context"', '"c\\u006fntext"', '"type"', '"data"']
)
SPACES = st.sampled_from(["", " ", "\n\t", "\x00", "\ufeff"])
SCRAPS = st.sampled_from(['{"', '"context":', '"session":', "{", "}", "[", "]", ",", ":", '"', "\\", "null", "1", " "])


def objects(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.lists(st.tuples(KEYS, SPACES, values), max_size=3)
    return pairs.map(lambda found: "{" + ",".join(f"{key}{space}:{space}{value}" for key, space, value in found) + "}")


FRAMES = st.one_of(
    objects(objects(SESSIONS) | SESSIONS),
    st.recursive(SESSIONS, objects, max_leaves=6),
    st.lists(SCRAPS, max_size=14).map("".join),
    st.text(max_size=20),
    st.integers(120, 136).map(lambda depth: deep(depth)),
)


@given(FRAMES)
@settings(max_examples=rounds(100, 20_000), deadline=None)
def test_the_short_way_never_lets_through_what_the_long_way_would_not(frame: str) -> None:
    try:
        wire = frame.encode()
    except UnicodeEncodeError:
        return

    assert guarded(wire) == judged(wire)
    if is_plainly_sound(wire):
        assert judged(wire) == wire


def test_ordinary_frames_go_the_short_way() -> None:
    assert all(is_plainly_sound(frame.encode()) for frame in SOUND[:7])
    assert is_plainly_sound(json.dumps({"type": "a", "data": {"list": [[]] * 10_000, "text": "[" * 500}}).encode())


def deep(depth: int) -> str:
    return '{"data":' * (depth - 1) + "{}" + "}" * (depth - 1)
