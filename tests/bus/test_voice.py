"""Sound at the ends of a bus: what is said aloud, and what is heard."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.bus.house import House, a_house, a_settings
from tests.bus.wire import WITHIN, eventually
from turnkeeper.bus import topics
from turnkeeper.bus.chains import Chains
from turnkeeper.bus.legacy.adapter import LegacyWire
from turnkeeper.bus.message import Message
from turnkeeper.bus.transformers import Hook, Transformed
from turnkeeper.bus.voice import LISTEN, NOT_UNDERSTOOD, OUTPUT_ENDED, OUTPUT_STARTED, Input, Output, Transcript


@dataclass(frozen=True, kw_only=True)
class Changing:
    id: str
    hook: Hook
    change: Callable[[Any], Any]
    context: dict[str, Any] = field(default_factory=dict)
    priority: int = 50

    async def transform(self, artifact: Any, context: dict[str, Any], lang: str | None) -> Transformed:
        return Transformed(artifact=self.change(artifact), context={**context, **self.context})


@dataclass
class Voice:
    """A voice that can be read, and a loudspeaker that remembers; `held` keeps it from coming to an end."""

    played: list[str] = field(default_factory=list)
    held: asyncio.Event | None = None

    async def synthesize(self, text: str, lang: str | None) -> bytes:
        if text == "unspeakable":
            raise RuntimeError("no voice for this")
        return f"{lang}:{text}".encode()

    async def play(self, sound: bytes) -> None:
        self.played.append(sound.decode())
        if self.held is not None:
            await self.held.wait()


class Ear:
    async def transcribe(self, sound: bytes, lang: str | None) -> Transcript:
        return Transcript(utterances=[each for each in sound.decode().split("/") if each], lang="en-US")


@asynccontextmanager
async def spoken_in(house: House, voice: Voice, **more: Any) -> AsyncIterator[Output]:
    async with Output(house.relay.url, synthesizer=voice, player=voice, **more) as output:
        await output.opened(WITHIN)
        yield output


async def test_what_is_said_in_the_house_goes_through_its_hooks_and_is_heard(house: House) -> None:
    voice = Voice()
    chains = Chains(
        [
            Changing(id="polite", hook=Hook.DIALOG, change=lambda text: f"{text}, please"),
            Changing(id="louder", hook=Hook.TTS, change=lambda sound: sound.upper()),
            Changing(id="clean", hook=Hook.AUDIO, change=lambda sound: sound.replace(b"~", b"")),
        ]
    )

    async with spoken_in(house, voice, chains=chains), Input(house.relay.url, transcriber=Ear(), chains=chains) as ear:
        await ear.opened(WITHIN)
        words = await ear.hear(b"s~ay hel~lo/say yellow")
        await house.hears(OUTPUT_ENDED)
        await house.tell(topics.transformers_of("dialog"), {})
        await house.hears("ovos.transformer.dialog.list.response")

    assert words == ["say hello", "say yellow"]
    assert voice.played == ["EN-US:HELLO, PLEASE"]
    heard = house.person
    (utterance,) = heard.of(topics.UTTERANCE)
    assert utterance.context["audio_transformer_ids"] == ["clean"]
    assert utterance.session == {"stt_lang": "en-US"}
    (started,), (ended,) = heard.of(OUTPUT_STARTED), heard.of(OUTPUT_ENDED)
    assert started.context == ended.context
    assert started.context["dialog_transformer_ids"] == ["polite"]
    assert started.context["tts_transformer_ids"] == ["louder"]
    assert started.utterance_id == heard.of(topics.SPEAK)[0].utterance_id
    (listed,) = heard.of("ovos.transformer.dialog.list.response")
    assert listed.data == {"loaded": ["polite"], "priorities": {"polite": 50}}


async def test_a_transformer_of_sound_is_refused_where_nothing_sounds(house: House) -> None:
    with pytest.raises(ValueError, match=r"voice\.Output"):
        house.orchestrator.add_transformer(Changing(id="t", hook=Hook.DIALOG, change=lambda text: text))


async def test_a_question_opens_the_microphone_once_it_was_heard(house: House) -> None:
    voice = Voice()

    async with spoken_in(house, voice):
        await house.say("say hello")
        await house.say("ask me")
        await house.hears(LISTEN)

    order = [each.type for each in house.person.heard if each.type in (OUTPUT_STARTED, OUTPUT_ENDED, LISTEN)]
    assert order == [OUTPUT_STARTED, OUTPUT_ENDED, OUTPUT_STARTED, OUTPUT_ENDED, LISTEN]


async def test_a_reply_that_goes_out_under_two_names_is_said_once(tmp_path: Path) -> None:
    voice = Voice()
    wire = LegacyWire()

    async with a_house(a_settings(tmp_path), wire=wire) as house, spoken_in(house, voice, wire=wire):
        await house.say("say hello")
        await house.say("say bye")
        await house.person.hears(OUTPUT_ENDED, 2)

        assert voice.played == ["en-US:hello", "en-US:bye"]
        assert len(house.person.of("recognizer_loop:audio_output_end")) == 2


async def test_only_the_sessions_of_this_place_are_heard_here(house: House) -> None:
    voice = Voice()

    async with spoken_in(house, voice, sessions=("kiosk-9",)):
        await house.say("say nothing")
        await house.say("say hello", {"session_id": "kiosk-9"})
        await house.hears(OUTPUT_ENDED)

    assert voice.played == ["en-US:hello"]


async def test_a_stop_silences_its_own_session_alone(house: House) -> None:
    voice = Voice(held=asyncio.Event())
    assert voice.held is not None

    async with spoken_in(house, voice, sessions=None):
        for number in ("one", "two"):
            await house.say(f"say {number}", {"session_id": "a"})
        await house.say("say three", {"session_id": "b"})
        await eventually(lambda: voice.played == ["en-US:one"])
        await house.tell(topics.STOP, {}, {"session": {"session_id": "stranger"}})
        await house.tell(topics.STOP, {}, {"session": {"session_id": "a"}})
        await eventually(lambda: voice.played == ["en-US:one", "en-US:three"])
        voice.held.set()
        ended = await house.person.hears(OUTPUT_ENDED, 2)

    assert [each.session["session_id"] for each in ended] == ["a", "b"]
    assert voice.played == ["en-US:one", "en-US:three"]


async def test_what_cannot_be_said_or_was_called_off_leaves_the_next_reply_to_be_said(house: House) -> None:
    voice = Voice()
    off = {"canceled": True, "cancel_reason": "policy_block"}
    chains = Chains(
        [Changing(id="strict", hook=Hook.DIALOG, change=lambda text: text, context=off)],
    )

    async with spoken_in(house, voice, chains=chains):
        place = len(house.person.heard)
        await house.say("say something rude")
        allowed = {"blacklisted_dialog_transformers": ["strict"]}
        await house.say("say unspeakable", allowed)
        house.person.link.send(Message(type=topics.SPEAK, data={"utterance": 5}))
        house.person.link.send(Message(type=topics.SPEAK, data={"utterance": "x"}, context={"session": "malformed"}))
        await house.say("say hello", allowed)
        await house.hears(OUTPUT_ENDED, place)

    assert voice.played == ["en-US:hello"]


async def test_sound_without_words_is_no_utterance(house: House) -> None:
    async with Input(house.relay.url, transcriber=Ear()) as ear:
        await ear.opened(WITHIN)
        words = await ear.hear(b"", session={"session_id": "kiosk-9"})
        failed = await house.hears(NOT_UNDERSTOOD)

    assert words == []
    assert failed.session == {"session_id": "kiosk-9", "stt_lang": "en-US"}
    assert house.person.of(topics.UTTERANCE) == []
