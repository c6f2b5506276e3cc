"""Which intent an utterance is recognised as."""

import logging
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scale import rounds
from tests.unit.bus.asking import NOW, an_utterance
from tests.unit.bus.carriers import JSON
from turnkeeper.bus.message import Message
from turnkeeper.bus.pipeline import intents as module
from turnkeeper.bus.pipeline.intents import Intents, Refused
from turnkeeper.bus.pipeline.templates import MalformedTemplate, Template, values
from turnkeeper.bus.pipeline.words import Words

TOPICS = ("register.template", "register.keyword", "deregister", "enable", "disable")


def knowing(*samples: str, **more: Any) -> Intents:
    intents = Intents()
    intents.add("skill", "intent", lang="en-US", samples=samples, **more)
    return intents


async def recognised(intents: Intents, *said: str, session: dict[str, Any] | None = None, lang: str = "en-US") -> Any:
    match = await intents.match(an_utterance(*said, session=session, lang=lang))
    return None if match is None else (match.intent_name, dict(match.slots))


def tell(intents: Intents, topic: str, **data: Any) -> None:
    intents.heard(Message(type=f"ovos.{topic}", data=data))


# --- templates


@pytest.mark.parametrize(
    ("template", "said", "slots"),
    [
        ("[please] (play|start) {song}", "Play Don't Stop Me Now!", {"song": "Don't Stop Me Now"}),
        ("[please] (play|start) {song}", "please START it", {"song": "it"}),
        ("[please] (play|start) {song}", "play", None),
        ("[please] (play|start) {song}", "stop it", None),
        ("play {song} [by {artist}]", "play yesterday by the beatles", {"song": "yesterday", "artist": "the beatles"}),
        ("turn (on|off) the light[s]", "turn off the lights", {}),
        ("turn (on|off) the light[s]", "turn off the light", {}),
        ("turn (on|off) the light[s]", "turn off the lightss", None),
        ("turn (on|off) the light[s]", "now turn off the light", None),
        ("(good (morning|evening)|hi) [there]", "good evening there", {}),
        ("(good (morning|evening)|hi) [there]", "good there", None),
        ("set {name}'s alarm to {time}", "set John's alarm to 7:30", {"name": "John", "time": "7:30"}),
        ("wie wird das wetter in {stadt}", "Wie wird das Wetter in Köln?", {"stadt": "Köln"}),
        ("(a|) b", "b", {}),
        ("a {x} b {y}", "a b b b b", {"x": "b", "y": "b b"}),
    ],
)
def test_a_template_fits_the_whole_of_what_is_said(template: str, said: str, slots: dict[str, str] | None) -> None:
    words = Words(text=said)

    found = Template(text=template).match(words)

    assert (None if found is None else values(found, words)) == slots


@pytest.mark.parametrize(
    "text",
    [
        *("", "{x}", "[a]", "(a|[b])", "(a", "a)", "[a)", "a|b", "{}", "{a", "a}", "(" * 20 + "a" + ")" * 20),
        *("a" * 1001, "b" + "{x} " * 9, "a" + "(b|c)" * 7, "a({x})"),
    ],
)
def test_a_template_that_cannot_be_read_or_fits_anything_is_refused(text: str) -> None:
    with pytest.raises(MalformedTemplate):
        Template(text=text)


def test_a_template_is_never_multiplied_out() -> None:
    huge = Template(text="go " + "(a|b|c) " * 100)

    found = huge.match(Words(text="go " + "b " * 60))

    assert found is None
    assert huge.slots == ()


@given(text=st.text(alphabet="ab ()[]|{}x", max_size=30), said=st.text(alphabet="abx ", max_size=12))
@settings(max_examples=rounds(50, 2000))
def test_whatever_is_registered_matching_comes_to_an_end(text: str, said: str) -> None:
    try:
        template = Template(text=text)
    except MalformedTemplate:
        return
    words = Words(text=said)

    found = template.match(words)

    assert found is None or found.literal + sum(end - first for _, first, end in found.slots) == len(words.folded)


# --- which of several


