"""Talking to a server: from a message to its answer, at once or as it comes."""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from turnkeeper.client.part import Part
from turnkeeper.client.shapes import Reply, Run, Ticket, read
from turnkeeper.client.streams import Course, RunCourse, SessionCourse, Stream, behind
from turnkeeper.client.transport import Ask, Transport, at, new_key
from turnkeeper.errors import AnswerUnreadable, RunEnded
from turnkeeper.ledger.feed import Frame
from turnkeeper.ledger.saying import Saying
from turnkeeper.model.envelope import OnMissing
from turnkeeper.model.feed import FeedType
from turnkeeper.model.run import RunStatus
from turnkeeper.model.session import Custody, Freshness


@dataclass(slots=True, kw_only=True)
class ReplyCourse(Course):
    """What happens until a message is answered or a question comes back, whichever run does it.

    Until it is known which run that is, the same message is sent again; it is taken once. So it is for a session that
    the client keeps: no feed tells what it is to carry.
    """

    transport: Transport
    message: Ask | None = None
    run_id: str | None = None
    is_over: bool = False
    accepted: Frame | None = None
    ended: Frame | None = None

    def ask(self, last: int | None) -> Ask:
        if self.message is not None and (self.run_id is None or self._is_carried):
            return self.message
        return Ask(method="GET", path=at("runs", self.run_id, "feed"), headers=behind(last))

    @property
    def _is_carried(self) -> bool:
        return self.message is not None and self.message.body.get("custody") == Custody.CLIENT

    async def passed(self, frame: Frame) -> bool:
        if self.accepted is None:
            self.accepted, self.run_id = frame, frame.run_id
        if frame.type is FeedType.RUN_WAITING:
            self.is_over = (await self.run(frame.run_id)).status is RunStatus.WAITING
        elif frame.type.ends_a_run:
            follower = None if frame.type is FeedType.RUN_COMPLETED else (await self.run(frame.run_id)).follower
            self.run_id, self.is_over = follower or self.run_id, follower is None
            if follower is not None:
                return False
        if self.is_over:
            self.ended = frame
        return not self.is_over

    async def run(self, run_id: str | None) -> Run:
        return read(await self.transport.ask("GET", at("runs", run_id)), Run)


@dataclass(slots=True, kw_only=True)
class Sent:
    """A message that is on its way, or will be."""

    stream: Stream
    course: ReplyCourse

    @property
    def session_id(self) -> str | None:
        """The session that answers, as soon as anything was heard."""
        return self.stream.session_id

    async def frames(self) -> AsyncGenerator[Frame, None]:
        async with aclosing(self.stream.frames()) as frames:
            async for frame in frames:
                yield frame

    async def reply(self) -> Reply:
        """What was said in the end. Raises RunEnded when that is no answer."""
        if not self.course.is_over:
            async for _ in self.stream.frames():
                pass
        ended = self.course.ended
        assert ended is not None, "a stream that is over has come to an end"
        run = await self.course.run(ended.run_id)
        message = self.course.message
        if message is not None and not run.custody.is_ours and run.status is RunStatus.COMPLETED:
            # Its reply is with the request, and nowhere else.
            body = {name: value for name, value in message.body.items() if name != "stream"}
            return read(await self.course.transport.ask("POST", at("chat"), body=body, key=message.key), Reply)
        if (carried := ended.data.get("carried")) is not None:
            run = replace(run, result={"carried": carried})
        if not run.has_reply:
            raise RunEnded(run)  # type: ignore[arg-type]  # It has what this reads of a run.
        return await self._reply_of(run, ended.data)

    async def _reply_of(self, run: Run, said: Mapping[str, Any]) -> Reply:
        told = self.course.accepted.data if self.course.accepted else {}
        warnings, units = await warnings_of(self.course.transport, run)
        return Reply(
            session_id=run.session_id,
            run_id=run.id,
            status=run.status,
            text=run.text or "",
            turn=run.turn or said.get("turn"),
            finish=run.finish,
            created=told.get("created", False),
            replaced_session_id=told.get("replaced_session_id"),
            replaced_reason=told.get("replaced_reason"),
            merged=run.merged,
            carried=said.get("carried"),
            warnings=warnings,
            units=units,
            intent=said.get("intent"),
        )


