"""Handing an utterance to its handler, in this process or in another one, until it is through."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from turnkeeper.bus import topics
from turnkeeper.bus.message import Message, copied, is_json
from turnkeeper.bus.plugins import STOPPED, Match
from turnkeeper.bus.recording import RoundFacts
from turnkeeper.bus.working import Session, Working
from turnkeeper.errors import HandlerFailed

MOST_SPOKEN = 64
NOT_THE_HANDLERS = frozenset(
    {
        topics.MATCHED,
        topics.UNMATCHED,
        topics.START,
        topics.COMPLETE,
        topics.ERROR,
        topics.CANCELLED,
        topics.HANDLED,
        topics.UTTERANCE,
        topics.SYNC,
        topics.CONVERSE_PING,
        topics.CONVERSE_PONG,
        topics.STOP_PING,
        topics.STOP_PONG,
        topics.FALLBACK_PING,
        topics.FALLBACK_PONG,
    }
)
"""What travels with the session of a round and is no word of its handler."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A handler of this process. One that `records` makes a Run of its own, as our agents do."""

    handle: Callable[["LiveDispatch"], Awaitable[None]]
    records: bool = False


class Handlers:
    """Who in this process handles what: a skill's intent, or all that is for a skill."""

    def __init__(self) -> None:
        self._handlers: dict[tuple[str, str | None], Registered] = {}

    def add(self, skill_id: str, intent_name: str | None, handler: Registered) -> None:
        """Raises ValueError for a name with a colon, and for a second handler of the same."""
        if not skill_id or ":" in skill_id or intent_name == "" or ":" in (intent_name or ""):
            raise ValueError("the name of a skill or intent is not empty and has no colon")
        if (skill_id, intent_name) in self._handlers:
            raise ValueError(f"{skill_id}:{intent_name or '*'} has a handler already")
        self._handlers[(skill_id, intent_name)] = handler

    def of(self, match: Match) -> Registered | None:
        """None is a handler in another process."""
        exact = self._handlers.get((match.skill_id, match.intent_name))
        found = exact or self._handlers.get((match.skill_id, None))
        if found is None and any(skill_id == match.skill_id for skill_id, _ in self._handlers):
            return _UNHANDLED
        return found

    def has(self, skill_id: str, intent_name: str) -> bool:
        return (skill_id, intent_name) in self._handlers


async def _unhandled(dispatch: "LiveDispatch") -> None:
    """A skill of this process that has nothing to stop is stopped; anything else it should have had a handler for."""
    if not dispatch.message.type.endswith(f":{STOPPED}"):
        raise LookupError(f"{dispatch.message.type} has no handler")


_UNHANDLED = Registered(handle=_unhandled)


class Window:
    """The time in which a handler is at work: what it says to its session counts, and what it speaks is heard."""

    def __init__(self, dispatch: Message, working: Working) -> None:
        self.dispatch, self._working = dispatch, working
        self.base: Session = working.read()
        self.spoken: list[str] = []
        self.is_over = False
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def adopt(self, snapshot: Session) -> None:
        """The session as the handler has it now."""
        self._working.replace(self.base, snapshot)
        self.base = copied(snapshot)

    def hear(self, type: str, data: dict[str, Any]) -> None:
        text = data.get("utterance")
        if type == topics.SPEAK and isinstance(text, str) and len(self.spoken) < MOST_SPOKEN:
            self.spoken.append(text)

    def end(self, exception: str | None = None) -> None:
        """The handler is through, or says what it stumbled over."""
        if self.done.done():
            return
        if exception is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(HandlerFailed(self.dispatch.type, exception))


class LiveDispatch:
    """What a handler of this process is handed; see `handlers.Dispatch`.

    `facts` and `began` are for whoever makes a Run of it.
    """

    def __init__(
        self,
        window: Window,
        working: Working,
        facts: RoundFacts,
        *,
        began: Callable[[str], None],
        send: Callable[[Message], None],
        now: Callable[[], float],
    ) -> None:
        self.message, self.facts, self.began = window.dispatch, facts, began
        self.session = working.read()
        self._window, self._working, self._send, self._now = window, working, send, now

    @property
    def utterance(self) -> str:
        return str(self.message.data["utterance"])

    @property
    def lang(self) -> str:
        return str(self.message.data["lang"])

    @property
    def slots(self) -> dict[str, str]:
        return dict(self.message.data["slots"])

    async def emit(self, type: str, data: dict[str, Any] | None = None) -> None:
        said = data or {}
        self._catch_up()
        self._window.hear(type, said)
        self._send(self.message.forward(type, said).carrying(self.session))

    async def speak(self, text: str, *, lang: str | None = None, listen: bool = False) -> None:
        said: dict[str, Any] = {"utterance": text, "lang": lang or self.lang}
        if listen:
            said["listen"] = True
        await self.emit(topics.SPEAK, said)

    async def ask(self, question: str, *, seconds: float = 60.0) -> None:
        skill_id = self.message.skill_id
        self.session["response_mode"] = {"skill_id": skill_id, "expires_at": self._now() + seconds}
        await self.speak(question, listen=True)

    async def sync(self, fields: dict[str, Any]) -> None:
        if not is_json(fields):
            raise ValueError("what is told of a session must be JSON")
        self._catch_up()
        if not self._window.is_over:
            self._working.merge(fields)
            self._take_over()
        self._send(self.message.forward(topics.SYNC, {"session": copied(fields)}).carrying(self.session))

    def _catch_up(self) -> None:
        """What the handler did to its session counts from here on, upon what others did to it meanwhile.

        What it does once its round is over counts no more than what anybody says beside a round.
        """
        if not is_json(self.session):
            raise ValueError("what is put into a session must be JSON")
        if self._window.is_over:
            return
        self._window.adopt(self.session)
        self._take_over()

    def _take_over(self) -> None:
        self.session.clear()
        self.session.update(self._working.read())
        self._window.base = copied(self.session)

    def finish(self) -> None:
        """What the handler changed last counts as well, although nothing carried it."""
        self._catch_up()
