"""A session changes at three boundaries: transformers, a match, and a handler; and nowhere beside them."""

from pathlib import Path
from typing import Any

import pytest

from tests.bus.house import LIFECYCLE, House, Meta, Plugin, a_house, a_settings, only
from tests.bus.wire import Participant
from turnkeeper.bus import topics
from turnkeeper.bus.handlers import Dispatch
from turnkeeper.bus.message import Message
from turnkeeper.bus.orchestrator import Orchestrator
from turnkeeper.bus.rules import BusRules
from turnkeeper.bus.transformers import Hook


def in_german(session: dict[str, Any]) -> None:
    session["lang"] = "de-DE"


def to_the_hall(context: dict[str, Any]) -> None:
    context["session"]["site_id"] = "hall"


@pytest.mark.parametrize("where", ["here", "elsewhere"])
@pytest.mark.parametrize("id", ["n1", "default"])
async def test_ovos_18_27_29_what_is_said_beside_a_round_changes_nothing_in_it(
    house: House, id: str, where: str
) -> None:
    text, topic = ("go slow", "slow.skill:go") if where == "here" else ("far away", "far.skill:go")
    place = house.begin(text, {"session_id": id})
    dispatch = await house.hears(topic, place)
    stray = {"session_id": id, "site_id": "stray", "lang": "fr-FR"}

    await house.tell("foo.bar", {}, {"session": stray})
    await house.tell("foo.bar", {}, {**dispatch.context, "skill_id": "other.skill", "session": stray})
    await house.tell(topics.SPEAK, {"utterance": "psst"}, {"session": stray, "skill_id": dispatch.skill_id})
    house.skills.release.set()
    if where == "elsewhere":
        house.person.link.send(dispatch.forward(topics.DONE))
    heard = await house.hears_end(place)

    for topic in (topics.COMPLETE, topics.HANDLED):
        assert "site_id" not in heard.one(topic).context["session"]
        assert "lang" not in heard.one(topic).context["session"]


async def test_ovos_19_a_transformer_changes_what_comes_after_it(tmp_path: Path) -> None:
    meta = Meta("t-meta", to_the_hall)
    async with a_house(a_settings(tmp_path), prepare=lambda each: each.add_transformer(meta)) as house:
        heard = await house.say("say hello", {"session_id": "n1"})

    assert "site_id" not in heard.frames[0].context["session"]
    assert {frame.context["session"]["site_id"] for frame in heard.frames[1:]} == {"hall"}
    assert heard.dispatch.context["metadata_transformer_ids"] == ["t-meta"]


async def test_ovos_20_a_match_changes_the_session_at_once(tmp_path: Path) -> None:
    never = Plugin("never")

    def prepare(orchestrator: Orchestrator) -> None:
        orchestrator.add_plugin(Plugin("p-upd", in_german))
        orchestrator.add_plugin(never)

    async with a_house(a_settings(tmp_path), prepare=prepare) as house:
        heard = await house.say("hello", {"session_id": "n1", "pipeline": ["p-upd", "never"]})

    for frame in heard.frames[1:]:
        assert frame.context["session"]["lang"] == "de-DE"
    assert [each for each in heard.topics if each in LIFECYCLE] == [topics.MATCHED, topics.START, topics.COMPLETE]
    assert never.asked == 0


async def test_a_match_replaces_the_session_and_leaves_out_what_it_leaves_out(tmp_path: Path) -> None:
    def drop(session: dict[str, Any]) -> None:
        del session["site_id"]
        session["blacklisted_skills"] = []
        session["blacklisted_intents"] = ["other.skill:x"]

    async with a_house(a_settings(tmp_path), prepare=lambda each: each.add_plugin(Plugin("p-drop", drop))) as house:
        sent = {"session_id": "n1", "site_id": "hall", "x": 1, "blacklisted_skills": ["z"], "pipeline": ["p-drop"]}
        heard = await house.say("hello", sent)

    assert "site_id" not in heard.session
    assert heard.session["x"] == 1
    # No plugin talks a session out of what it is denied, nor into more.
    assert heard.session["blacklisted_skills"] == ["z"]
    assert "blacklisted_intents" not in heard.session


