"""Running one plugin: within its budget and its time, noted, and never able to take the turn down with it."""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
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

    async def run(
        self,
        frame: FrameTrail,
        plugin: Plugin,
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
                told = tell(result)
            except Exception as error:
                reason = TIMED_OUT if isinstance(error, TimeoutError) and limit.expired() else _reason_of(error)
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


def exhausted(kind: str, failures: list[PluginUnusable], context: RunContext) -> TurnkeeperError:
    """What to raise when nobody could do this part: too little budget if that was the only reason."""
    if failures and all(failure.reason == BudgetExceeded.code for failure in failures):
        return BudgetExceeded(spent=context.budget.model_calls, limit=context.budget.limits.model_calls)
    return PluginStageExhausted(kind, [(failure.plugin, failure.reason) for failure in failures])


def _reason_of(error: Exception) -> str:
    """A code. The words of an exception may be a user's or hold a secret: only its kind and its place are logged."""
    if isinstance(error, TurnkeeperError | ModelFailed):
        return error.code
    places = traceback.extract_tb(error.__traceback__)
    place = f"{places[-1].filename}:{places[-1].lineno}" if places else "nowhere"
    log.warning("plugin failed", extra={"kind": type(error).__name__, "place": place})
    return f"raised {type(error).__name__}"