async def warnings_of(transport: Transport, run: Run) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """The warnings of a run, and what became of units in it."""
    if run.status is RunStatus.WAITING:
        return (), {}
    told = await transport.ask("GET", at("runs", run.id, "explanation"), query={"level": "summary"})
    return tuple(told["warnings"]), told["units"]


class Talking(Part):
    """A message is taken once, however often it has to be sent."""

    async def chat(self, message: str, **asked: Any) -> Reply:
        """Send a message and wait for the answer. Raises TurnkeeperError with a stable `code`.

        Takes what `submit` takes. If the caller is cancelled, the run goes on.
        """
        body = _body(message, **asked)
        return read(await self._ask("POST", "chat", body=body, key=body["request_id"]), Reply)

    def stream(self, message: str, **asked: Any) -> AsyncGenerator[Frame, None]:
        """Send a message and hear what happens until it is answered or asked back. Takes what `submit` takes."""
        return self.sending(message, **asked).frames()

    def say(self, message: str, **asked: Any) -> Saying[Sent, Reply]:
        """Send a message and hear the answer as it is said: `async for piece in keeper.say("Hello")`.

        Takes what `submit` takes; `reply()` of what it gives waits for the end.
        """

        async def send() -> Sent:
            return self.sending(message, **asked)

        return Saying(send, Sent.frames, Sent.reply)

    async def submit(
        self,
        message: Any,
        *,
        attachments: Iterable[str] = (),
        session_id: str | None = None,
        agent: str | None = None,
        pack: str | None = None,
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
        freshness: str = Freshness.ANY,
    ) -> Ticket:
        """Send a message and return as soon as it is durable; the run goes on without the caller."""
        sent = self.sending(
            message,
            attachments=list(attachments),
            session_id=session_id,
            agent=agent,
            pack=pack,
            reset=reset,
            params=params,
            plugins=plugins,
            model=model,
            level=level,
            metadata=metadata,
            request_id=request_id,
            double_text=double_text,
            on_missing=on_missing,
            answers=answers,
            custody=custody,
            carried=carried,
            freshness=freshness,
        )
        return await self._ticket(sent, is_answer=answers is not None)

    async def invoke(self, document: Any) -> Ticket:
        """Send a full envelope (see the schema `envelope`) and return as soon as it is durable.

        One whose mode is `batch` has been answered by then.
        """
        key = new_key()
        if isinstance(document, Mapping):
            document = {"request_id": key, **document}
            key = document["request_id"]
        if isinstance(document, Mapping) and document.get("mode") == "stream":
            message = Ask(method="POST", path=at("invoke"), body=dict(document), key=key)
            return await self._ticket(self._sent(message), is_answer=False)
        told = await self._ask("POST", "invoke", body=document, key=key)
        run = await self.run(told["run_id"])
        reply = read(told, Reply) if "text" in told else None
        return Ticket(
            run=run,
            created=told["created"],
            replaced_session_id=told.get("replaced_session_id"),
            replaced_reason=told.get("replaced_reason"),
            is_answer=False,
            feed_no=run.feed_no,
            reply=reply,
        )

    async def reset(self, session_id: str, *, request_id: str | None = None) -> Reply:
        """Begin a new epoch: nothing said before is in reach of any later turn."""
        told = await self._ask("POST", "sessions", session_id, "reset", key=request_id or new_key())
        return read(told, Reply)

    async def reply_to(self, ticket: Ticket) -> Reply:
        """Wait for the answer to an accepted message. Raises RunEnded when the run has another end."""
        if ticket.reply is not None:
            return ticket.reply
        reply = await self._taken_up(ticket).reply()
        return replace(
            reply,
            created=ticket.created,
            replaced_session_id=ticket.replaced_session_id,
            replaced_reason=ticket.replaced_reason,
        )

    async def reply_of(self, run: Run) -> Reply | None:
        """What a run has answered or asked by now, without waiting; None when it has no reply, or none yet."""
        run = await self.run(run.id)
        if not run.has_reply:
            return None
        warnings, units = await warnings_of(self._transport, run)
        return Reply(
            session_id=run.session_id,
            run_id=run.id,
            status=run.status,
            text=run.text or "",
            turn=run.turn,
            finish=run.finish,
            merged=run.merged,
            warnings=warnings,
            units=units,
        )

    async def follow(self, run: Run, *, after: int | None = None) -> AsyncGenerator[Frame, None]:
        """What happens in a run until its end, from its beginning or from just after a number already seen."""
        stream = Stream(transport=self._transport, course=RunCourse(run_id=run.id), last=after)
        async with aclosing(stream.frames()) as frames:
            async for frame in frames:
                yield frame

    async def follow_reply(self, ticket: Ticket) -> AsyncGenerator[Frame, None]:
        """What happens until an accepted message is answered or a question comes back, whichever run does it."""
        async with aclosing(self._taken_up(ticket).frames()) as frames:
            async for frame in frames:
                yield frame

    async def follow_session(self, session_id: str, *, after: int | None = None) -> AsyncGenerator[Frame, None]:
        """What happens in a session from now on, or from just after a number already seen; without an end."""
        if after is None:
            after = await self.newest_feed_no(session_id)
        stream = Stream(transport=self._transport, course=SessionCourse(session_id=session_id), last=after)
        async with aclosing(stream.frames()) as frames:
            async for frame in frames:
                yield frame

    async def newest_feed_no(self, session_id: str) -> int:
        """Where the feed of a session stands now."""
        ask = Ask(method="GET", path=at("sessions", session_id, "feed"))
        async with self._transport.opened(ask, silent_seconds=5.0) as response:
            if "last-event-id" not in response.headers:
                raise AnswerUnreadable(self._transport.url, response.status_code)
            return int(response.headers["last-event-id"])

    async def cancel(self, run_id: str) -> Run:
        """Stop a run, wherever it is. Returns it as it is now; its end may still be on its way."""
        return read(await self._ask("POST", "runs", run_id, "cancel"), Run)

    async def run(self, run_id: str) -> Run:
        """Raises RunNotFound, also when its session belongs to somebody else."""
        return await self._get(Run, "runs", run_id)

    def sending(self, message: str, **asked: Any) -> Sent:
        """A message that is sent when its frames are first asked for."""
        body = _body(message, **asked)
        key = body["request_id"]
        return self._sent(Ask(method="POST", path=at("chat"), body={**body, "stream": True}, key=key))

    def _sent(self, message: Ask) -> Sent:
        course = ReplyCourse(transport=self._transport, message=message)
        return Sent(stream=Stream(transport=self._transport, course=course), course=course)

    async def _ticket(self, sent: Sent, *, is_answer: bool) -> Ticket:
        async with aclosing(sent.frames()) as frames:
            first = await anext(frames)
        return Ticket(
            run=await self.run(str(first.run_id)),
            created=first.data.get("created", False),
            replaced_session_id=first.data.get("replaced_session_id"),
            replaced_reason=first.data.get("replaced_reason"),
            is_answer=is_answer,
            feed_no=first.no,
            sent={"message": sent.course.message},
        )

    def _taken_up(self, ticket: Ticket) -> Sent:
        message = ticket.sent["message"] if ticket.sent else None
        course = ReplyCourse(transport=self._transport, message=message, run_id=ticket.run.id)
        stream = Stream(transport=self._transport, course=course, last=ticket.feed_no - 1)
        return Sent(stream=stream, course=course)


def _body(message: Any, *, request_id: str | None = None, **asked: Any) -> dict[str, Any]:
    said = {name: value for name, value in asked.items() if value is not None and value is not False}
    return {"message": message, **said, "request_id": request_id or new_key()}
