"""The orchestrator: hears everything on a bus, and sees each utterance that is its own through its round.

It keeps nothing of a named session once its round is over. `default` is another matter: it lives in the memory of the
one orchestrator that owns it.
"""

import asyncio
import contextlib
import hashlib
import json
import logging
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Self

from turnkeeper.bus import carrier, topics
from turnkeeper.bus.agents import Agents
from turnkeeper.bus.awaited import require_async
from turnkeeper.bus.chains import Chains
from turnkeeper.bus.claims import Claims
from turnkeeper.bus.device import OwnedDevice
from turnkeeper.bus.dispatching import Handlers, Registered
from turnkeeper.bus.handlers import Handler
from turnkeeper.bus.link import Link
from turnkeeper.bus.matching import Pipeline
from turnkeeper.bus.message import Message
from turnkeeper.bus.pipeline.converse import Converse
from turnkeeper.bus.pipeline.fallback import FallbackSkills, fallbacks
from turnkeeper.bus.pipeline.intents import Intents
from turnkeeper.bus.pipeline.stop import Stop, stop_everything
from turnkeeper.bus.plugins import GLOBAL_STOP, STOPPED, Claim, Listening, PipelinePlugin, Utterance
from turnkeeper.bus.queries import HOOKS, Queries
from turnkeeper.bus.recording import RoundRuns
from turnkeeper.bus.round import Desk, Round
from turnkeeper.bus.rules import BusRules
from turnkeeper.bus.topics import TOO_LARGE
from turnkeeper.bus.transformers import Transformer
from turnkeeper.bus.wire import PlainWire, Wire
from turnkeeper.bus.working import Session, named, of_device
from turnkeeper.errors import BusFrameTooLarge, TurnkeeperError
from turnkeeper.keeper import Turnkeeper
from turnkeeper.model.ids import UserId
from turnkeeper.model.principal import LOCAL, Principal, Role

log = logging.getLogger(__name__)

BUS = Principal(tenant=LOCAL.tenant, user=UserId("bus"), role=Role.MEMBER)
"""Who speaks through a bus, as the ledger knows it: a bus tells nobody apart, so nobody there is more than a member."""
OURS_TO_SAY = frozenset({"utterance_id", "skill_id", "pipeline_id", "canceled", "cancel_reason", "cancel_by"})
"""What an orchestrator stamps in a round; whatever came with the utterance is of another one, or made up."""
MARGIN_SECONDS, FOR_EVER_SECONDS = 10.0, 10 * 365 * 86_400.0
MOST_ECHOES = 1024
LAST_CLAIMS_SECONDS = 1.0
"""How long one that goes waits for the last utterances that may be its own."""


