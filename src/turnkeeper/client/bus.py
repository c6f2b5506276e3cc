"""Talking over a message bus as a client that keeps its own session.

The client is the only one who remembers a named session. It sends all of it with every message, takes over what others
made of it, and can go on at any time, also years later or with another orchestrator.
"""

import asyncio
import copy
import logging
import re
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Any, Literal, Self

from turnkeeper.bus import topics
from turnkeeper.bus.carrier import DEFAULT, MalformedCarrier, carried, fields_of, merged, replaced, session_id_of
from turnkeeper.bus.link import Link
from turnkeeper.bus.message import Message
from turnkeeper.client.carried import MemoryKeep, SessionKeep
from turnkeeper.errors import BusUnreachable

log = logging.getLogger(__name__)

URL = "ws://127.0.0.1:8181/core"

SAID = "turnkeeper_said"
"""Says which of our utterances a message belongs to. It travels with the context, whoever answers."""
TWIN = "_namespace_compat_twin"
"""Marks the copy of a message under its old name, for those who know no other."""
OLD_UTTERANCE = "recognizer_loop:utterance"
NEW_NAMES = {"speak": topics.SPEAK, "complete_intent_failure": topics.UNMATCHED, topics.FAILED: topics.ERROR}

_TIMEOUT = re.compile(r"timed? ?out\b", re.IGNORECASE)

SILENT_SECONDS = 2.0
ECHOES = 1_000