async def test_the_intent_that_names_more_of_the_words_wins() -> None:
    intents = Intents()
    intents.add("s", "anything", lang="en-US", samples=["play {something}"])
    intents.add("s", "music", lang="en-US", samples=["play [some] music"])
    intents.add("s", "later", lang="en-US", samples=["play music"])

    assert await recognised(intents, "play music") == ("music", {})
    assert await recognised(intents, "play chess") == ("anything", {"something": "chess"})


async def test_the_first_candidate_that_anything_fits_is_what_was_said() -> None:
    match = await knowing("play chess").match(an_utterance("pay chess", "play chess", "play jazz"))

    assert match is not None
    assert match.utterance == "play chess"


async def test_what_is_ruled_out_leaves_room_for_another() -> None:
    intents = Intents()
    intents.add("a", "go", lang="en-US", samples=["go now"])
    intents.add("b", "run", lang="en-US", samples=["go {when}"])

    for session in ({"blacklisted_skills": ["a"]}, {"blacklisted_intents": ["a:go"]}):
        assert await recognised(intents, "go now", session=session) == ("run", {"when": "now"})
    assert await recognised(intents, "go now", session={"blacklisted_intents": ["go"]}) == ("go", {})


async def test_an_intent_is_known_in_its_language_only() -> None:
    intents = Intents()
    intents.add("s", "wait", lang="de-DE", samples=["halt mal"])
    intents.add("s", "hi", lang="en", samples=["hello"])

    assert await recognised(intents, "halt mal", lang="de-de") == ("wait", {})
    assert await recognised(intents, "halt mal", lang="en-US") is None
    assert await recognised(intents, "hello", lang="en-GB") == ("hi", {})


# --- keywords

LIGHTS = {
    "required": [{"name": "light", "samples": ["light[s]", "lamp"]}],
    "one_of": [[{"name": "on", "samples": ["on"]}, {"name": "off", "samples": ["off", "out"]}]],
    "optional": [{"name": "room", "samples": ["kitchen", "living room"]}],
    "excluded": [{"name": "never", "samples": ["do not"]}],
}


@pytest.mark.parametrize(
    ("said", "slots"),
    [
        ("could the lights go OFF", {"light": "lights", "off": "OFF"}),
        ("lamp on in the living room", {"light": "lamp", "on": "on", "room": "living room"}),
        ("the lights", None),
        ("go off", None),
        ("do not put the lights on", None),
    ],
)
async def test_keywords_may_stand_anywhere(said: str, slots: dict[str, str] | None) -> None:
    found = await recognised(knowing(keywords=LIGHTS), said)

    assert found == (None if slots is None else ("intent", slots))


async def test_a_keyword_may_come_from_the_context() -> None:
    session = {"intent_context": {"skill:light": {"value": "lamp"}}}
    alone = knowing(keywords={"required": LIGHTS["required"]})

    intents = knowing(keywords=LIGHTS)

    assert await recognised(intents, "switch it on", session=session) == ("intent", {"light": "lamp", "on": "on"})
    # The context alone is no utterance.
    assert await recognised(alone, "nothing at all", session=session) is None


# --- context


async def test_a_gate_keeps_an_intent_out_until_the_context_is_there() -> None:
    intents = knowing("yes", requires_context=["asked"], excludes_context=[{"key": "busy", "scope": "shared"}])
    asked = {"skill:asked": {"value": None, "turns_remaining": 1}}

    assert await recognised(intents, "yes") is None
    assert await recognised(intents, "yes", session={"intent_context": asked}) == ("intent", {})
    assert await recognised(intents, "yes", session={"intent_context": {**asked, "busy": {"value": None}}}) is None
    assert await recognised(intents, "yes", session={"intent_context": {"asked": {"value": None}}}) is None


async def test_the_context_fills_a_slot_that_was_not_said() -> None:
    intents = knowing("weather [in {city}]", required_slots=["city"])
    session = {"intent_context": {"city": {"value": "Porto", "expires_at": NOW + 1}}}

    assert await recognised(intents, "weather", session=session) == ("intent", {"city": "Porto"})
    assert await recognised(intents, "weather in Faro", session=session) == ("intent", {"city": "Faro"})
    assert await recognised(intents, "weather") is None