class Orchestrator:
    """Give it plugins, transformers and handlers, then put it on a bus: `async with orchestrator.on(url):`.

    `agents` are those of the keeper that may answer here, the first one where a session names no other as its
    persona; without any the pipeline has no such stage.
    """

    def __init__(
        self,
        keeper: Turnkeeper,
        *,
        agents: Sequence[str] = (),
        rules: BusRules | None = None,
        wire: Wire | None = None,
        principal: Principal = BUS,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._keeper, self.principal, self._now = keeper, principal, now
        self._rules, self._wire = rules or BusRules(), wire or PlainWire()
        self.id = f"orchestrator-{uuid.uuid4().hex[:12]}"
        self.intents = Intents()
        self._claims_of_skills: dict[str, Claim] = {}
        self._stops_of_skills: dict[str, Claim] = {}
        self._fallbacks = FallbackSkills()
        self._converse = Converse(claims=self._claims_of_skills)
        self._pipeline = Pipeline(seconds=self._rules.match_seconds, aliases=self._wire.stages)
        stop = Stop(claims=self._stops_of_skills)
        stages: tuple[PipelinePlugin, ...] = (stop, self._converse, self.intents, *fallbacks(self._fallbacks))
        for plugin in stages:
            self._pipeline.add(plugin)
        self._chains, self._handlers = Chains(seconds=self._rules.match_seconds), Handlers()
        self.handler("stop", GLOBAL_STOP)(stop_everything)
        self._add_agents(agents)
        self._device = OwnedDevice(keeper, principal)
        self._queries = Queries(
            pipeline=self._pipeline, chains=self._chains, converse=self._converse, device=self._device, now=now
        )
        self._desk = Desk(
            rules=self._rules,
            chains=self._chains,
            pipeline=self._pipeline,
            handlers=self._handlers,
            runs=RoundRuns(keeper, principal, seconds=_run_seconds(self._rules)),
            send=self._send,
            now=now,
        )
        self._claims = Claims(
            self.id,
            send=self._send,
            won=self._won,
            owned_by=self._owned_by,
            new_id=lambda: uuid.uuid4().hex,
            now=now,
            patience=self._rules.owner_seconds,
        )
        self._link: Link | None = None
        self._is_leaving, self._is_first = False, False
        self._rounds: dict[str, Round] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._echoes: Counter[bytes] = Counter()

    # --- what it is given

    def add_plugin(self, plugin: PipelinePlugin) -> None:
        """A stage of the pipeline, to be named in `pipeline` by its id. Raises ValueError."""
        self._pipeline.add(plugin)

    def add_transformer(self, transformer: Transformer) -> None:
        """Raises ValueError, also for one that belongs where there is sound; see `voice`."""
        if transformer.hook not in HOOKS:
            raise ValueError(
                f"nothing passes the hook {transformer.hook} here; give it to a voice.Input or voice.Output"
            )
        self._chains.add(transformer)

    def handler(self, skill_id: str, intent_name: str | None = None) -> Callable[[Handler], Handler]:
        """Have a function of this process handle an intent of a skill, or all that is for it. Raises ValueError."""

        def register(handler: Handler) -> Handler:
            require_async(handler, f"the handler of {skill_id}:{intent_name or '*'}")
            self._handlers.add(skill_id, intent_name, Registered(handle=handler))
            # It is here, so nobody need be asked over the bus what it would say.
            self._claims_of_skills.setdefault(skill_id, _never)
            self._stops_of_skills.setdefault(skill_id, self._has_stop_handler(skill_id))
            return handler

        return register

    def converses(self, skill_id: str) -> Callable[[Claim], Claim]:
        """Have a skill of this process asked whether it takes what is said while a conversation is with it.

        Raises ValueError.
        """

        def register(claim: Claim) -> Claim:
            require_async(claim, f"what {skill_id} is asked in a conversation")
            self._claims_of_skills[skill_id] = claim
            return claim

        return register

    def stops(self, skill_id: str) -> Callable[[Claim], Claim]:
        """Have a skill of this process asked whether there is something that it could stop. Raises ValueError."""

        def register(claim: Claim) -> Claim:
            require_async(claim, f"what {skill_id} is asked about stopping")
            self._stops_of_skills[skill_id] = claim
            return claim

        return register

    def falls_back(self, skill_id: str, *, priority: int = 50) -> Callable[[Claim], Claim]:
        """Have a skill of this process asked whether it takes what nobody else understood. Raises ValueError."""

        def register(claim: Claim) -> Claim:
            require_async(claim, f"what {skill_id} is asked as a fallback")
            self._fallbacks.add(skill_id, priority, claim)
            return claim

        return register

    def _has_stop_handler(self, skill_id: str) -> Claim:
        async def claim(utterance: Utterance) -> bool:
            return self._handlers.has(skill_id, STOPPED)

        return claim

    def _add_agents(self, names: Sequence[str]) -> None:
        if not names:
            return
        agents = Agents(self._keeper, self.principal, names, lang=self._rules.lang)
        self._pipeline.add(agents)
        for name in names:
            self._handlers.add(name, None, Registered(handle=agents.handle, records=True))
            self._handlers.add(name, STOPPED, Registered(handle=agents.stop))
            self._claims_of_skills[name] = _never
            self._stops_of_skills[name] = agents.can_stop

    # --- on a bus

    @asynccontextmanager
    async def on(self, url: str, *, token: str | None = None, is_first: bool = False) -> AsyncIterator[Self]:
        """Serve the utterances of a bus while this is open. Rounds that are on when it closes come to an end.

        Whoever has just opened the bus `is_first` on it, and need not look for the owner of `default`.
        """
        self._pipeline.review(self._rules.pipeline)
        self._joined, self._is_leaving, self._is_first = asyncio.Event(), False, is_first
        async with Link(
            url, token=token, on_message=self._heard, on_open=self._opened, on_break=self._claims.closed
        ) as link:
            self._link = link
            try:
                yield self
            finally:
                await self._let_go()
                self._claims.closed()
                self._link = None

    @property
    def owns_default(self) -> bool:
        """Whether the session of the device lives in this process."""
        return self._claims.owns_default

    async def joined(self, seconds: float | None = None) -> None:
        """Return once every utterance on the bus is served. Raises BusRefused or BusUnreachable."""
        assert self._link is not None, "it is on a bus"
        await self._link.opened(seconds)
        async with asyncio.timeout(seconds):
            await self._joined.wait()

    def leave(self) -> None:
        """Take no utterance from now on, so that others do; what is claimed is served, and rounds that are on go on."""
        self._is_leaving = True
        self._claims.leave()
        self._spawn(self._device.leave())

    async def _let_go(self) -> None:
        self.leave()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_CLAIMS_SECONDS):
                await self._claims.settled()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for round in tuple(self._rounds.values()):
            # It was stopped before it had begun.
            round.end()
        self._rounds.clear()
        await self._device.leave()

    def _opened(self) -> None:
        self._echoes.clear()
        if self._link is not None and not self._is_first:
            log.info("on the bus", extra={"bus": self._link.address})
        if not self._is_leaving:
            self._claims.opened(is_first=self._is_first)
            self._is_first = False

    def _send(self, message: Message) -> None:
        """Put it on the bus. A bus that is gone, or too slow, keeps no round from its end."""
        if self._link is None:
            return
        for each in self._wire.outbound(message):
            try:
                self._link.send(each)
            except TurnkeeperError as error:
                log.warning("message lost", extra={"topic": each.type, "code": error.code})
                if each.type == topics.HANDLED and isinstance(error, BusFrameTooLarge):
                    self._link.send(_without_session(each))
        if message.type == topics.SYNC and message.utterance_id in self._rounds and len(self._echoes) < MOST_ECHOES:
            self._echoes[_fingerprint(message)] += 1

    # --- what is heard

    def _heard(self, raw: Message) -> None:
        message = self._wire.inbound(raw)
        if message is None:
            return
        if self._claims.heard(message):
            if self._claims.is_settled:
                self._joined.set()
            return
        if message.type == topics.UTTERANCE:
            self._claims.entered(message, raw)
            return
        try:
            session = carrier.carried(message)
        except carrier.MalformedCarrier:
            log.warning("message dropped", extra={"topic": message.type, "reason": "malformed_carrier"})
            return
        if message.type == topics.SYNC:
            self._synced(message, session)
        elif not self._asked(message, session):
            self._overheard(message, session)

    def _overheard(self, message: Message, session: Session) -> None:
        """What is said while rounds are on, to a plugin or by a handler in another process."""
        for plugin in self._pipeline.plugins():
            if isinstance(plugin, Listening):
                plugin.heard(message)
        id = carrier.session_id_of(session)
        found = self._rounds.get(message.utterance_id or "")
        if found is not None and found.working.id == id:
            found.heard(message, session)
        elif message.utterance_id is None and message.type in (topics.DONE, topics.FAILED):
            self._through(message, id, session)

    def _through(self, message: Message, id: str, session: Session) -> None:
        """A handler elsewhere is through, and lost on its way which utterance it was: the newest one of its session."""
        for each in reversed(self._rounds.values()):
            if each.working.id == id and each.window and each.window.dispatch.skill_id == message.skill_id:
                each.through(message, session)
                return

    def _synced(self, message: Message, session: Session) -> None:
        """Somebody says what has changed in a session. What we said ourselves has counted by now."""
        print_ = _fingerprint(message)
        if print_ in self._echoes:
            self._echoes -= Counter((print_,))
            return
        fields, id = message.data.get("session"), carrier.session_id_of(session)
        if fields is None and id == carrier.DEFAULT:
            self._tell_default(message)
        elif not isinstance(fields, dict):
            log.warning("sync ignored", extra={"wire_type": carrier.wire_type(fields)})
        elif id != carrier.DEFAULT:
            for each in self._rounds.values():
                if each.working.id == id:
                    each.working.merge(fields)
        elif self._claims.owns_default and self._device.is_ready:
            of_device(self._device).merge(fields)
            self._spawn(self._device.keep())
        elif self._claims.owns_default:
            self._spawn(self._sync_later(fields))

    async def _sync_later(self, fields: Session) -> None:
        """What is kept is just being read, and would undo it."""
        await self._device.ready()
        of_device(self._device).merge(fields)
        await self._device.keep()

    def _asked(self, message: Message, session: Session) -> bool:
        """Whether it is a question about this orchestrator. Of several on a bus one answers."""
        answer = self._queries.answer(message, session) if message.type.endswith(".list") else None
        if answer is None:
            return False
        if self._claims.owns_default:
            self._send(message.response(answer))
        return True

    def _tell_default(self, message: Message) -> None:
        """What the device's session is now, for those who keep a copy of it."""
        if self._claims.owns_default:
            session = of_device(self._device).read()
            self._send(message.reply(topics.UPDATE_DEFAULT, {"session_data": session}).carrying(session))

    # --- rounds

    def _won(self, message: Message, utterance_id: str) -> None:
        try:
            session = carrier.carried(message)
        except carrier.MalformedCarrier:
            self._reject(message, utterance_id)
            return
        context = {name: value for name, value in message.context.items() if name not in OURS_TO_SAY}
        stamped = replace(message, context={**context, "utterance_id": utterance_id})
        working = of_device(self._device) if carrier.is_default(session) else named(session)
        round = Round(self._desk, stamped, working, utterance_id)
        if len(self._rounds) >= self._rules.rounds:
            round.refuse()
            return
        self._rounds[utterance_id] = round
        self._spawn(self._serve(round, session))

    def _reject(self, message: Message, utterance_id: str) -> None:
        """Never served as another session than the one that was meant."""
        log.warning("message dropped", extra={"topic": message.type, "reason": "malformed_carrier"})
        context = {"utterance_id": message.utterance_id} if message.utterance_id else {}
        told = {"msg_type": message.type, "reason": "malformed_carrier"}
        self._send(Message(type=topics.REJECTED, data=told, context=context))
        if self._rules.marks_dropped:
            ended = message.reply(topics.HANDLED)
            ended.context.pop("session", None)
            ended.context.setdefault("utterance_id", utterance_id)
            self._send(ended)

    async def _serve(self, round: Round, session: Session) -> None:
        if round.working.id == carrier.DEFAULT:
            await self._device.ready()
            round.working.merge(session)
        try:
            await round.run()
        finally:
            del self._rounds[round.utterance_id]
        if round.working.id == carrier.DEFAULT:
            self._tell_default(round.message)

    def _owned_by(self, who: str | None) -> None:
        self._device.owned(who, is_me=who == self.id)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _never(utterance: Utterance) -> bool:
    """It waits to be spoken to."""
    return False


def _run_seconds(rules: BusRules) -> float:
    """A Run must not be over before its handler is given up."""
    return rules.handler_seconds + MARGIN_SECONDS if rules.handler_seconds > 0 else FOR_EVER_SECONDS


def _without_session(ended: Message) -> Message:
    """A round has its end, also where its session does not fit on the bus any more.

    The end says so: whoever keeps the session keeps what it has.
    """
    id = carrier.session_id_of(ended.context.get("session") or {})
    return replace(ended, data={**ended.data, TOO_LARGE: True}).carrying({"session_id": id})


def _fingerprint(message: Message) -> bytes:
    said = json.dumps([message.utterance_id, message.skill_id, message.data], sort_keys=True)
    return hashlib.sha256(said.encode(errors="surrogatepass")).digest()
