"""Talking with a turnkeeper in this process, as if it were a server."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from types import TracebackType
from typing import Any, TypeVar

import msgspec

from turnkeeper.cli.talk import TalkFailed, Told, in_words
from turnkeeper.errors import TurnkeeperError
from turnkeeper.keeper import Turnkeeper
from turnkeeper.keeping.door import Ticket
from turnkeeper.ledger.feed import Frame
from turnkeeper.packs.demos import demo_packs
from turnkeeper.server.wire_explanations import ExplanationOut
from turnkeeper.server.wire_knowledge import UnitOut
from turnkeeper.server.wire_packs import DialogueOut

T = TypeVar("T")


class EmbeddedTalk:
    """A turnkeeper in this process. Its loop has a thread of its own, so that typing does not hold it up."""

    def __init__(self, keeper: Turnkeeper) -> None:
        self.where = keeper.settings.database
        self.how = f"--database {self.where}"
        self._keeper = keeper
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="turnkeeper-chat", daemon=True)

    def __enter__(self) -> "EmbeddedTalk":
        self._thread.start()
        try:
            self._do(self._keeper.__aenter__())
        except TalkFailed:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._do(self._keeper.close())
        finally:
            self._stop()

    def say(self, message: str, **asked: Any) -> Iterator[Told]:
        ticket = self._do(self._keeper.submit(message, **asked))
        frames = self._keeper.follow_reply(ticket)
        try:
            while (frame := self._do(_next(frames))) is not None:
                yield _told(frame, ticket)
        finally:
            self._do(frames.aclose())

    def check_pack(self, ref: str) -> None:
        if ref in demo_packs():
            self._do(self._keeper.packs.push_demos())
        self._do(self._keeper.packs.get(ref))

    def reset(self, session_id: str) -> str:
        return self._do(self._keeper.reset(session_id)).text

    def cancel(self, run_id: str) -> None:
        self._do(self._keeper.cancel(run_id))

    def explanation(self, run_id: str) -> Told:
        explained = self._do(self._keeper.explained(run_id))
        return ExplanationOut.in_full(explained).model_dump(mode="json", by_alias=True)

    def intent(self, session_id: str) -> Told:
        return DialogueOut.of(self._do(self._keeper.session(session_id))).model_dump(mode="json")

    def units(self, session_id: str) -> list[Told]:
        found: list[Told] = []
        after: int | None = 0
        while after is not None:
            page = self._do(self._keeper.units.list(session_id, after=after))
            found += [UnitOut.of(kept, no).model_dump(mode="json") for no, kept in page]
            after = page[-1][0] if page else None
        return found

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except TurnkeeperError as error:
            raise TalkFailed(in_words(error.detail, error.code, error.details)) from None

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _next(frames: Any) -> Frame | None:
    frame: Frame | None = await anext(frames, None)
    return frame


def _told(frame: Frame, ticket: Ticket) -> Told:
    return {
        "seq": frame.no,
        "prev": frame.prev,
        "type": frame.type.value,
        "run_id": frame.run_id,
        "session_id": ticket.run.session_id,
        "trace_id": ticket.run.trace_id,
        "truncated": frame.truncated,
        "data": {**msgspec.to_builtins(frame.data), "replaced_session_id": ticket.replaced_session_id},
    }
