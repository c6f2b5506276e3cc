"""Any Python function as an agent: async or not, returning its answer or yielding it piece by piece."""

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any, cast

from turnkeeper.agents.threads import AgentThreads
from turnkeeper.model.ids import AgentId
from turnkeeper.model.verdict import Verdict
from turnkeeper.ports.agent import AgentPolicy, AgentTurn

AgentFunction = Callable[[AgentTurn], Any]

_DONE = object()


class FunctionAgent:
    """Sync functions run in threads. A thread cannot be stopped: on cancel its result is thrown away when it comes."""

    def __init__(self, id: AgentId, function: AgentFunction, policy: AgentPolicy, threads: AgentThreads) -> None:
        self.id, self.policy = id, policy
        self._function = function
        self._threads = threads
        called = function if inspect.isroutine(function) else type(function).__call__
        if inspect.isasyncgenfunction(called):
            self._answer: Callable[[AgentTurn], AsyncGenerator[str | Verdict, None]] = function
        elif inspect.iscoroutinefunction(called):
            self._answer = self._result_of_coroutine
        elif inspect.isgeneratorfunction(called):
            self._answer = self._pieces_of_generator
        else:
            self._answer = self._result_of_function

    def answer(self, turn: AgentTurn) -> AsyncGenerator[str | Verdict, None]:
        return self._answer(turn)

    async def _result_of_coroutine(self, turn: AgentTurn) -> AsyncGenerator[str | Verdict, None]:
        result = await cast("Awaitable[str | Verdict | None]", self._function(turn))
        if result is not None:
            yield result

    async def _result_of_function(self, turn: AgentTurn) -> AsyncGenerator[str | Verdict, None]:
        result = await self._threads.run(lambda: self._function(turn))
        if inspect.isawaitable(result):
            result = await result
        if result is not None:
            yield result

    async def _pieces_of_generator(self, turn: AgentTurn) -> AsyncGenerator[str | Verdict, None]:
        generator: Generator[str | Verdict, None, None] = self._function(turn)
        try:
            while (piece := await self._threads.run(lambda: next(generator, _DONE))) is not _DONE:
                yield cast("str | Verdict", piece)
        finally:
            # While the thread is still inside it, the generator cannot be closed; it is left to end by itself.
            if inspect.getgeneratorstate(generator) != inspect.GEN_RUNNING:
                generator.close()