async def test_a_match_for_another_session_changes_nothing(tmp_path: Path) -> None:
    def other(session: dict[str, Any]) -> None:
        session |= {"session_id": "n2", "site_id": "hall"}

    async with a_house(a_settings(tmp_path), prepare=lambda each: each.add_plugin(Plugin("p-other", other))) as house:
        heard = await house.say("hello", {"session_id": "n1", "pipeline": ["p-other"]})

    assert heard.spoken == ["hello"]
    assert heard.session["session_id"] == "n1"
    assert "site_id" not in heard.session


async def test_ovos_21_what_a_declining_plugin_did_is_lost(tmp_path: Path) -> None:
    declining = Plugin("p-decl", in_german, claims=False)
    async with a_house(a_settings(tmp_path), prepare=lambda each: each.add_plugin(declining)) as house:
        heard = await house.say("say hello", {"session_id": "n1", "pipeline": only("p-decl")})

    assert declining.asked == 1
    assert "lang" not in heard.dispatch.context["session"]


async def test_ovos_22_24_what_a_handler_changes_its_words_carry_and_so_does_the_end(house: House) -> None:
    heard = await house.say("set it", {"session_id": "n1"})

    entry = {"mut.skill:k": {"value": "v"}}
    assert "intent_context" not in heard.dispatch.context["session"]
    for topic in (topics.SPEAK, topics.COMPLETE, topics.HANDLED):
        assert heard.one(topic).context["session"]["intent_context"] == entry


async def test_ovos_23_what_a_handler_changes_without_a_word_is_not_seen(house: House) -> None:
    heard = await house.say("mute it", {"session_id": "n1"})

    for topic in (topics.COMPLETE, topics.HANDLED):
        assert heard.one(topic).context["session"] == heard.dispatch.context["session"]


async def test_what_a_handler_changes_without_a_word_counts_where_that_is_wanted(tmp_path: Path) -> None:
    rules = BusRules(owner_seconds=0.02, syncs_at_completion=True)
    async with a_house(a_settings(tmp_path), rules=rules) as house:
        heard = await house.say("mute it", {"session_id": "n1"})

    assert heard.one(topics.COMPLETE).context["session"]["intent_context"] == {"mute.skill:k": {"value": "v"}}


async def test_ovos_25_our_own_handlers_change_only_what_is_theirs(house: House) -> None:
    """An agent writes its conversation, and who has to do with the session; nothing else."""
    heard = await house.say("who is there", {"session_id": "n1", "site_id": "hall"})

    assert heard.session.keys() == {"session_id", "site_id", "active_handlers", "converse_handlers", "turnkeeper"}


async def test_ovos_26_a_handler_may_take_itself_out(house: House) -> None:
    heard = await house.say("leave me", {"session_id": "n1"})

    assert [each["skill_id"] for each in heard.dispatch.context["session"]["active_handlers"]] == ["leave.skill"]
    assert heard.session["active_handlers"] == []


async def test_a_word_of_the_right_handler_in_another_round_is_not_this_rounds(house: House) -> None:
    def answers(message: Message) -> list[Message]:
        if message.type != "far.skill:go":
            return []
        wrong = message.forward(topics.SPEAK, {"utterance": "not mine"})
        wrong.context["utterance_id"] = "another"
        return [
            wrong.carrying({**message.context["session"], "site_id": "stray"}),
            message.forward(topics.SPEAK, {"utterance": "?"}).carrying({"session_id": "n2", "site_id": "stray"}),
            message.forward(topics.DONE),
        ]

    async with Participant(house.relay.url, answers):
        heard = await house.say("far away", {"session_id": "n1"})

    assert "site_id" not in heard.session


