"""Who stops when somebody says so."""

from typing import Any

import pytest

from tests.unit.bus.asking import NOW, Bus, an_utterance, handlers, no, yes
from turnkeeper.bus.pipeline.stop import Stop


def active(*skills: str, **more: Any) -> dict[str, Any]:
    return {"active_handlers": handlers(*skills), "converse_handlers": handlers(*skills), **more}


@pytest.mark.parametrize(
    ("said", "lang"),
    [
        ("Stop!", "en-US"),
        ("please stop", "en"),
        ("Hör auf.", "de-DE"),
        ("Arrête !", "fr-FR"),
        ("¡Para ya!", "es-ES"),
        ("pare, por favor", "pt-BR"),
        ("hou op", "nl-NL"),
        ("Smettila!", "it-IT"),
    ],
)
async def test_a_stop_is_heard_in_every_language(said: str, lang: str) -> None:
    match = await Stop().match(an_utterance(said, lang=lang))

    assert match is not None
    assert match.topic == "stop:global_stop"
    assert match.utterance == said


@pytest.mark.parametrize(
    ("said", "lang"),
    [("stop the music", "en-US"), ("where is the bus stop", "en-US"), ("hör auf", "en-US"), ("stop", "tlh")],
)
async def test_a_stop_is_only_one_when_nothing_else_is_said(said: str, lang: str) -> None:
    assert await Stop().match(an_utterance(said, lang=lang)) is None


async def test_a_stop_that_was_only_perhaps_heard_stops_nothing() -> None:
    assert await Stop().match(an_utterance("shop", "stop")) is None


@pytest.mark.parametrize(
    ("answers", "target", "needed"),
    [
        ([yes("a"), yes("b")], "a", 1),
        ([no("a"), yes("c"), yes("b")], "b", 3),
        ([yes("c")], "c", 1),
        ([], "a", 0),
        ([no("a"), no("b"), no("c")], "a", 3),
        ([yes("stranger"), {"skill_id": "b", "can_handle": "yes"}], "a", 2),
    ],
)
async def test_one_skill_stops_the_newest_that_can_be_stopped(
    answers: list[dict[str, Any]], target: str, needed: int
) -> None:
    bus = Bus(answers=answers)

    match = await Stop().match(an_utterance("stop", session=active("a", "b", "c"), poll=bus))

    assert match is not None
    assert match.topic == f"{target}:stop"
    assert bus.given == needed
    assert match.updated_session is not None
    assert target not in [each["skill_id"] for each in match.updated_session["active_handlers"]]
    assert match.updated_session["converse_handlers"] == handlers("a", "b", "c")


async def test_the_newest_is_the_latest_wherever_it_stands() -> None:
    session = {
        "active_handlers": [{"skill_id": "old", "activated_at": 1}, {"skill_id": "new", "activated_at": 2}],
    }

    match = await Stop().match(an_utterance("stop", session=session))

    assert match is not None
    assert match.skill_id == "new"


async def test_who_is_stopped_waits_for_no_answer_any_more_and_others_still_do() -> None:
    mine = active("a", "b", response_mode={"skill_id": "a", "expires_at": NOW + 1})
    others = active("a", "b", response_mode={"skill_id": "b", "expires_at": NOW + 1})

    one = await Stop().match(an_utterance("stop", session=mine, poll=Bus(answers=[yes("a")])))
    other = await Stop().match(an_utterance("stop", session=others, poll=Bus(answers=[yes("a")])))

    assert one is not None
    assert one.updated_session is not None
    assert other is not None
    assert other.updated_session is not None
    assert "response_mode" not in one.updated_session
    assert other.updated_session["response_mode"]["skill_id"] == "b"


@pytest.mark.parametrize("session", [{}, active(), active("stop")])
async def test_where_nothing_goes_on_everything_stops(session: dict[str, Any]) -> None:
    match = await Stop().match(an_utterance("stop", session=session))

    assert match is not None
    assert match.topic == "stop:global_stop"


async def test_stopping_everything_leaves_nobody_active() -> None:
    session = active("a", "b", lang="en-US", response_mode={"skill_id": "a", "expires_at": NOW + 1})
    bus = Bus(answers=[yes("a")])

    match = await Stop().match(an_utterance("stop everything", session=session, poll=bus))

    assert match is not None
    assert match.updated_session == {"lang": "en-US", "active_handlers": [], "converse_handlers": []}
    assert bus.asked == []


async def test_who_is_ruled_out_is_not_stopped() -> None:
    one = await Stop().match(an_utterance("stop", session=active("a", "b", blacklisted_skills=["a"])))
    none = await Stop().match(an_utterance("stop", session=active("a", blacklisted_skills=["a"])))

    assert (one.skill_id if one else None) == "b"
    assert none is None


def test_it_knows_one_intent_in_each_language() -> None:
    known = Stop().intents()

    assert {each.lang for each in known} >= {"en", "de", "fr", "es", "pt", "nl", "it"}
    assert {(each.skill_id, each.intent_name) for each in known} == {("stop", "global_stop")}
