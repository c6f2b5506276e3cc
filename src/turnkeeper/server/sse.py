"""The feed as server-sent events: one frame an event, resumable, never read faster than it is taken."""

import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any

import msgspec
from fastapi import Depends, Header, Query
from pydantic import WithJsonSchema
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Receive, Scope, Send

from turnkeeper.errors import RunNotFound, StoreUnavailable
from turnkeeper.keeper import Turnkeeper
from turnkeeper.ledger.feed import Dropped, Frame
from turnkeeper.model.ids import RunId
from turnkeeper.model.principal import Principal
from turnkeeper.server.closing import Closing
from turnkeeper.server.errors import invalid_header
from turnkeeper.server.parameters import LARGEST_NO

log = logging.getLogger(__name__)

STREAM_BROKEN = "stream.broken"
Number = Annotated[str, WithJsonSchema({"type": "string", "pattern": "^[0-9]{1,15}$"})]

More = Callable[[Frame], Awaitable[Mapping[str, Any]]]
"""What a frame tells this reader beyond what the feed holds."""


@dataclass(slots=True, kw_only=True)
class Stream:
    """The frames of one session or run on their way to one reader."""

    keeper: Turnkeeper
    principal: Principal
    session_id: str
    frames: AsyncGenerator[Frame, None]
    closing: Closing
    stays: Callable[[], Awaitable[bool]]
    """Whether the reader may go on reading; asked before every event."""
    more: More | None = None
    when_gone: Callable[[], Awaitable[None]] | None = None
    traces: dict[RunId, str] = field(default_factory=dict)

    def response(self, place: ExitStack) -> EventSourceResponse:
        """`place` is given back when the response is over, however that comes about."""

        async def client_left(_: object) -> None:
            if self.when_gone is not None:
                await self.when_gone()

        return _StreamResponse(
            self._events(),
            place=place,
            sep="\n",
            ping=self.keeper.settings.heartbeat_seconds,
            ping_message_factory=lambda: ServerSentEvent(comment="heartbeat", sep="\n"),
            client_close_handler_callable=client_left,
        )

    async def _events(self) -> AsyncIterator[ServerSentEvent]:
        last = 0
        try:
            async for frame in self.closing.until(self.frames):
                if not await self.stays():
                    return
                yield await self._event_of(frame)
                last = frame.no
        except StoreUnavailable as error:
            # Without an id, so that the reader resumes behind the last frame that it was given.
            said = {"error": {"code": error.code, "message": error.detail, "retryable": error.retryable}}
            yield ServerSentEvent(event=STREAM_BROKEN, data=self._data(last, last, STREAM_BROKEN, data=said), sep="\n")

    async def _event_of(self, frame: Frame) -> ServerSentEvent:
        if frame.dropped is not None and not frame.type.ends_a_run:
            self.keeper.telemetry.frames_dropped(frame.dropped.count)
        data = {**frame.data, **(await self.more(frame))} if self.more else frame.data
        text = self._data(
            frame.no,
            frame.prev,
            frame.type.value,
            run_id=frame.run_id,
            trace_id=await self._trace_of(frame.run_id),
            at=frame.at,
            truncated=frame.truncated,
            dropped=frame.dropped,
            data=data,
        )
        if frame.run_id is not None and frame.type.ends_a_run:
            self.traces.pop(frame.run_id, None)
        return ServerSentEvent(event=frame.type.value, id=str(frame.no), data=text, sep="\n")

    async def _trace_of(self, run_id: RunId | None) -> str | None:
        if run_id is None:
            return None
        if run_id not in self.traces:
            try:
                self.traces[run_id] = (await self.keeper.run(run_id, principal=self.principal)).trace_id
            except RunNotFound:
                return None
        return self.traces[run_id]

    def _data(
        self,
        seq: int,
        prev: int,
        type: str,
        *,
        run_id: str | None = None,
        trace_id: str | None = None,
        at: datetime | None = None,
        truncated: bool = False,
        dropped: Dropped | None = None,
        data: Mapping[str, Any],
    ) -> str:
        # JSON without a raw line break in it: CR, LF and NEL end a line of an event stream, so they are escaped.
        return json.dumps(
            {
                "seq": seq,
                "prev": prev,
                "type": type,
                "run_id": run_id,
                "session_id": self.session_id,
                "trace_id": trace_id,
                "ts": None if at is None else at.isoformat().replace("+00:00", "Z"),
                "truncated": truncated,
                "dropped": msgspec.to_builtins(dropped),
                "data": msgspec.to_builtins(data),
            },
            ensure_ascii=True,
            separators=(",", ":"),
        )


class _StreamResponse(EventSourceResponse):
    """Events that hold a place among the streams of their tenant, also before the first of them is sent."""

    def __init__(self, events: AsyncIterator[ServerSentEvent], *, place: ExitStack, **options: Any) -> None:
        super().__init__(events, **options)
        self._place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._place:
            await super().__call__(scope, receive, send)


# FastAPI runs a dependency that is no coroutine on a thread of its pool, once for each request.
async def _resume_after(
    after: Annotated[int | None, Query(ge=0, le=LARGEST_NO, description="Resume behind this number.")] = None,
    last_event_id: Annotated[Number | None, Header(description="Resume behind this number; wins over `after`.")] = None,
) -> int | None:
    """The number that a reader has seen last, or None when it reads for the first time."""
    if last_event_id is None:
        return after
    if not last_event_id.isascii() or not last_event_id.isdigit() or len(last_event_id) > 16:
        raise invalid_header("Last-Event-ID", "is the id of an event of this feed, a whole number")
    return int(last_event_id)


ResumeAfter = Annotated[int | None, Depends(_resume_after)]