class End(StrEnum):
    """How a round may end."""

    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    UNMATCHED = "unmatched"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of an utterance. `error` is what the handler failed with, or why the round was called off.

    `run_id` is under what a turnkeeper can explain it.
    """

    spoken: tuple[str, ...]
    end: End
    utterance_id: str | None = None
    skill_id: str | None = None
    intent_name: str | None = None
    error: str | None = None
    is_question: bool = False
    run_id: str | None = None

    @property
    def text(self) -> str:
        return "\n".join(self.spoken)


@dataclass(slots=True, kw_only=True)
class _Asked:
    """An utterance that is under way, and what was heard of it so far."""

    id: str
    base: dict[str, Any]
    answer: "asyncio.Future[Answer]"
    is_taken_up: asyncio.Event = field(default_factory=asyncio.Event)
    hears_new_names: bool = False
    utterance_id: str | None = None
    spoken: list[str] = field(default_factory=list)
    end: End = End.COMPLETED
    skill_id: str | None = None
    intent_name: str | None = None
    error: str | None = None
    is_question: bool = False


class BusClient:
    """Takes part in a bus with one session.

    `keep` is where the session stays between messages. `adopt` says what is taken over from others: what a round ended
    with (`handled`), or whatever was heard last (`latest`). Changes told by `ovos.session.sync` always count. The
    session `default` is kept by the orchestrator: then this client sends what `change` was told, and adopts nothing.

    `legacy` speaks to assistants that know the old names of topics only; None finds out: what nobody takes up within
    `silent_seconds` is said again under its old name, and who knows both names leaves that copy alone.
    """

    def __init__(
        self,
        url: str = URL,
        *,
        session_id: str = DEFAULT,
        keep: SessionKeep | None = None,
        adopt: Literal["handled", "latest"] = "handled",
        token: str | None = None,
        source: str = "turnkeeper-client",
        legacy: bool | None = None,
        silent_seconds: float = SILENT_SECONDS,
        on_message: Callable[[Message], None] | None = None,
    ) -> None:
        if not session_id:
            raise ValueError("a session has an id; leave it out for the default session")
        self.session_id = session_id
        self._keep = keep if keep is not None else MemoryKeep()
        self._adopts_latest = adopt == "latest"
        self._source, self._legacy, self._silent_seconds = source, legacy, silent_seconds
        self._on_message = on_message
        self._session: dict[str, Any] = {}
        self._asked: dict[str, _Asked] = {}
        self._echoes: deque[Message] = deque(maxlen=ECHOES)
        self._link = Link(url, token=token, on_message=self._heard)
        self._changed = asyncio.Event()
        self._saving: asyncio.Task[None] | None = None
        self._in_flight = asyncio.Lock()
        self._saved: dict[str, Any] | None = None
        self._is_closing = False

    @property
    def is_default(self) -> bool:
        return self.session_id == DEFAULT

    @property
    def session(self) -> dict[str, Any]:
        """The session as this client would send it now; a copy."""
        return copy.deepcopy(self._session)

    async def __aenter__(self) -> Self:
        if not self.is_default:
            kept = await asyncio.to_thread(self._keep.load, self.session_id)
            self._session = {**(kept or {}), "session_id": self.session_id}
            self._saved = kept
            self._saving = asyncio.create_task(self._keep_saving(), name="bus-client-saving")
        await self._link.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End, with everything kept. Whoever still waits for an answer is told that there will be none."""
        await self._link.close()
        for asked in self._asked.values():
            if not asked.answer.done():
                asked.answer.set_exception(BusUnreachable("this client was closed"))
        if self._saving is not None:
            self._is_closing = True
            self._changed.set()
            await self._saving
            self._saving = None

    async def connected(self, seconds: float | None = None) -> None:
        """Return once there is a connection. Raises BusRefused and BusUnreachable."""
        await self._link.opened(seconds)

    def change(self, **fields: Any) -> None:
        """Set fields of the session from here on; None takes one out."""
        for name, value in fields.items():
            if name == "session_id":
                raise ValueError("the id of a session stays; another session is another client")
            if value is None:
                self._session.pop(name, None)
            else:
                self._session[name] = copy.deepcopy(value)
        self._changed.set()

    def emit(self, type: str, data: dict[str, Any] | None = None, **context: Any) -> None:
        """Say something with the session. Raises BusBacklogged when too much waits for a connection."""
        message = Message(type=type, data=data or {}, context={"source": self._source, **context})
        message = message.carrying(self._session)
        self._link.send(message)
        self._echoes.append(message)

    async def say(self, text: str | Sequence[str], *, lang: str | None = None, seconds: float = 60.0) -> Answer:
        """Say an utterance, or several guesses at what it was, and wait for what comes of it.

        Raises TimeoutError when its end was not heard within so many seconds. Several may be under way at once.
        """
        asked = _Asked(id=uuid.uuid4().hex, base=self.session, answer=asyncio.get_running_loop().create_future())
        self._asked[asked.id] = asked
        data: dict[str, Any] = {"utterances": [text] if isinstance(text, str) else list(text)}
        if lang is not None:
            data["lang"] = lang
        try:
            async with asyncio.timeout(seconds):
                self.emit(OLD_UTTERANCE if self._legacy else topics.UTTERANCE, data, **{SAID: asked.id})
                if self._legacy is None:
                    await self._find_out(asked, data)
                answer = await asked.answer
        finally:
            del self._asked[asked.id]
        await self._save()
        return answer

    async def saved(self) -> None:
        """Return once what the session is now is kept. Raises what the keep raises."""
        if self.is_default:
            return
        async with self._in_flight:
            if self._saved != self._session:
                session = self.session
                await asyncio.to_thread(self._keep.save, self.session_id, session)
                self._saved = session

    async def _find_out(self, asked: _Asked, data: dict[str, Any]) -> None:
        try:
            async with asyncio.timeout(self._silent_seconds):
                await asked.is_taken_up.wait()
            return
        except TimeoutError:
            self.emit(OLD_UTTERANCE, data, **{SAID: asked.id, TWIN: True})

    async def _keep_saving(self) -> None:
        while not self._is_closing:
            await self._changed.wait()
            self._changed.clear()
            await self._save()

    async def _save(self) -> None:
        try:
            await self.saved()
        except Exception:
            log.exception("session not kept")

    # --- what is heard

    def _heard(self, message: Message) -> None:
        if message in self._echoes:
            self._echoes.remove(message)
        else:
            self._follow(message)
        if self._on_message is not None:
            self._on_message(message)

    def _follow(self, message: Message) -> None:
        try:
            session = carried(message)
        except MalformedCarrier:
            return
        is_own = session_id_of(session) == self.session_id
        asked = self._belongs_to(message, is_own=is_own)
        if is_own and not self.is_default and message.data.get(topics.TOO_LARGE) is not True:
            self._adopt(message, session, asked)
        if asked is not None:
            self._note(asked, message)

    def _adopt(self, message: Message, session: dict[str, Any], asked: _Asked | None) -> None:
        if message.type == topics.SYNC:
            told = message.data.get("session")
            if isinstance(told, dict):
                self._become(merged(self._session, told))
        elif message.type == topics.HANDLED or self._adopts_latest:
            if asked is not None:
                self._become(replaced(self._session, asked.base, session))
                asked.base = session
            elif message.type == topics.HANDLED:
                self._become(session)
            else:
                self._become(merged(self._session, session))

    def _become(self, session: dict[str, Any]) -> None:
        self._session = {**fields_of(session), "session_id": self.session_id}
        self._changed.set()

    def _belongs_to(self, message: Message, *, is_own: bool) -> _Asked | None:
        """By the mark that travels with it, else by the id of the utterance, else as the only one under way."""
        asked = self._asked.get(str(message.context.get(SAID)))
        if asked is None and message.utterance_id is not None:
            return next((each for each in self._asked.values() if each.utterance_id == message.utterance_id), None)
        if asked is None and is_own and not self.is_default and len(self._asked) == 1:
            (asked,) = self._asked.values()
        return asked

    def _note(self, asked: _Asked, message: Message) -> None:
        if asked.utterance_id is None:
            asked.utterance_id = message.utterance_id
        elif message.utterance_id not in (None, asked.utterance_id):
            return  # a round within ours, which ends by itself
        if TWIN not in message.context:
            asked.hears_new_names = True
        elif asked.hears_new_names:
            return  # the same was said under its new name
        asked.is_taken_up.set()
        match NEW_NAMES.get(message.type, message.type):
            case topics.SPEAK:
                asked.spoken.append(str(message.data.get("utterance", "")))
                asked.is_question = bool(message.data.get("listen") or message.data.get("expect_response"))
            case topics.MATCHED:
                asked.skill_id, asked.intent_name = message.data.get("skill_id"), message.data.get("intent_name")
            case topics.UNMATCHED:
                asked.end = End.UNMATCHED
            case topics.CANCELLED:
                asked.end, asked.error = End.CANCELLED, message.data.get("cancel_reason")
            case topics.ERROR:
                asked.error = str(message.data.get("exception", ""))
                asked.end = End.TIMED_OUT if _TIMEOUT.match(asked.error) else End.FAILED
            case topics.HANDLED:
                run_id = message.data.get("run_id")
                self._ended(asked, run_id if isinstance(run_id, str) else None)

    def _ended(self, asked: _Asked, run_id: str | None) -> None:
        if self._legacy is None:
            self._legacy = not asked.hears_new_names
        if not asked.answer.done():
            asked.answer.set_result(
                Answer(
                    spoken=tuple(asked.spoken),
                    end=asked.end,
                    utterance_id=asked.utterance_id,
                    skill_id=asked.skill_id,
                    intent_name=asked.intent_name,
                    error=asked.error,
                    is_question=asked.is_question,
                    run_id=run_id,
                )
            )
