"""Which stages are asked, what counts as an answer of theirs, and what does not."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bus.house import House, Plugin, a_house, a_settings, only
from tests.bus.wire import Participant
from turnkeeper.bus import topics
from turnkeeper.bus.message import Message
from turnkeeper.bus.orchestrator import Orchestrator
from turnkeeper.bus.plugins import KnownIntent, Match, Utterance
from turnkeeper.bus.rules import BusRules


class Giving:
    """A stage that gives whatever it was told to give."""

    pipeline_id = "giving"

    def __init__(self, gives: Callable[[Utterance], Any]) -> None:
        self._gives = gives

    async def match(self, utterance: Utterance) -> Match | None:
        given: Match | None = self._gives(utterance)
        return given

    def intents(self) -> list[KnownIntent]:
        return [KnownIntent(skill_id="g.skill", intent_name="x", lang="en-US")]


def a_match(**more: Any) -> Match:
    said = {"skill_id": "boom.skill", "intent_name": "go", "lang": "en-US", "utterance": "x", "slots": {}}
    return Match(**{**said, **more})


MALFORMED: tuple[Any, ...] = (
    {"skill_id": "boom.skill"},
    "boom.skill:go",
    a_match(skill_id=""),
    a_match(skill_id="a:b"),
    a_match(intent_name="a:b"),
    a_match(intent_name=None),
    a_match(lang="not a language"),
    a_match(utterance=""),
    a_match(slots={"a": 1}),
    a_match(slots=[]),
    a_match(updated_session=[]),
    a_match(updated_session={"session_id": "n1", "x": {1, 2}}),
    a_match(updated_session={"session_id": "n1", "x": float("nan")}),
)


async def test_what_is_no_sound_match_counts_as_a_decline(tmp_path: Path) -> None:
    gives = iter(MALFORMED)
    giving = Giving(lambda utterance: next(gives))
    async with a_house(a_settings(tmp_path), prepare=lambda each: each.add_plugin(giving)) as house:
        for given in MALFORMED:
            heard = await house.say("say hello", {"session_id": "n1", "pipeline": only("giving")})

            assert heard.spoken == ["hello"], given
    assert next(gives, None) is None


async def test_what_the_session_is_denied_is_not_matched(house: House) -> None:
    for denied in (
        {"blacklisted_skills": ["echo.skill"]},
        {"blacklisted_intents": ["echo.skill:say"]},
        {"blacklisted_pipelines": ["intents"]},
    ):
        heard = await house.say("say hello", {"session_id": "n1", "pipeline": only(), **denied})

        assert heard.topics == [topics.UTTERANCE, topics.UNMATCHED, topics.HANDLED], denied

    bare = await house.say("say hello", {"session_id": "n1", "pipeline": only(), "blacklisted_intents": ["say"]})
    assert bare.spoken == ["hello"]


async def test_a_match_by_a_plugin_that_ignores_what_is_denied_does_not_count(tmp_path: Path) -> None:
    giving = Giving(lambda utterance: a_match())
    async with a_house(a_settings(tmp_path), prepare=lambda each: each.add_plugin(giving)) as house:
        for denied in ({"blacklisted_skills": ["boom.skill"]}, {"blacklisted_intents": ["boom.skill:go"]}):
            heard = await house.say("say hello", {"session_id": "n1", "pipeline": only("giving"), **denied})
            assert heard.spoken == ["hello"]


async def test_what_one_plugin_did_to_its_session_the_next_one_does_not_see(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []

    def spoil(session: dict[str, Any]) -> None:
        session.clear()

    def prepare(orchestrator: Orchestrator) -> None:
        orchestrator.add_plugin(Plugin("p-decl", spoil, claims=False))
        orchestrator.add_plugin(Giving(lambda utterance: seen.append(utterance.session)))

    async with a_house(a_settings(tmp_path), prepare=prepare) as house:
        pipeline = only("p-decl", "giving")
        heard = await house.say("say hello", {"session_id": "n1", "x": [1], "pipeline": pipeline})

    assert seen == [{"session_id": "n1", "x": [1], "pipeline": pipeline}]
    assert heard.session["x"] == [1]


async def test_a_stage_that_thinks_too_long_is_passed_over(tmp_path: Path) -> None:
    class Thinking(Giving):
        async def match(self, utterance: Utterance) -> Match | None:
            await asyncio.Event().wait()
            return None

    rules = BusRules(owner_seconds=0.02, match_seconds=0.05)
    thinking = Thinking(lambda utterance: None)
    async with a_house(a_settings(tmp_path), rules=rules, prepare=lambda each: each.add_plugin(thinking)) as house:
        heard = await house.say("say hello", {"session_id": "n1", "pipeline": only("giving")})

    assert heard.spoken == ["hello"]


async def test_an_unknown_stage_is_passed_over_and_nothing_takes_its_place(house: House) -> None:
    heard = await house.say("say hello", {"session_id": "n1", "pipeline": ["nobody"]})
    assert heard.topics == [topics.UTTERANCE, topics.UNMATCHED, topics.HANDLED]


async def test_who_answers_an_interactive_call_does_not_become_the_most_recent(house: House) -> None:
    asked = await house.say("ask me", {"session_id": "n1"})
    said = await house.say("say hello", {**asked.session, "response_mode": {"skill_id": "x", "expires_at": 1}})
    waits = {"skill_id": "ask.skill", "expires_at": 9e12}

    answered = await house.say("Ada", {**said.session, "response_mode": waits})

    assert answered.dispatch.type == "ask.skill:response"
    assert [each["skill_id"] for each in answered.session["active_handlers"]] == ["echo.skill", "ask.skill"]
    assert [each["skill_id"] for each in answered.session["converse_handlers"]] == ["ask.skill", "echo.skill"]


async def test_words_of_another_skill_in_the_same_round_are_not_the_handlers(house: House) -> None:
    def answers(message: Message) -> list[Message]:
        if message.type != "far.skill:go":
            return []
        stray = message.forward(topics.SPEAK, {"utterance": "psst"})
        stray.context["skill_id"] = "other.skill"
        return [
            stray.carrying({**message.context["session"], "site_id": "stray"}),
            message.forward(topics.DONE),
        ]

    async with Participant(house.relay.url, answers):
        heard = await house.say("far away", {"session_id": "n1"})

    assert "site_id" not in heard.session


async def test_an_answer_to_a_poll_is_no_word_of_a_handler(house: House) -> None:
    """A skill elsewhere that converses is asked, takes it, and handles it."""

    def answers(message: Message) -> list[Message]:
        if message.type == topics.CONVERSE_PING:
            return [message.reply(topics.CONVERSE_PONG, {"skill_id": "far.skill", "can_handle": True})]
        if message.type == "far.skill:converse":
            return [message.forward(topics.SPEAK, {"utterance": "it is mine"}), message.forward(topics.DONE)]
        return []

    async with Participant(house.relay.url, answers):
        session = {"session_id": "n1", "converse_handlers": [{"skill_id": "far.skill", "activated_at": 9e11}]}
        heard = await house.say("say hello", session)

    assert heard.dispatch.type == "far.skill:converse"
    assert heard.spoken == ["it is mine"]


async def test_a_skill_of_this_process_without_a_handler_for_it_fails_at_once(tmp_path: Path) -> None:
    giving = Giving(lambda utterance: a_match(skill_id="echo.skill", intent_name="other"))
    async with a_house(a_settings(tmp_path), prepare=lambda each: each.add_plugin(giving)) as house:
        heard = await house.say("hello", {"session_id": "n1", "pipeline": ["giving"]})

    assert heard.one(topics.ERROR).data["exception"] == "LookupError: echo.skill:other has no handler"


async def test_what_is_not_json_gets_into_no_session(tmp_path: Path) -> None:
    async def spoil(dispatch: Any) -> None:
        dispatch.session["x"] = {1, 2}
        await dispatch.speak("never heard")

    def prepare(orchestrator: Orchestrator) -> None:
        orchestrator.handler("spoil.skill", "go")(spoil)
        orchestrator.intents.add("spoil.skill", "go", lang="en-US", samples=["spoil it"])

    async with a_house(a_settings(tmp_path), prepare=prepare) as house:
        heard = await house.say("spoil it")
        after = await house.say("say hello")

    assert heard.topics[-2:] == [topics.ERROR, topics.HANDLED]
    assert heard.spoken == []
    assert "x" not in after.session


async def test_queries_about_what_there_is_are_answered(house: House) -> None:
    place = len(house.person.heard)
    await house.tell(topics.transformers_of("metadata"), {})
    await house.tell(topics.CONVERSE_LIST, {}, {"session": {"session_id": "n1", "converse_handlers": []}})

    told = await house.hears(f"{topics.transformers_of('metadata')}.response", place)
    assert told.data == {"loaded": [], "priorities": {}}
    told = await house.hears(f"{topics.CONVERSE_LIST}.response", place)
    assert told.data == {"converse_handlers": []}
    await house.tell(topics.intents_of("intents"), {"skill_id": "echo.skill"})
    told = house.person.of(f"{topics.intents_of('intents')}.response")[-2]
    assert told.data["intents"] == [{"intent_name": "say", "skill_id": "echo.skill", "lang": "en-US"}]


async def test_what_we_said_ourselves_does_not_count_a_second_time(house: House) -> None:
    """The echo of an older sync must not undo what the same handler did after it."""

    async def twice(dispatch: Any) -> None:
        await dispatch.sync({"site_id": "first"})
        dispatch.session["site_id"] = "second"
        await dispatch.speak("done")

    house.orchestrator.handler("twice.skill", "go")(twice)
    house.orchestrator.intents.add("twice.skill", "go", lang="en-US", samples=["do it twice"])

    for _ in range(3):
        await house.say("do it twice")
        await house.settled()
        assert house.default["site_id"] == "second"
