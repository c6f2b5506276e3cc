"""Running one plugin: within its budget and its time, noted, and never able to take the turn down with it."""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from turnkeeper.agents.symbolic.trail import FrameTrail
from turnkeeper.errors import BudgetExceeded, PluginStageExhausted, TurnkeeperError
from turnkeeper.model.run_context import RunContext
from turnkeeper.ports.chat_model import ModelFailed
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.memory import Memory
from turnkeeper.ports.plugins import Plugin, PluginCall

SKIPPED = "skipped-budget"
ERROR = "error"
TIMED_OUT = "timed_out"
SHARE_OF_TIME = 0.5

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the graph says of an execution that came to its end."""

    status: str
    output: object = None
    model: str | None = None


class PluginUnusable(Exception):
    """This plugin gave nothing; `reason` is a code and never the words of an exception."""

    def __init__(self, plugin: str, reason: str) -> None:
        super().__init__(f"{plugin}: {reason}")
        self.plugin, self.reason = plugin, reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """What every execution of one turn shares."""

    context: RunContext
    memory: Memory
    clock: Clock
    level: int
    model: str | None
    skipped: list[str] = field(default_factory=list)
    """Plugins that were not run because too few model calls were left."""

    async def run(
        self,
        frame: FrameTrail,
        plugin: Plugin,
        gives: type[T],
        work: Callable[[PluginCall], Awaitable[T]],
        tell: Callable[[T], Told],
        *,
        input: object = None,
        is_last: bool = False,
    ) -> tuple[str, T]:
        """The node and the result. Raises PluginUnusable when it was skipped, failed or took too long."""
        descriptor, notes = plugin.descriptor, frame.trail.notes
        node = frame.begin_execution(descriptor, input)
        budget = self.context.budget
        before = budget.model_calls
        with budget.reserve(descriptor.most_model_calls) as reservation:
            if reservation is None:
                self.skipped.append(descriptor.id)
                frame.failed_execution(node, descriptor.kind)
                metadata = {"needs": descriptor.most_model_calls, "left": budget.remaining}
                notes.end(node, SKIPPED, error=BudgetExceeded.code, metadata=metadata)
                raise PluginUnusable(descriptor.id, BudgetExceeded.code)
            call = PluginCall(
                context=self.context,
                memory=self.memory,
                frame_id=frame.id,
                depth=frame.depth,
                level=self.level,
                model=self.model,
                reservation=reservation,
            )
            try:
                async with asyncio.timeout(self._seconds_for(is_last)) as limit:
                    result = await work(call)
                if not isinstance(result, gives):
                    raise TypeError(f"{type(result).__name__} is no {gives.__name__}")
                told = tell(result)
            except BaseException as error:
                if not is_fault_of_plugin(error):
                    raise
                is_late = isinstance(error, TimeoutError) and limit.expired()
                reason = TIMED_OUT if is_late else self._reason_of(descriptor.id, error)
                frame.failed_execution(node, descriptor.kind)
                notes.end(node, ERROR, error=reason, metadata={"model_calls": budget.model_calls - before})
                raise PluginUnusable(descriptor.id, reason) from error
        made = {"model_calls": budget.model_calls - before, "model": told.model}
        notes.end(node, told.status, output=told.output, metadata=made)
        return node, result

    def _seconds_for(self, is_last: bool) -> float:
        """One that hangs leaves time for those behind it. The last one has all that is left of the run."""
        left = max(0.0, (self.context.deadline - self.clock.now()).total_seconds())
        return left if is_last else left * SHARE_OF_TIME

    def _reason_of(self, plugin: str, error: BaseException) -> str:
        if isinstance(error, TurnkeeperError | ModelFailed):
            return error.code
        log_failure(plugin, error, run_id=self.context.run_id)
        return f"raised {type(error).__name__}"


def is_fault_of_plugin(error: BaseException) -> bool:
    """Whether what came out of a plugin is its own failure: an exit too, and a cancellation that nobody asked for."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() == 0
    return isinstance(error, Exception | SystemExit | KeyboardInterrupt)


def log_failure(plugin: str, error: BaseException, *, run_id: str | None) -> None:
    """The words of an exception may be a user's or hold a secret: only its kind and its place are logged."""
    places = traceback.extract_tb(error.__traceback__)
    place = f"{places[-1].filename}:{places[-1].lineno}" if places else "nowhere"
    extra = {"plugin": plugin, "run_id": run_id, "kind": type(error).__name__, "place": place}
    log.warning("plugin failed", extra=extra)


def exhausted(kind: str, failures: list[PluginUnusable], context: RunContext) -> TurnkeeperError:
    """What to raise when nobody could do this part: too little budget if that was the only reason."""
    if failures and all(failure.reason == BudgetExceeded.code for failure in failures):
        return BudgetExceeded(spent=context.budget.model_calls, limit=context.budget.limits.model_calls)
    return PluginStageExhausted(kind, [(failure.plugin, failure.reason) for failure in failures])
