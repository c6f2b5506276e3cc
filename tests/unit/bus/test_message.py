"""Messages and what is derived from them, held against the reference where it follows the specification."""

import copy
from typing import Any

import ovos_spec_tools as reference  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scale import rounds
from tests.unit.bus.carriers import JSON, SESSIONS
from turnkeeper.bus.message import Malformed, Message, decoded

PARTIES = st.sampled_from(("sat-3", "hall", ""))
CONTEXTS = st.fixed_dictionaries(
    {},
    optional={
        "source": PARTIES,
        "destination": PARTIES | st.lists(PARTIES, max_size=3),
        "session": SESSIONS,
        "utterance_id": st.just("u1"),
        "x": JSON,
    },
)


@given(context=CONTEXTS, data=st.dictionaries(st.text(max_size=3), JSON, max_size=2))
@settings(max_examples=rounds(50, 1000))
def test_what_is_derived_is_what_the_reference_derives(context: dict[str, Any], data: dict[str, Any]) -> None:
    ours = Message(type="a.question", data={"asked": 1}, context=copy.deepcopy(context))
    theirs = reference.Message("a.question", {"asked": 1}, copy.deepcopy(context))

    forward, reply, response = ours.forward("next", data), ours.reply("back", data), ours.response(data)

    assert without_session(forward.context) == without_session(theirs.forward("next", data).context)
    assert without_session(reply.context) == to_one(without_session(theirs.reply("back", data).context))
    assert response.type == theirs.response(data).msg_type == "a.question.response"
    assert without_session(response.context) == to_one(without_session(theirs.response(data).context))
    # The reference builds the session anew; ours goes on as it came, with every key that nobody here knows.
    assert forward.session == reply.session == context.get("session")
    assert ours.context == context


def to_one(context: dict[str, Any]) -> dict[str, Any]:
    """C4: several addressees are understood, but never written."""
    several = context.get("destination")
    return {**context, "destination": several[0]} if isinstance(several, list) else context


def without_session(context: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in context.items() if name != "session"}


@given(context=CONTEXTS)
@settings(max_examples=rounds(20, 500))
def test_a_message_reads_the_same_after_a_trip_over_the_wire(context: dict[str, Any]) -> None:
    message = Message(type="skill:intent", data={"ä": [1, 2.5, None]}, context=context)

    assert decoded(message.encoded()) == message


def test_what_is_derived_shares_nothing_with_where_it_came_from() -> None:
    first = Message(type="a", context={"session": {"pipeline": ["x"]}})

    second = first.forward("b")
    second.context["session"]["pipeline"].append("y")

    assert first.context["session"]["pipeline"] == ["x"]


@pytest.mark.parametrize("type", ["a.response", "skill:intent"])
def test_what_has_no_response_gives_none(type: str) -> None:
    with pytest.raises(ValueError, match="has no response"):
        Message(type=type).response()


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "[1]",
        "null",
        '"text"',
        "{",
        "{}",
        '{"type":""}',
        '{"type":5}',
        '{"type":".a"}',
        '{"type":"a..b"}',
        '{"type":"a:"}',
        '{"type":"a b"}',
        '{"type":"a","data":[]}',
        '{"type":"a","context":"c"}',
        '{"type":"a","data":{"n":NaN}}',
        '{"type":"a","data":{"n":1e999}}',
        '{"type":"a","data":{"n":' + "[" * 500 + "]" * 500 + "}}",
        "[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_a_frame_that_is_no_message_is_malformed(frame: str | bytes) -> None:
    with pytest.raises(Malformed):
        decoded(frame)


def test_keys_beside_the_three_are_ignored_and_null_is_nothing() -> None:
    assert decoded('{"type":"a","msg_type":"b","data":null,"context":null}') == Message(type="a")


def test_a_dispatch_has_one_colon() -> None:
    assert Message(type="lamp.skill:dim").is_dispatch
    assert not Message(type="ovos.stop").is_dispatch
