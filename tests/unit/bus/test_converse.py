"""Who speaks up first in a conversation that goes on."""

import copy
from typing import Any

import pytest

from tests.unit.bus.asking import NOW, Bus, an_utterance, handlers, no, yes
from turnkeeper.bus.pipeline.converse import Converse
from turnkeeper.bus.plugins import Utterance


def conversing(*skills: str, **more: Any) -> dict[str, Any]:
    return {"session_id": "s", "converse_handlers": handlers(*skills), **more}


async def test_who_waits_for_an_answer_gets_it_once_and_nobody_is_asked() -> None:
    session = conversing("a", "b", response_mode={"skill_id": "b", "expires_at": NOW + 1})
    bus = Bus(answers=[yes("a")])

    match = await Converse().match(an_utterance("blue", "glue", session=session, poll=bus))

    assert match is not None
    assert (match.topic, match.utterance, match.slots) == ("b:response", "blue", {})
    assert match.updated_session == conversing("a", "b")
    assert bus.asked == []


@pytest.mark.parametrize(
    "mode",
    [
        {"skill_id": "b", "expires_at": NOW},
        {"skill_id": "stranger", "expires_at": NOW + 1},
    ],
)
async def test_who_waits_no_longer_or_never_conversed_gets_nothing(mode: dict[str, Any]) -> None:
    match = await Converse().match(an_utterance("blue", session=conversing("a", "b", response_mode=mode)))

    assert match is None


@pytest.mark.parametrize(
    ("answers", "winner", "needed"),
    [
        ([yes("a"), yes("b")], "a", 1),
        ([yes("b"), yes("a")], "a", 2),
        ([yes("c"), no("a"), yes("b"), no("a")], "b", 3),
        ([no("a"), no("b"), no("c")], None, 3),
        ([no("a"), yes("a"), yes("c")], "c", 3),
        ([yes("stranger"), {"skill_id": "b", "can_handle": 1}, {"can_handle": True}, {"skill_id": 5}], None, 4),
        ([], None, 0),
    ],
)
async def test_the_first_in_the_list_wins_whoever_answers_sooner(
    answers: list[dict[str, Any]], winner: str | None, needed: int
) -> None:
    bus = Bus(answers=answers)

    match = await Converse().match(an_utterance("blue", session=conversing("a", "b", "c"), poll=bus))

    assert (match.skill_id if match else None) == winner
    assert bus.asked == [("ovos.converse.ping", {"utterances": ["blue"], "lang": "en-US"})]
    assert bus.given == needed


async def test_who_is_done_is_asked_no_more_once_somebody_takes_over() -> None:
    bus = Bus(answers=[no("a", error_code="done"), yes("b")])

    match = await Converse().match(an_utterance("blue", session=conversing("a", "b", "c"), poll=bus))

    assert match is not None
    assert match.topic == "b:converse"
    assert match.updated_session is not None
    assert [each["skill_id"] for each in match.updated_session["converse_handlers"]] == ["b", "c"]


async def test_who_is_ruled_out_has_no_say() -> None:
    session = conversing("a", "b", blacklisted_skills=["a"], response_mode={"skill_id": "a", "expires_at": NOW + 1})
    bus = Bus(answers=[no("a", error_code="done"), yes("b")])

    match = await Converse().match(an_utterance("blue", session=session, poll=bus))

    assert match is not None
    assert match.topic == "b:converse"
    assert match.updated_session == session


async def test_who_conversed_too_long_ago_is_not_asked() -> None:
    session = {"converse_handlers": [{"skill_id": "a", "activated_at": NOW - 301}]}
    bus = Bus(answers=[yes("a")])

    assert await Converse().match(an_utterance("blue", session=session, poll=bus)) is None
    assert bus.asked == []
    assert await Converse(ttl_seconds=0).match(an_utterance("blue", session=session, poll=bus)) is not None


async def test_a_skill_of_this_process_is_asked_here() -> None:
    async def willing(utterance: Utterance) -> bool:
        return utterance.first == "blue"

    async def broken(utterance: Utterance) -> bool:
        raise RuntimeError("boom")

    converse = Converse(claims={"a": broken, "b": willing})
    bus = Bus(answers=[yes("c")])

    taken = await converse.match(an_utterance("blue", session=conversing("a", "b", "c"), poll=bus))
    left = await converse.match(an_utterance("red", session=conversing("a", "b", "c"), poll=bus))

    assert (taken.skill_id if taken else None, left.skill_id if left else None) == ("b", "c")
    assert len(bus.asked) == 1


async def test_the_session_that_is_asked_about_stays_as_it_is() -> None:
    session = conversing("a", response_mode={"skill_id": "a", "expires_at": NOW + 1})
    as_it_was = copy.deepcopy(session)

    await Converse().match(an_utterance("blue", session=session))

    assert session == as_it_was
