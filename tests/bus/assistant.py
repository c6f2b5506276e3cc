"""A scripted assistant on the bus: it answers as the specifications want, in few lines and without an orchestrator."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.bus.wire import Participant
from turnkeeper.bus import topics
from turnkeeper.bus.message import Message

Session = dict[str, Any]
SKILL = {"skill_id": "echo.skill", "intent_name": "say"}


class Assistant(Participant):
    """Knows nothing between two utterances. `becomes` says what a session becomes by one."""

    def __init__(
        self, url: str, becomes: Callable[[Session, str], Session] = lambda session, _: session, **more: Any
    ) -> None:
        super().__init__(url, self._answer, **more)
        self._becomes = becomes
        self.rounds = 0
        self.asks: list[Session] = []

    def _answer(self, message: Message) -> list[Message]:
        if message.type != topics.UTTERANCE:
            return []
        self.rounds += 1
        self.asks.append(message.session)
        text = message.data["utterances"][0]
        session = self._becomes(dict(message.session), text)
        reply = message.reply("echo.skill:say").carrying(session, utterance_id=f"u{id(self)}-{self.rounds}")
        return [replace(reply, type=type, data=data) for type, data in ends(text)]


def ends(text: str) -> list[tuple[str, Session]]:
    """What is heard of an utterance, by its first word."""
    handled: tuple[str, Session] = (topics.HANDLED, {})
    trio: list[tuple[str, Session]] = [(topics.MATCHED, SKILL), (topics.START, SKILL), ("echo.skill:say", {})]
    spoken: tuple[str, Session] = (topics.SPEAK, {"utterance": text})
    match text.partition(" ")[0]:
        case "unknown":
            return [(topics.UNMATCHED, {}), handled]
        case "cancel":
            return [(topics.CANCELLED, {"cancel_reason": "stop_word", "cancel_by": "t"}), handled]
        case "raise":
            return [*trio, spoken, (topics.ERROR, {**SKILL, "exception": "KeyError: 'x'"}), handled]
        case "hang":
            return [*trio, (topics.ERROR, {**SKILL, "exception": "timeout after 300 s"}), handled]
        case "ask":
            question = (topics.SPEAK, {"utterance": "which one?", "listen": True})
            return [*trio, question, (topics.COMPLETE, SKILL), handled]
        case "silent":
            return []
        case _:
            return [*trio, spoken, (topics.COMPLETE, SKILL), handled]
