"""Hearing an answer while it is said: its words as they come, then the reply."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Generic, TypeVar

from turnkeeper.ledger.feed import Frame
from turnkeeper.model.feed import FeedType

Sent = TypeVar("Sent")
Answered = TypeVar("Answered")


class Spoken:
    """The words of an answer as they stand, out of the frames that tell of it. What was dropped is made good."""

    def __init__(self) -> None:
        self.text = ""
        self._shown = ""

    def heard(self, frame: Frame) -> str:
        """What is new, so that all of it together is the text.

        When words are taken back, because another attempt or another run answers, it is all of the new ones, on a
        line of their own.
        """
        match frame.type:
            case FeedType.OUTPUT_DELTA:
                self.text += frame.data["text"]
            case FeedType.OUTPUT_SNAPSHOT | FeedType.RUN_RESUMED | FeedType.RUN_COMPLETED:
                self.text = frame.data.get("text") or ""
            case FeedType.RUN_WAITING:
                self.text = frame.data["question"]
            case FeedType.RUN_ANSWERED:
                self.text = self._shown = ""
            case _:
                return ""
        if self.text.startswith(self._shown):
            piece, self._shown = self.text[len(self._shown) :], self.text
            return piece
        self._shown = self.text
        return f"\n{self.text}"


class Saying(Generic[Sent, Answered]):
    """A message and what is said to it. Iterate over it once for the pieces of the answer; `text` is all of it so far.

    `reply` waits for the end. The message is sent when either is first asked for.
    """

    def __init__(
        self,
        send: Callable[[], Awaitable[Sent]],
        follow: Callable[[Sent], AsyncGenerator[Frame, None]],
        reply: Callable[[Sent], Awaitable[Answered]],
    ) -> None:
        self._send, self._follow, self._reply = send, follow, reply
        self._sent: Sent | None = None
        self._is_over = False
        self._spoken = Spoken()

    @property
    def text(self) -> str:
        return self._spoken.text

    async def __aiter__(self) -> AsyncIterator[str]:
        if self._sent is not None:
            raise RuntimeError("an answer is heard once; its text and its reply stay")
        self._sent = await self._send()
        async with aclosing(self._follow(self._sent)) as frames:
            async for frame in frames:
                if piece := self._spoken.heard(frame):
                    yield piece
        self._is_over = True

    async def reply(self) -> Answered:
        """The reply, once it is there. Raises RunEnded when the run has another end."""
        if self._sent is None:
            self._sent = await self._send()
        return await self._reply(self._sent)
