"""The ends of a bus where there is sound: a mouth that says what is to be said, and an ear that makes words of it.

Here the hooks `audio`, `dialog` and `tts` have their place. Neither end keeps a round from its end: that a reply was
spoken is told on the bus, and nobody waits for it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from turnkeeper.bus import carrier, topics
from turnkeeper.bus.chains import Chains
from turnkeeper.bus.link import Link
from turnkeeper.bus.message import Message
from turnkeeper.bus.transformers import Hook
from turnkeeper.bus.wire import PlainWire, Wire
from turnkeeper.errors import TurnkeeperError

log = logging.getLogger(__name__)

OUTPUT_STARTED, OUTPUT_ENDED = "ovos.audio.output.started", "ovos.audio.output.ended"
LISTEN = "ovos.mic.listen"
NOT_UNDERSTOOD = "ovos.stt.failed"
MOST_WAITING = 100


class Synthesizer(Protocol):
    async def synthesize(self, text: str, lang: str | None) -> bytes:
        """The sound of a text."""


class Player(Protocol):
    async def play(self, sound: bytes) -> None:
        """Return when it was heard. May be cancelled, and is quiet then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What was perhaps said, the likeliest first, and the language in which it was understood."""

    utterances: Sequence[str]
    lang: str | None = None


class Transcriber(Protocol):
    async def transcribe(self, sound: bytes, lang: str | None) -> Transcript:
        """The words in a sound; none if there are none."""


class Output:
    """Says the replies of some sessions aloud, one after the other, in the order of the bus.

    `sessions` are those that are heard here; the device's own is, unless something else is said. None is all of them.
    """

    def __init__(
        self,
        url: str,
        *,
        synthesizer: Synthesizer,
        player: Player,
        chains: Chains | None = None,
        wire: Wire | None = None,
        sessions: Collection[str] | None = (carrier.DEFAULT,),
        token: str | None = None,
    ) -> None:
        self._synthesizer, self._player = synthesizer, player
        self._chains, self._wire = chains or Chains(), wire or PlainWire()
        self._sessions = sessions
        self._link = Link(url, token=token, on_message=self._heard)
        self._waiting: deque[Message] = deque()
        self._something = asyncio.Event()
        self._working: asyncio.Task[None] | None = None
        self._speaking: tuple[str | None, asyncio.Task[None]] | None = None

    async def __aenter__(self) -> Self:
        await self._link.__aenter__()
        self._working = asyncio.create_task(self._work(), name="bus-output")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._working is not None:
            self._working.cancel()
            await asyncio.gather(self._working, return_exceptions=True)
        await self._link.close()

    async def opened(self, seconds: float | None = None) -> None:
        """Return once connected. Raises BusRefused and BusUnreachable."""
        await self._link.opened(seconds)

    def _heard(self, raw: Message) -> None:
        message = self._wire.inbound(raw)
        if message is None or (id := _session_of(message)) is None:
            return
        if message.type == topics.STOP:
            self._quiet(id)
        elif message.type in (topics.transformers_of(Hook.DIALOG), topics.transformers_of(Hook.TTS)):
            hook = Hook.DIALOG if message.type == topics.transformers_of(Hook.DIALOG) else Hook.TTS
            _send(self._link, self._wire, message.response(self._chains.listing(hook)))
        elif message.type == topics.SPEAK and (self._sessions is None or id in self._sessions):
            if len(self._waiting) >= MOST_WAITING:
                log.warning("reply not spoken", extra={"reason": "too many wait"})
                return
            self._waiting.append(message)
            self._something.set()

    def _quiet(self, session_id: str) -> None:
        """What belongs to this session is not said any more; others go on."""
        self._waiting = deque(each for each in self._waiting if _session_of(each) != session_id)
        if self._speaking is not None and self._speaking[0] == session_id:
            self._speaking[1].cancel()

    async def _work(self) -> None:
        while True:
            while self._waiting:
                await self._say(self._waiting.popleft())
            self._something.clear()
            await self._something.wait()

    async def _say(self, message: Message) -> None:
        """In a task of its own, so that a stop ends it at any point."""
        speaking = asyncio.create_task(self._spoken(message), name="bus-speaking")
        self._speaking = (_session_of(message), speaking)
        try:
            await asyncio.wait((speaking,))
        finally:
            self._speaking = None
            speaking.cancel()
            (failure,) = await asyncio.gather(speaking, return_exceptions=True)
        if isinstance(failure, Exception):
            log.warning("reply not spoken", exc_info=failure)

    async def _spoken(self, message: Message) -> None:
        text, lang = message.data.get("utterance"), message.data.get("lang")
        if not isinstance(text, str):
            return
        chains = self._chains.composed(carrier.carried(message))
        said = await chains.run(Hook.DIALOG, text, message.context, lang if isinstance(lang, str) else None)
        if said.cancelled_by is not None:
            return
        sound = await self._synthesizer.synthesize(said.artifact, said.lang)
        voiced = await chains.run(Hook.TTS, sound, said.context, said.lang)
        if voiced.cancelled_by is not None:
            return
        speaking = Message(type=topics.SPEAK, context=voiced.context)
        _send(self._link, self._wire, speaking.forward(OUTPUT_STARTED))
        try:
            await self._player.play(voiced.artifact)
        finally:
            _send(self._link, self._wire, speaking.forward(OUTPUT_ENDED))
        if message.data.get("listen") is True:
            _send(self._link, self._wire, speaking.forward(LISTEN))


class Input:
    """Puts what is heard on the bus, as words."""

    def __init__(
        self,
        url: str,
        *,
        transcriber: Transcriber,
        chains: Chains | None = None,
        wire: Wire | None = None,
        source: str = "microphone",
        token: str | None = None,
    ) -> None:
        self._transcriber, self._source = transcriber, source
        self._chains, self._wire = chains or Chains(), wire or PlainWire()
        self._link = Link(url, token=token, on_message=self._heard)

    async def __aenter__(self) -> Self:
        await self._link.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._link.close()

    async def opened(self, seconds: float | None = None) -> None:
        """Return once connected. Raises BusRefused and BusUnreachable."""
        await self._link.opened(seconds)

    async def hear(self, sound: bytes, *, session: Mapping[str, Any] | None = None) -> Sequence[str]:
        """Tell the bus what was said, in the device's session unless another is given; gives the words.

        The language in which they were understood goes along as a signal of the session, and decides nothing.
        """
        context: dict[str, Any] = {"source": self._source}
        if session is not None:
            context["session"] = dict(session)
        lang = (session or {}).get("lang")
        chained = await self._chains.composed(session or {}).run(Hook.AUDIO, sound, context)
        if chained.cancelled_by is not None:
            return ()
        transcript = await self._transcriber.transcribe(
            chained.artifact, chained.lang or (lang if isinstance(lang, str) else None)
        )
        message = Message(type=NOT_UNDERSTOOD, context=chained.context)
        if transcript.lang is not None:
            message = message.carrying({**(message.session or {}), "stt_lang": transcript.lang})
        words = [each for each in transcript.utterances if each]
        if words:
            message = message.forward(topics.UTTERANCE, {"utterances": words})
        _send(self._link, self._wire, message)
        return words

    def _heard(self, raw: Message) -> None:
        message = self._wire.inbound(raw)
        if message is not None and message.type == topics.transformers_of(Hook.AUDIO):
            _send(self._link, self._wire, message.response(self._chains.listing(Hook.AUDIO)))


def _session_of(message: Message) -> str | None:
    """Whose it is, or None where the carrier is malformed: then it is dropped."""
    try:
        return carrier.session_id_of(carrier.carried(message))
    except carrier.MalformedCarrier:
        return None


def _send(link: Link, wire: Wire, message: Message) -> None:
    for each in wire.outbound(message):
        try:
            link.send(each)
        except (TurnkeeperError, ValueError):
            log.warning("message lost", extra={"topic": each.type})
