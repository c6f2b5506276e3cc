"""One round: an utterance goes through transformers and pipeline to its handler, and has exactly one end."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from turnkeeper.bus import context, language, recency, topics
from turnkeeper.bus.chains import Chains, Composed
from turnkeeper.bus.dispatching import NOT_THE_HANDLERS, Handlers, LiveDispatch, Registered, Window
from turnkeeper.bus.matching import Found, Pipeline, updated
from turnkeeper.bus.message import Message
from turnkeeper.bus.plugins import NOT_ACTIVATING, Match, Utterance
from turnkeeper.bus.polling import Polls
from turnkeeper.bus.recording import RoundFacts, RoundRuns
from turnkeeper.bus.rules import BusRules
from turnkeeper.bus.transformers import Hook
from turnkeeper.bus.working import Working
from turnkeeper.errors import (
    HandlerFailed,
    HandlerTimedOut,
    TurnkeeperError,
    UtteranceCancelled,
    UtteranceUnmatched,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What every round of an orchestrator has at hand."""

    rules: BusRules
    chains: Chains
    pipeline: Pipeline
    handlers: Handlers
    runs: RoundRuns
    send: Callable[[Message], None]
    now: Callable[[], float]


@dataclass(slots=True)
class Round:
    """`message` is the utterance as it is by now; whatever is derived from it carries the session as it is by then."""

    desk: Desk
    message: Message
    working: Working
    utterance_id: str
    window: Window | None = None
    handler_is_here: bool = False
    run_id: str | None = None
    _is_over: bool = False
    polls: Polls = field(init=False)
    _chains: Composed = field(init=False)
    _decided: list[Mapping[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.polls = Polls(lambda topic, data: self._emit(self.message.reply(topic, data)))

    async def run(self) -> None:
        """To its end marker, whatever happens on the way."""
        try:
            self._chains = self.desk.chains.composed(self.working.read())
            await self._walk()
            await self.working.keep()
        except TurnkeeperError as error:
            # No Run could be made of it; what the client sees is the same as ever.
            log.warning("round not recorded", extra={"utterance_id": self.utterance_id, "code": error.code})
        except Exception:
            log.exception("round failed", extra={"utterance_id": self.utterance_id})
        finally:
            self.end()

    def refuse(self) -> None:
        """There are too many at once."""
        log.warning("utterance refused", extra={"utterance_id": self.utterance_id, "reason": "too many rounds"})
        self._emit(self.message.reply(topics.UNMATCHED, dict(self.message.data)))
        self.end()

    def end(self) -> None:
        """Once. The end marker says under which id the round can be explained."""
        if self._is_over:
            return
        self._is_over = True
        if self.window is not None:
            self.window.is_over = True
        self._emit(self._last().forward(topics.HANDLED, {"run_id": self.run_id} if self.run_id else {}))

    def _last(self) -> Message:
        return self.window.dispatch if self.window else self.message.reply(topics.HANDLED)

    async def _walk(self) -> None:
        try:
            await self._transform_utterance()
            match, pipeline_id = await self._match()
            match = await self._transform_match(match)
        except UtteranceUnmatched as unmatched:
            await self._end_unhandled(unmatched, topics.UNMATCHED, self.message.data)
            return
        except UtteranceCancelled as off:
            told = {"cancel_reason": off.facts["reason"], "cancel_by": off.facts["cancelled_by"]}
            await self._end_unhandled(off, topics.CANCELLED, told)
            return
        await self._hand_over(match, self._dispatch_of(match, pipeline_id))

    # --- from the words to a match

    async def _transform_utterance(self) -> None:
        heard = _listed(self.message.data.get("utterances"))
        said = [each for each in heard if isinstance(each, str) and each.strip()]
        said = list(await self._chained(Hook.UTTERANCE, said))
        self.message = replace(self.message, data={**self.message.data, "utterances": said})
        await self._chained(Hook.METADATA, None)

    async def _chained(self, hook: Hook, artifact: Any) -> Any:
        """What the transformers of a hook make of it. Raises UtteranceCancelled."""
        base = self.working.read()
        lang = self.message.data.get("lang")
        given = {**self.message.context, "session": base}
        chained = await self._chains.run(hook, artifact, given, lang if isinstance(lang, str) else None)
        session = chained.context.pop("session", None)
        self.working.replace(base, base if session is None else session)
        data = self.message.data if chained.lang is None else {**self.message.data, "lang": chained.lang}
        self.message = replace(self.message, data=data, context=chained.context)
        if chained.touched_by:
            self._note("BUS_TRANSFORMED", hook=hook.value, by=list(chained.touched_by))
        if chained.cancelled_by is not None:
            raise UtteranceCancelled(chained.cancelled_by, str(chained.context["cancel_reason"]))
        return chained.artifact

    async def _match(self) -> tuple[Match, str]:
        """The first match that holds, and the stage that made it. Raises UtteranceUnmatched."""
        desk, now = self.desk, self.desk.now()
        self.working.change(lambda session: context.pruned(session, now))
        before = self.working.read()
        candidates = tuple(self.message.data["utterances"])
        found = Found()
        if candidates:
            stages = desk.pipeline.effective(before, before.get("pipeline") or desk.rules.pipeline)
            lang = language.resolved(self.message.data, before, desk.rules.languages, desk.rules.lang)
            said = Utterance(candidates=candidates, lang=lang, session=before, now=now, poll=self.polls)
            found = await desk.pipeline.find(stages, said)
        if found.match is not None:
            self.working.replace(before, updated(found.match, before))
        self.working.change(lambda session: context.capped(context.decremented(session, before)))
        self._note("BUS_ASKED", **{each.stage: each.told for each in found.asked})
        if found.match is None or found.pipeline_id is None:
            raise UtteranceUnmatched
        self._note("BUS_MATCHED", topic=found.match.topic, pipeline_id=found.pipeline_id, lang=found.match.lang)
        return found.match, found.pipeline_id

    async def _transform_match(self, match: Match) -> Match:
        transformed: Match = await self._chained(Hook.INTENT, match)
        return transformed

    # --- from a match to its end

    def _dispatch_of(self, match: Match, pipeline_id: str) -> Message:
        """What is sent to the handler. From here on the session knows whom it has to do with."""
        now = self.desk.now()
        if match.intent_name not in NOT_ACTIVATING:
            self.working.change(lambda session: recency.activated(session, match.skill_id, now))
        self.working.change(lambda session: recency.stamped(session, match.skill_id, now))
        said = {"lang": match.lang, "utterance": match.utterance, "slots": dict(match.slots)}
        dispatch = self.message.reply(match.topic, said)
        stamped = {**dispatch.context, "skill_id": match.skill_id, "pipeline_id": pipeline_id}
        return replace(dispatch, context=stamped)

    async def _hand_over(self, match: Match, dispatch: Message) -> None:
        about = {"skill_id": match.skill_id, "intent_name": match.intent_name}
        pipeline_id = dispatch.context["pipeline_id"]
        matched = {**about, "lang": match.lang, "utterance": match.utterance, "slots": dict(match.slots)}
        self.window = Window(dispatch, self.working)
        self._emit(dispatch.forward(topics.MATCHED, {**matched, "pipeline_id": pipeline_id}))
        self._emit(dispatch.forward(topics.START, about))
        try:
            await self._perform(match, about | {"pipeline_id": pipeline_id})
        except asyncio.CancelledError:
            self._emit(dispatch.forward(topics.ERROR, {**about, "exception": "stopped"}))
            raise
        except TurnkeeperError as error:
            exception = error.exception if isinstance(error, HandlerFailed | HandlerTimedOut) else error.detail
            self._emit(dispatch.forward(topics.ERROR, {**about, "exception": exception}))
        else:
            self._emit(dispatch.forward(topics.COMPLETE, about))

    async def _perform(self, match: Match, about: dict[str, str]) -> None:
        registered = self.desk.handlers.of(match)
        self.handler_is_here = registered is not None
        facts = self.facts(match.utterance, about)
        if registered is not None and registered.records:
            await self._handled(registered, facts)
        else:
            await self.desk.runs.perform(facts, lambda: self._handled(registered, facts), began=self._began)

    async def _handled(self, registered: Registered | None, facts: RoundFacts) -> str:
        """Dispatch, and wait until the handler is through. Gives what was spoken; raises what it stumbled over."""
        window, desk = self.window, self.desk
        assert window is not None, "who is handled has been dispatched"
        window.base = self.working.read()
        self._emit(window.dispatch)
        seconds = desk.rules.handler_seconds
        try:
            async with asyncio.timeout(seconds if seconds > 0 else None) as limit:
                if registered is None:
                    await window.done
                else:
                    live = LiveDispatch(window, self.working, facts, began=self._began, send=desk.send, now=desk.now)
                    await self._handle_here(registered, live)
        except TimeoutError as error:
            if limit.expired():
                raise HandlerTimedOut(window.dispatch.type, seconds) from error
            raise HandlerFailed(window.dispatch.type, repr(error)) from error
        return "\n".join(window.spoken)

    async def _handle_here(self, registered: Registered, live: LiveDispatch) -> None:
        try:
            await registered.handle(live)
            if self.desk.rules.syncs_at_completion:
                live.finish()
        except (TurnkeeperError, TimeoutError):
            raise
        except Exception as error:
            log.warning("handler failed", exc_info=True, extra={"topic": live.message.type})
            raise HandlerFailed(live.message.type, f"{type(error).__name__}: {error}") from error

    async def _end_unhandled(self, error: TurnkeeperError, topic: str, data: Mapping[str, Any]) -> None:
        """Nobody is to handle it; that is written down, and then said."""

        async def tell() -> str:
            raise error

        try:
            await self.desk.runs.perform(self.facts(_first(self.message.data)), tell, began=self._began)
        except TurnkeeperError as ended:
            if ended is not error:
                log.warning("round not recorded", extra={"utterance_id": self.utterance_id, "code": ended.code})
        self._emit(self.message.reply(topic, dict(data)))

    def _began(self, run_id: str) -> None:
        self.run_id = run_id

    def facts(self, utterance: str, about: Mapping[str, str] | None = None) -> RoundFacts:
        return RoundFacts(
            session_id=self.working.id,
            utterance_id=self.utterance_id,
            utterance=utterance,
            decided=tuple(self._decided),
            about=about or {},
        )

    # --- what others say while the round is on

    def heard(self, message: Message, session: dict[str, Any]) -> None:
        """Something that belongs to this round: an answer to a poll, or a word of its handler elsewhere."""
        if self.polls.answered(message) or self.window is None or self.handler_is_here:
            return
        if message.type in NOT_THE_HANDLERS or message.skill_id != self.window.dispatch.skill_id:
            return
        if message.type in (topics.DONE, topics.FAILED):
            self.through(message, session)
        elif message.type != self.window.dispatch.type:
            self.window.adopt(session)
            self.window.hear(message.type, message.data)

    def through(self, message: Message, session: dict[str, Any]) -> None:
        """The handler in another process says that it is through."""
        if self.window is None or self.handler_is_here:
            return
        if self.desk.rules.syncs_at_completion:
            self.window.adopt(session)
        if message.type == topics.DONE:
            self.window.end()
        else:
            self.window.end(str(message.data.get("exception") or "it did not say why"))

    def _emit(self, message: Message) -> None:
        self.desk.send(message.carrying(self.working.read()))

    def _note(self, stage: str, /, **data: Any) -> None:
        self._decided.append({"name": stage, "data": data})


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _first(data: Mapping[str, Any]) -> str:
    said = _listed(data.get("utterances"))
    return str(said[0]) if said else ""
