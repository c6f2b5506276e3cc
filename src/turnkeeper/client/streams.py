"""Streams of frames that are taken up again where they were lost, so that whoever reads them notices nothing."""

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Any

import httpx2

from turnkeeper.client.retrying import Trying
from turnkeeper.client.transport import SILENT_SECONDS, Ask, Transport, at
from turnkeeper.errors import AnswerUnreadable, StreamLost
from turnkeeper.ledger.feed import Dropped, Frame
from turnkeeper.model.feed import FeedType

BROKEN = "stream.broken"
KNOWN = {each.value for each in FeedType}


class Course(ABC):
    """Where the frames of a stream are found, as long as there are more of them."""

    is_over = False

    @abstractmethod
    def ask(self, last: int | None) -> Ask:
        """What to ask for behind this number."""

    @abstractmethod
    async def passed(self, frame: Frame) -> bool:
        """Note a frame that was read. Whether more of them may come over the same connection."""


@dataclass(slots=True, kw_only=True)
class Stream:
    """The frames of a course, each once and in their order, over as many connections as it takes.

    A frame that does not follow the one before it shows that something was lost on the way: it is asked for again.
    """

    transport: Transport
    course: Course
    last: int | None = None
    session_id: str | None = None
    """Of the frame that came last."""
    _trying: Trying = field(init=False)

    async def frames(self) -> AsyncGenerator[Frame, None]:
        """Raises StreamLost when it cannot be taken up again, and what the server refuses it with."""
        self._trying = self.transport.retries.begin()
        while True:
            async with aclosing(self._of_one_connection()) as frames:
                async for frame in frames:
                    goes_on = await self.course.passed(frame)
                    yield frame
                    if not goes_on:
                        break
                else:
                    if not self.course.is_over and not await self._trying.again():
                        raise StreamLost(self.last)
            if self.course.is_over:
                return

    async def _of_one_connection(self) -> AsyncGenerator[Frame, None]:
        """What is new on it, until it ends, breaks, or lacks something."""
        try:
            ask = self.course.ask(self.last)
            async with self.transport.opened(ask, silent_seconds=SILENT_SECONDS) as response:
                if response.status_code == HTTPStatus.NO_CONTENT:
                    self.course.is_over = True
                    return
                async for event in events_in(response):
                    self._trying = self.transport.retries.begin()
                    if event is None:
                        continue
                    if self.last is not None and event.no <= self.last:
                        continue
                    if self.last is not None and event.prev > self.last:
                        return
                    self.last, self.session_id = event.no, event.session_id
                    if event.frame is not None:
                        yield event.frame
        except httpx2.TransportError:
            return


def behind(last: int | None) -> dict[str, str]:
    return {} if last is None else {"Last-Event-ID": str(last)}


@dataclass(slots=True, kw_only=True)
class RunCourse(Course):
    """What happens in one run until its end."""

    run_id: str
    is_over: bool = False

    def ask(self, last: int | None) -> Ask:
        return Ask(method="GET", path=at("runs", self.run_id, "feed"), headers=behind(last))

    async def passed(self, frame: Frame) -> bool:
        self.is_over = frame.type.ends_a_run
        return not self.is_over


@dataclass(slots=True, kw_only=True)
class SessionCourse(Course):
    """What happens in a session; it has no end."""

    session_id: str
    is_over: bool = False

    def ask(self, last: int | None) -> Ask:
        return Ask(method="GET", path=at("sessions", self.session_id, "feed"), headers=behind(last))

    async def passed(self, frame: Frame) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """`frame` is None where a newer server tells of something that is not known here: it counts, and is passed over."""

    no: int
    prev: int
    session_id: str
    frame: Frame | None


async def events_in(response: httpx2.Response) -> AsyncIterator[Event | None]:
    """The events of a stream, each once it is whole, until it ends or breaks; None for a sign of life."""
    data: list[str] = []
    async for line in response.aiter_lines():
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif line.startswith(":"):
            yield None
        elif not line and data:
            text, data = "\n".join(data), []
            try:
                told = json.loads(text)
                frame = frame_of(told) if told["type"] in KNOWN else None
            except (ValueError, KeyError, TypeError):
                raise AnswerUnreadable(str(response.url), response.status_code) from None
            if told["type"] == BROKEN:
                return
            yield Event(no=told["seq"], prev=told["prev"], session_id=told["session_id"], frame=frame)


def frame_of(told: dict[str, Any]) -> Frame:
    return Frame(
        no=told["seq"],
        prev=told["prev"],
        type=FeedType(told["type"]),
        run_id=told["run_id"],
        at=datetime.fromisoformat(told["ts"]),
        truncated=told["truncated"],
        dropped=None if told["dropped"] is None else Dropped(**told["dropped"]),
        data=told["data"],
    )