async def test_a_transformer_may_change_the_words_and_add_slots_but_not_the_intent(tmp_path: Path) -> None:
    class Words(Meta):
        async def transform(self, artifact: Any, context: dict[str, Any], lang: str | None) -> Any:
            made = await super().transform(artifact, context, lang)
            return type(made)(artifact=[f"say {artifact[0]}"], context=made.context)

    words = Words("t-words", lambda context: None, Hook.UTTERANCE)
    async with a_house(a_settings(tmp_path), prepare=lambda each: each.add_transformer(words)) as house:
        heard = await house.say("hello", {"session_id": "n1"})

    assert heard.spoken == ["hello"]
    assert heard.dispatch.data["utterance"] == "say hello"


async def test_a_call_off_after_the_match_keeps_it_from_being_dispatched(tmp_path: Path) -> None:
    def off(context: dict[str, Any]) -> None:
        context |= {"canceled": True, "cancel_reason": "policy_block"}

    meta = Meta("t-late", off, Hook.INTENT)
    async with a_house(a_settings(tmp_path), prepare=lambda each: each.add_transformer(meta)) as house:
        heard = await house.say("say hello", {"session_id": "n1"})

    assert heard.topics == [topics.UTTERANCE, topics.CANCELLED, topics.HANDLED]


async def test_context_lives_for_as_many_rounds_as_it_says(house: House) -> None:
    session: dict[str, Any] = {
        "session_id": "n1",
        "intent_context": {"one": {"value": "v", "turns_remaining": 1}, "two": {"value": "v", "turns_remaining": 2}},
    }
    seen = []
    # A round that nobody matches is a round, too.
    for text in ("say hello", "nonsense", "say hello", "say hello"):
        heard = await house.say(text, {**session, "pipeline": only()})
        session = heard.session
        seen.append({key: entry["turns_remaining"] for key, entry in session.get("intent_context", {}).items()})

    assert seen == [{"one": 0, "two": 1}, {"two": 0}, {}, {}]


async def test_what_a_handler_changes_deep_inside_without_a_word_is_not_seen(house: House) -> None:
    async def inside(dispatch: Dispatch) -> None:
        dispatch.session["x_vendor"]["deep"].append("changed")

    house.orchestrator.handler("deep.skill", "go")(inside)
    house.orchestrator.intents.add("deep.skill", "go", lang="en-US", samples=["go deep"])

    for id in ("n1", "default"):
        heard = await house.say("go deep", {"session_id": id, "x_vendor": {"deep": []}})
        assert heard.session["x_vendor"] == {"deep": []}


async def test_a_handler_may_take_an_entry_of_the_context_away(house: House) -> None:
    async def forget(dispatch: Dispatch) -> None:
        del dispatch.session["intent_context"]["a"]
        await dispatch.speak("forgotten")

    house.orchestrator.handler("forget.skill", "go")(forget)
    house.orchestrator.intents.add("forget.skill", "go", lang="en-US", samples=["forget it"])

    heard = await house.say(
        "forget it", {"session_id": "n1", "intent_context": {"a": {"value": "1"}, "b": {"value": "2"}}}
    )

    assert heard.session["intent_context"] == {"b": {"value": "2"}}


async def test_every_round_has_an_id_of_its_own_whatever_came_in(house: House) -> None:
    for _ in range(2):
        heard = await house.say("say hello", {"session_id": "n1"}, context={"utterance_id": "mine"})
        ids = {each.utterance_id for each in heard.frames[1:]}
        assert len(ids) == 1
        assert ids != {"mine"}


async def test_skills_of_this_process_are_not_asked_over_the_bus(house: House) -> None:
    session: dict[str, Any] = {"session_id": "n1"}
    for text in ("say hello", "set it", "who is there", "stop"):
        session = (await house.say(text, session)).session

    assert house.person.of(topics.CONVERSE_PING) == []
    assert house.person.of(topics.STOP_PING) == []
