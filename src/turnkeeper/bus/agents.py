"""Our own agents on the bus: a stage of the pipeline that has one of them answer."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from typing import Any

from turnkeeper.bus import topics
from turnkeeper.bus.carrier import CONVERSATION, is_default, session_id_of
from turnkeeper.bus.dispatching import LiveDispatch
from turnkeeper.bus.message import Message
from turnkeeper.bus.plugins import KnownIntent, Match, Utterance
from turnkeeper.errors import RunEnded
from turnkeeper.keeper import Turnkeeper
from turnkeeper.keeping.door import Ticket
from turnkeeper.model.principal import Principal
from turnkeeper.model.reply import Reply
from turnkeeper.model.run import RunStatus
from turnkeeper.model.session import Custody

log = logging.getLogger(__name__)

ANSWER = "answer"
ANSWER_SECONDS = 60.0
"""How long an agent that asked for something waits for the next utterance."""


class Agents:
    """Takes whatever comes to it. Which agent answers is the session's persona, if it is one of them, else the first.

    The conversation is where the session is: a client's travels as the field `turnkeeper` of its carrier, the
    device's stays with the device, where one turn comes after the other.
    """

    pipeline_id = "agents"

    def __init__(self, keeper: Turnkeeper, principal: Principal, names: Sequence[str], *, lang: str) -> None:
        if not names or any(not name or ":" in name for name in names):
            raise ValueError("the agents of a bus are named, and without a colon")
        self._keeper, self._principal, self.names, self._lang = keeper, principal, tuple(names), lang
        self._device = asyncio.Lock()
        self._at_work: dict[str, list[_Work]] = {}
        self._stopping: set[asyncio.Task[None]] = set()

    async def match(self, utterance: Utterance) -> Match | None:
        persona = utterance.session.get("persona_id")
        name = persona if persona in self.names else self.names[0]
        return Match(skill_id=name, intent_name=ANSWER, lang=utterance.lang, utterance=utterance.first)

    def intents(self) -> Sequence[KnownIntent]:
        return [KnownIntent(skill_id=name, intent_name=ANSWER, lang=self._lang) for name in self.names]

    async def can_stop(self, utterance: Utterance) -> bool:
        """Whether one of them is at work for this session."""
        return bool(self._at_work.get(session_id_of(utterance.session)))

    async def stop(self, dispatch: LiveDispatch) -> None:
        """The end of what they do for this session."""
        await self._stop_all(dispatch.facts.session_id)

    def heard(self, message: Message) -> None:
        """Everybody is to stop what they do for a session."""
        session = message.session
        if message.type == topics.STOP and (session is None or isinstance(session, dict)):
            stopping = asyncio.get_running_loop().create_task(self._stop_all(session_id_of(session or {})))
            self._stopping.add(stopping)
            stopping.add_done_callback(self._stopping.discard)

    async def _stop_all(self, session_id: str) -> None:
        for work in tuple(self._at_work.get(session_id, ())):
            work.is_stopped = True
            await self._stop(work)

    async def handle(self, dispatch: LiveDispatch) -> None:
        """A Run of the agent, and then what it said."""
        name = str(dispatch.message.skill_id)
        try:
            reply = await self._reply(dispatch, name)
        except RunEnded as ended:
            # A reset stands although the message that came with it failed.
            if ended.facts.get("carried"):
                dispatch.session[CONVERSATION] = {**ended.facts["carried"], "agent": name}
                await dispatch.sync({CONVERSATION: dispatch.session[CONVERSATION]})
            raise
        if reply.status is RunStatus.WAITING:
            # A session that its client keeps has no waiting runs, so nobody could ever answer this one.
            await self._keeper.cancel(reply.run_id, principal=self._principal)
        if reply.carried is not None and not is_default(dispatch.session):
            dispatch.session[CONVERSATION] = {**reply.carried, "agent": name}
        if reply.status is RunStatus.WAITING or (reply.intent or {}).get("missing"):
            await dispatch.ask(reply.text, seconds=ANSWER_SECONDS)
        elif reply.text:
            await dispatch.speak(reply.text)

    async def _reply(self, dispatch: LiveDispatch, name: str) -> Reply:
        one_at_a_time: AbstractAsyncContextManager[Any] = nullcontext()
        if is_default(dispatch.session):
            one_at_a_time = self._device
        async with one_at_a_time:
            with self._working(dispatch.facts.session_id) as work:
                ticket = await self._accepted(dispatch, name)
                work.run_id = ticket.run.id
                dispatch.began(ticket.run.id)
                if work.is_stopped:
                    await self._stop(work)
                try:
                    return await self._keeper.reply_to(ticket)
                except asyncio.CancelledError:
                    await self._stop(work)
                    raise

    async def _stop(self, work: "_Work") -> None:
        """One that is only just being taken in is stopped as soon as it is."""
        if work.run_id is not None:
            await self._keeper.cancel(work.run_id, principal=self._principal)

    @contextmanager
    def _working(self, session_id: str) -> Iterator["_Work"]:
        work = _Work()
        self._at_work.setdefault(session_id, []).append(work)
        try:
            yield work
        finally:
            self._at_work[session_id].remove(work)
            if not self._at_work[session_id]:
                del self._at_work[session_id]

    async def _accepted(self, dispatch: LiveDispatch, name: str) -> Ticket:
        """A conversation that cannot be read, of a newer turnkeeper perhaps, is refused and stays as it came."""
        facts = dispatch.facts
        carried = None if is_default(dispatch.session) else conversation_for(dispatch.session.get(CONVERSATION), name)
        return await self._keeper.submit(
            dispatch.utterance,
            agent=name,
            session_id=facts.ledger_id,
            custody=Custody.DEVICE if is_default(dispatch.session) else Custody.CLIENT,
            carried=carried,
            channel="bus",
            principal=self._principal,
            metadata=facts.metadata,
            before=facts.decided,
        )


class _Work:
    """What an agent does for a session, from before its Run has an id."""

    def __init__(self) -> None:
        self.run_id: str | None = None
        self.is_stopped = False


def conversation_for(conversation: Any, name: str) -> dict[str, Any] | None:
    """The conversation that a session brings. Where another agent's own memory stands is of no use to this one."""
    if not isinstance(conversation, dict) or not conversation:
        return None
    carried = {key: value for key, value in conversation.items() if key != "agent"}
    return carried if conversation.get("agent") == name else {**carried, "agent_head": None}