# --- over the bus


async def test_skills_register_and_take_back_over_the_bus() -> None:
    intents = Intents()
    named = {"skill_id": "s", "intent_name": "hi"}

    tell(intents, "intent.register.template", **named, lang="en-US", samples=["hello"], blacklist=["kitty"])
    tell(intents, "intent.register.keyword", **{**named, "intent_name": "light"}, lang="en-US", **LIGHTS)
    assert [each.intent_name for each in intents.intents()] == ["hi", "light"]
    assert await recognised(intents, "hello") == ("hi", {})

    tell(intents, "intent.disable", **named)
    assert await recognised(intents, "hello") is None
    assert [each.intent_name for each in intents.intents()] == ["light"]
    tell(intents, "intent.enable", **named, lang="en-US")
    assert await recognised(intents, "hello") == ("hi", {})

    tell(intents, "intent.disable", **named)
    tell(intents, "intent.register.template", **named, lang="en-US", samples=["hello"])
    assert await recognised(intents, "hello") == ("hi", {})

    tell(intents, "intent.deregister", **named, lang="de-DE")
    assert await recognised(intents, "hello") == ("hi", {})
    tell(intents, "intent.deregister", **named)
    assert await recognised(intents, "hello") is None

    tell(intents, "skill.deregister", skill_id="s")
    assert intents.intents() == []


async def test_a_phrase_on_the_blacklist_keeps_the_intent_out() -> None:
    assert await recognised(knowing("call {who}", blacklist=["back"]), "call me back") is None
    assert await recognised(knowing("call {who}", blacklist=["back"]), "call me") == ("intent", {"who": "me"})


@pytest.mark.parametrize("name", ["converse", "response", "stop", "common_query", "fallback"])
def test_a_name_that_is_part_of_the_pipeline_is_refused_and_logged(name: str, caplog: pytest.LogCaptureFixture) -> None:
    intents = Intents()

    with caplog.at_level(logging.WARNING):
        tell(intents, "intent.register.template", skill_id="s", intent_name=name, lang="en-US", samples=["hello"])

    assert intents.intents() == []
    assert [record.message for record in caplog.records] == ["intent refused"]


SOUND = {"skill_id": "s", "intent_name": "i", "lang": "en-US"}


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"optional": [{"name": "a", "samples": ["a"]}]},
        {"required": [{"name": "a", "samples": []}]},
        {"required": [{"name": "a", "samples": ["a {b}"]}]},
        {"required": [{"name": "a", "samples": ["a"]}], "excluded": [{"name": "a", "samples": ["b"]}]},
        {"required": ["a"]},
        {"required": {"name": "a"}},
    ],
)
def test_keywords_that_say_nothing_or_contradict_themselves_are_refused(keywords: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        Intents().add("s", "i", lang="en-US", keywords=keywords)


async def test_there_is_an_end_to_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_INTENTS", 2)
    monkeypatch.setattr(module, "MOST_CHARACTERS", 10)
    intents = Intents()

    for name in ("a", "b", "c"):
        tell(intents, "intent.register.template", **{**SOUND, "intent_name": name}, samples=["go"])
    for sample in ("x" * 9, "y" * 8, "z" * 8):
        tell(intents, "intent.register.template", **{**SOUND, "intent_name": "a"}, samples=[sample])
    tell(intents, "intent.register.template", **{**SOUND, "intent_name": "b"}, samples=["no"] * 2_001)

    assert [each.intent_name for each in intents.intents()] == ["a", "b"]
    said = [await recognised(intents, text) for text in ("go", "x" * 9, "y" * 8, "z" * 8, "no")]
    assert said == [("b", {}), None, None, ("a", {}), None]


@given(topic=st.sampled_from(TOPICS), data=st.dictionaries(st.sampled_from((*SOUND, *LIGHTS, "samples")), JSON))
@settings(max_examples=rounds(50, 1000))
def test_nothing_that_is_said_about_intents_breaks_anything(topic: str, data: dict[str, Any]) -> None:
    intents = Intents()

    tell(intents, f"intent.{topic}", **{**SOUND, **data})

    assert len(intents.intents()) <= 1
