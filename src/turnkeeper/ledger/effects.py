"""Doing something to the world at most once in a run."""

import asyncio
import inspect
import json
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from turnkeeper.errors import AgentFailed, EffectUnknown
from turnkeeper.model.budget import Budget, Overdrawn, Resource
from turnkeeper.model.effect import Effect, EffectStatus
from turnkeeper.model.ids import RunId
from turnkeeper.model.lease import Lease
from turnkeeper.model.plain_text import is_plain_text
from turnkeeper.ports.agent import Suspended
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.effects import EffectLedger
from turnkeeper.ports.feed import Wakes

MOST_KEY_CHARS = 200

T = TypeVar("T")

_under_way: ContextVar[frozenset[str]] = ContextVar("effects_under_way", default=frozenset())
"""The effects that whoever asks is a part of, in its own thread or task. To wait for one of them would be for ever."""


class RunEffects:
    """The effects of one run. One key at a time: a second call of the same key waits for the first, and finds it done.

    Agents that are not async call it from their own threads; what is written is written in the event loop.
    """

    def __init__(
        self,
        ledger: EffectLedger,
        wakes: Wakes,
        clock: Clock,
        lease: Lease,
        first_run: RunId,
        budget: Budget,
        *,
        most_bytes: int,
    ) -> None:
        self._ledger, self._wakes, self._clock = ledger, wakes, clock
        self._lease, self._first_run, self._budget = lease, first_run, budget
        self._most_bytes = most_bytes
        self._loop = asyncio.get_running_loop()
        self._turns: dict[str, asyncio.Lock] = {}

    def key_of(self, key: str) -> str:
        return f"{self._first_run}:{_checked(key)}"

    async def is_begun(self, key: str) -> bool:
        return await self._status(key) is not None

    async def is_done(self, key: str) -> bool:
        return await self._status(key) is EffectStatus.DONE

    async def _status(self, key: str) -> EffectStatus | None:
        known = await self._ledger.list(self._lease.tenant, self._first_run)
        return next((effect.status for effect in known if effect.key == key), None)

    def once(
        self, key: str, function: Callable[[], Any], *, repeatable: bool, about: Mapping[str, Any] | None = None
    ) -> Any:
        key = _checked(key)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._in_thread(key, function, repeatable, about)
        return self._in_loop(key, function, repeatable, about)

    async def _in_loop(
        self, key: str, function: Callable[[], Any], repeatable: bool, about: Mapping[str, Any] | None
    ) -> Any:
        self._refuse_if_within(key)
        turn = self._turn_of(key)
        await turn.acquire()
        try:
            effect = await self._begin(key, repeatable, about)
            if effect.status is EffectStatus.DONE:
                return self._result_of(effect)
            try:
                with self._within(key):
                    result = function() if inspect.iscoroutinefunction(function) else await asyncio.to_thread(function)
                    if inspect.isawaitable(result):
                        result = await result
            except (Exception, Suspended):
                await self._finish(key, EffectStatus.FAILED, about=about)
                raise
            return await self._keep(key, result, about)
        finally:
            turn.release()

    def _in_thread(
        self, key: str, function: Callable[[], Any], repeatable: bool, about: Mapping[str, Any] | None
    ) -> Any:
        self._refuse_if_within(key)
        turn = self._turn_of(key)
        self._from_thread(turn.acquire())
        try:
            effect = self._from_thread(self._begin(key, repeatable, about))
            if effect.status is EffectStatus.DONE:
                return self._result_of(effect)
            try:
                with self._within(key):
                    result = function()
                    if inspect.iscoroutine(result):
                        result = self._from_thread(result)
            except (Exception, Suspended):
                self._from_thread(self._finish(key, EffectStatus.FAILED, about=about))
                raise
            return self._from_thread(self._keep(key, result, about))
        finally:
            self._loop.call_soon_threadsafe(turn.release)

    def _from_thread(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _turn_of(self, key: str) -> asyncio.Lock:
        return self._turns.setdefault(key, asyncio.Lock())

    def _refuse_if_within(self, key: str) -> None:
        if self.key_of(key) in _under_way.get():
            raise AgentFailed(
                f"The effect {key!r} asks for itself while it is being done. Give the inner one a key of its own."
            )

    @contextmanager
    def _within(self, key: str) -> Iterator[None]:
        name = self.key_of(key)
        _under_way.set(_under_way.get() | {name})
        try:
            yield
        finally:
            # Not by its token, which another task could not reset: an agent may be closed by one that never ran it.
            _under_way.set(_under_way.get() - {name})

    async def _begin(self, key: str, repeatable: bool, about: Mapping[str, Any] | None) -> Effect:
        """The effect, now started or done before. Raises EffectUnknown or Overdrawn."""
        effect = await self._ledger.begin(
            self._lease, self._first_run, key, at=self._clock.now(), repeatable=repeatable, about=about
        )
        self._tell()
        if effect.status is EffectStatus.UNKNOWN:
            raise EffectUnknown(key)
        if effect.status is EffectStatus.STARTED:
            try:
                self._budget.debit(Resource.TOOL_CALLS)
            except Overdrawn:
                await self._finish(key, EffectStatus.FAILED)
                raise
        return effect

    async def _keep(self, key: str, result: Any, about: Mapping[str, Any] | None) -> Any:
        """It has happened. What it gave is kept, and handed on as it will be found again."""
        text = _json(result)
        fits = text is not None and len(text.encode()) <= self._most_bytes
        plain = json.loads(text) if text is not None and fits else None
        await self._finish(key, EffectStatus.DONE, plain, result_lost=not fits, about=about)
        if not fits:
            raise self._without_result(key)
        return plain

    def _result_of(self, done: Effect) -> Any:
        if done.result_lost:
            raise self._without_result(done.key)
        return done.result

    def _without_result(self, key: str) -> AgentFailed:
        return AgentFailed(
            f"What the effect {key!r} gave is not JSON, or more than {self._most_bytes} bytes. It was done; return "
            "less from it."
        )

    async def _finish(
        self,
        key: str,
        status: EffectStatus,
        result: Any = None,
        *,
        result_lost: bool = False,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        now, first_run = self._clock.now(), self._first_run
        await self._ledger.finish(
            self._lease,
            first_run,
            key,
            at=now,
            status=status,
            result=result,
            result_lost=result_lost,
            about=about,
        )
        self._tell()

    def _tell(self) -> None:
        self._wakes.tell(self._lease.tenant, self._lease.subject)


def _checked(key: object) -> str:
    if not isinstance(key, str) or not 0 < len(key) <= MOST_KEY_CHARS or not is_plain_text(key):
        raise ValueError(f"the key of an effect is a text of at most {MOST_KEY_CHARS} characters")
    return key


def _json(result: Any) -> str | None:
    """None when it is not JSON."""
    try:
        text = json.dumps(result, allow_nan=False, ensure_ascii=False)
        text.encode()
    except (TypeError, ValueError, RecursionError):
        return None
    return text
