"""Skills in other processes, which are asked over the bus whether an utterance is theirs."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.bus.house import House, a_house, a_settings
from tests.bus.wire import Participant
from turnkeeper.bus import topics
from turnkeeper.bus.legacy.adapter import LegacyWire
from turnkeeper.bus.message import Message

Skill = Callable[[Message], list[Message]]


def a_skill(skill_id: str, *, says: str | None = "can_handle", pongs: dict[str, str] | None = None) -> Skill:
    """A skill elsewhere: it says whether it would, and if it is asked to, does and tells that it is through."""
    answers = pongs or {
        topics.CONVERSE_PING: topics.CONVERSE_PONG,
        topics.STOP_PING: topics.STOP_PONG,
        topics.FALLBACK_PING: topics.FALLBACK_PONG,
    }

    def answer(message: Message) -> list[Message]:
        if message.type in answers and says is not None:
            told: dict[str, Any] = {"skill_id": skill_id, "can_handle": says == "can_handle"}
            return [message.reply(answers[message.type], {**told, "error_code": says})]
        if message.type.startswith(f"{skill_id}:"):
            intent = message.type.partition(":")[2]
            return [
                message.forward(topics.SPEAK, {"utterance": f"{skill_id} does {intent}"}),
                message.forward(topics.DONE, {"name": intent}),
            ]
        return []

    return answer


@asynccontextmanager
async def living_with(house: House, *skills: Skill) -> AsyncIterator[None]:
    def answer(message: Message) -> list[Message]:
        return [each for skill in skills for each in skill(message)]

    async with Participant(house.relay.url, answer):
        yield


def recent(*skills: str, **more: Any) -> dict[str, Any]:
    now = 4_000_000_000
    handlers = [{"skill_id": skill, "activated_at": now - place} for place, skill in enumerate(skills)]
    return {"session_id": "s", "converse_handlers": handlers, "active_handlers": handlers, **more}


async def test_a_skill_elsewhere_speaks_up_while_a_conversation_is_with_it(house: House) -> None:
    async with living_with(house, a_skill("a", says="done"), a_skill("b"), a_skill("c")):
        heard = await house.say("say nothing", recent("a", "b", "c"))

    assert heard.spoken == ["b does converse"]
    assert [each["skill_id"] for each in heard.session["converse_handlers"]] == ["b", "c"]
    assert heard.session["active_handlers"] == recent("a", "b", "c")["active_handlers"]
    ping = heard.one(topics.CONVERSE_PING)
    assert ping.data == {"utterances": ["say nothing"], "lang": "en-US"}
    assert ping.session == recent("a", "b", "c")


async def test_where_no_skill_speaks_up_the_next_stage_is_asked(house: House) -> None:
    async with living_with(house, a_skill("a", says="not_eligible")):
        heard = await house.say("say hello", recent("a"))

    assert heard.spoken == ["hello"]


async def test_a_stop_reaches_the_newest_skill_that_can_be_stopped(house: House) -> None:
    async with living_with(house, a_skill("a", says="no"), a_skill("b")):
        heard = await house.say("stop", recent("a", "b", response_mode={"skill_id": "b", "expires_at": 5e9}))

    assert heard.spoken == ["b does stop"]
    assert [each["skill_id"] for each in heard.session["active_handlers"]] == ["a"]
    assert "response_mode" not in heard.session


async def test_a_stop_of_everything_is_told_to_everybody_once(house: House) -> None:
    heard = await house.say("stop everything", recent("a", "b"))

    stop = heard.one(topics.STOP)
    assert stop.session["session_id"] == "s"
    assert [each["skill_id"] for each in heard.session["active_handlers"]] == ["stop"]
    assert [each["skill_id"] for each in heard.session["converse_handlers"]] == ["stop"]


async def test_what_nobody_understood_goes_to_a_skill_that_offered_to_take_it(house: House) -> None:
    session = {"session_id": "s", "pipeline": ["intents", "fallback-high", "fallback-medium", "fallback-low"]}
    async with living_with(house, a_skill("wide"), a_skill("narrow")):
        for skill, priority in (("wide", 95), ("narrow", 20)):
            await house.tell(topics.FALLBACK_REGISTER, {"skill_id": skill, "priority": priority})
        first = await house.say("gibberish", session)
        await house.tell(topics.FALLBACK_DEREGISTER, {"skill_id": "narrow"})
        second = await house.say("gibberish", session)

    assert (first.spoken, second.spoken) == (["narrow does fallback"], ["wide does fallback"])
    assert [each["skill_id"] for each in first.session["active_handlers"]] == ["narrow"]


async def test_a_skill_elsewhere_registers_what_it_understands(house: House) -> None:
    template = {"skill_id": "lamp.skill", "intent_name": "dim", "lang": "en-US", "samples": ["dim the {what}"]}
    async with living_with(house, a_skill("lamp.skill")):
        await house.tell("ovos.intent.register.template", template)
        heard = await house.say("dim the lamp", {"session_id": "s"})

    assert heard.spoken == ["lamp.skill does dim"]
    assert heard.dispatch.data["slots"] == {"what": "lamp"}


@pytest.mark.parametrize(
    ("said", "ping", "pong", "spoken"),
    [
        ("hm?", topics.CONVERSE_PING, "skill.converse.pong", "a does converse"),
        ("stop", topics.STOP_PING, "skill.stop.pong", "a does stop"),
        ("hm?", "ovos.skills.fallback.ping", "ovos.skills.fallback.pong", "a does fallback"),
    ],
)
async def test_skills_of_the_old_kind_are_understood(
    said: str, ping: str, pong: str, spoken: str, tmp_path: Path
) -> None:
    async with (
        a_house(a_settings(tmp_path), wire=LegacyWire()) as house,
        living_with(house, a_skill("a", pongs={ping: pong})),
    ):
        await house.tell("ovos.skills.fallback.register", {"skill_id": "a", "priority": 50})
        session = {"session_id": "s"} if "fallback" in ping else recent("a")
        heard = await house.say(said, session)

    assert heard.spoken == [spoken]
