"""Talking: from a message to its answer, at once or as it comes."""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from turnkeeper.errors import ShuttingDown, StoreUnavailable
from turnkeeper.keeping.door import Ticket
from turnkeeper.ledger.feed import Frame
from turnkeeper.ledger.saying import Saying
from turnkeeper.model.envelope import Command, OnMissing, Prior
from turnkeeper.model.feed import FeedType
from turnkeeper.model.ids import Subject
from turnkeeper.model.mode import Mode
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.model.reply import Reply
from turnkeeper.model.run import Run, RunStatus
from turnkeeper.model.session import Custody, Freshness
from turnkeeper.model.trace_context import TraceContext
from turnkeeper.steps.receive import Inbound
from turnkeeper.verbs.runs import Runs


class Talking(Runs):
    """Every message comes through one door, whatever its face."""

    async def chat(self, message: str, **asked: Any) -> Reply:
        """Send a message and wait for the answer. Raises TurnkeeperError with a stable `code`.

        Takes what `submit` takes. If the caller is cancelled, the run goes on.
        """
        return await self.reply_to(await self.submit(message, **asked))

    async def submit(
        self,
        message: Any,
        *,
        attachments: Iterable[str] = (),
        session_id: str | None = None,
        agent: str | None = None,
        pack: str | None = None,
        principal: Principal = LOCAL,
        reset: bool = False,
        params: Any = None,
        plugins: Any = None,
        model: Any = None,
        level: Any = None,
        metadata: Any = None,
        request_id: str | None = None,
        double_text: str | None = None,
        on_missing: str = OnMissing.NEW,
        answers: str | None = None,
        custody: str = Custody.ENGINE,
        carried: Any = None,
        channel: str = "app_chat",
        mode: str = Mode.BATCH,
        trace_id: str | None = None,
        trace: TraceContext | None = None,
        before: Iterable[Mapping[str, Any]] = (),
        freshness: str = Freshness.ANY,
    ) -> Ticket:
        """Send a message and return as soon as it is durable; the run goes on without the caller.

        `attachments` are the ids of artifacts that go with it; one that the caller may not read raises
        ArtifactNotFound. `pack` (`id`, or `id@version`) is what a new session is pinned to; of a session that is pinned
        it must be the same. `plugins` (an id for each kind), `model` and `level` choose for this turn; what really ran
        becomes what the session would rather use next. `before` is what was decided about the message before it came
        here, each with a `name` in capitals and its `data`; the Explanation of its run begins with that. `freshness`
        "strict" takes no older `carried` than the newest one that was given out under it.
        """
        inbound = Inbound(
            message=message,
            session_id=session_id,
            agent=agent,
            pack=pack,
            reset=reset,
            params={} if params is None else params,
            plugins=plugins,
            model=model,
            level=level,
            metadata={} if metadata is None else metadata,
            request_id=request_id,
            double_text=double_text,
            on_missing=on_missing,
            answers=answers,
            custody=custody,
            carried=carried,
            channel=channel,
            mode=mode,
            trace_id=trace_id,
            trace=trace,
            before=tuple(Prior(**each) for each in before),
            freshness=freshness,
        )
        return await self.accept(inbound, principal, attachments=tuple(attachments))

    async def stream(self, message: Any, **asked: Any) -> AsyncGenerator[Frame, None]:
        """Send a message and hear what happens until it is answered or asked back. Takes what `submit` takes."""
        async with aclosing(self.follow_reply(await self.submit(message, **asked))) as frames:
            async for frame in frames:
                yield frame

    def say(self, message: Any, **asked: Any) -> Saying[Ticket, Reply]:
        """Send a message and hear the answer as it is said: `async for piece in keeper.say("Hello")`.

        Takes what `submit` takes; `reply()` of what it gives waits for the end.
        """
        return Saying(lambda: self.submit(message, **asked), self.follow_reply, self.reply_to)

    async def invoke(
        self, document: Any, *, principal: Principal = LOCAL, signals: Mapping[str, Any] | None = None
    ) -> Ticket:
        """Send a full envelope (see the schema `envelope`) and return as soon as it is durable.

        `signals` are what the channel knows beyond the words; they win over those in the envelope.
        """
        return await self._invoking(document, principal, signals=signals)

    async def accept(self, inbound: Inbound, principal: Principal, **about: Any) -> Ticket:
        """Take in what a face has written down; see `keeping.door`."""
        return await self._door.accept(inbound, principal, **about)

    async def reset(
        self,
        session_id: str,
        *,
        principal: Principal = LOCAL,
        request_id: str | None = None,
        trace_id: str | None = None,
    ) -> Reply:
        """Begin a new epoch: nothing said before is in reach of any later turn."""
        inbound = Inbound(
            command=Command.RESET,
            session_id=session_id,
            request_id=request_id,
            on_missing=OnMissing.ERROR,
            trace_id=trace_id,
        )
        return await self._perform(inbound, principal)

    async def reply_to(self, ticket: Ticket) -> Reply:
        """Wait for the answer to an accepted message. Raises RunEnded when the run has another end."""
        reply = None
        if ticket.live is not None:
            reply = await ticket.live.ended()
        if reply is None:
            reply = await self._outcome(ticket.run)
        if not ticket.created and ticket.replaced_session_id is None:
            return reply
        return replace(
            reply,
            created=ticket.created,
            replaced_session_id=ticket.replaced_session_id,
            replaced_reason=ticket.replaced_reason,
        )

    async def reply_of(self, run: Run) -> Reply | None:
        """What a run has answered or asked by now, without waiting; None when it has no reply, or none yet."""
        if run.status not in (RunStatus.COMPLETED, RunStatus.WAITING) and run.turn is None:
            return None
        return await self._outcomes.reply_of(run)

    async def follow(self, run: Run, *, after: int | None = None) -> AsyncGenerator[Frame, None]:
        """What happens in a run until its end, from its beginning or from just after a number already seen."""
        begin, until = run.feed_no - 1, None
        if after is not None:
            newest = await self._store.feed.last_no(run.tenant, run.subject)
            begin = min(after, newest)
            # Read in this order: the end of a run that is open now has a higher number than the newest.
            run = await self._store.runs.get(run.tenant, run.id)
            until = None if run.status.is_open else newest
        followed = self._feed.follow(run.tenant, run.subject, after=begin, run_id=run.id, until=until)
        async with aclosing(followed) as frames:
            async for frame in frames:
                yield frame

    async def follow_reply(self, ticket: Ticket) -> AsyncGenerator[Frame, None]:
        """What happens until an accepted message is answered or a question comes back, whichever run does it."""
        run, after = ticket.run, ticket.run.feed_no - 1
        if ticket.is_answer:
            # The run has a past; what this answer causes begins where it was answered.
            after = await self._outcomes.answered_no(run) - 1
        while True:
            async with aclosing(self._feed.follow(run.tenant, run.subject, after=after, run_id=run.id)) as frames:
                async for frame in frames:
                    yield frame
                    after = frame.no
                    if frame.type is FeedType.RUN_WAITING and await self._is_waiting(run):
                        return
            follower = await self._outcomes.follower_of(run)
            if follower is None:
                return
            run = follower

    async def newest_feed_no(self, session_id: str, *, principal: Principal = LOCAL) -> int:
        """Where the feed of a session stands now."""
        session = await self.session(session_id, principal=principal)
        return await self._store.feed.last_no(session.tenant, Subject(session.id))

    async def follow_session(
        self, session_id: str, *, principal: Principal = LOCAL, after: int | None = None
    ) -> AsyncGenerator[Frame, None]:
        """What happens in a session from now on, or from just after a number already seen; without an end."""
        session = await self.session(session_id, principal=principal)
        subject = Subject(session.id)
        newest = await self._store.feed.last_no(session.tenant, subject)
        begin = newest if after is None else min(after, newest)
        async with aclosing(self._feed.follow(session.tenant, subject, after=begin)) as frames:
            async for frame in frames:
                yield frame

    async def _perform(self, inbound: Inbound, principal: Principal) -> Reply:
        return await self.reply_to(await self.accept(inbound, principal))

    async def _outcome(self, run: Run) -> Reply:
        try:
            return await self._outcomes.of(run)
        except StoreUnavailable:
            if self._accepting:
                raise
            raise ShuttingDown from None

    async def _is_waiting(self, run: Run) -> bool:
        return (await self._store.runs.get(run.tenant, run.id)).status is RunStatus.WAITING
