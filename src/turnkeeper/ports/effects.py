"""What we ask of a database about effects, and what an agent asks of us when it has one."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from turnkeeper.model.effect import Effect, EffectStatus
from turnkeeper.model.ids import RunId, TenantId
from turnkeeper.model.lease import Lease


class EffectLedger(Protocol):
    """Effects by the first attempt at a message, so that every later attempt finds them."""

    async def begin(
        self,
        lease: Lease,
        first_run: RunId,
        key: str,
        *,
        at: datetime,
        repeatable: bool,
        about: Mapping[str, Any] | None = None,
    ) -> Effect:
        """Record that an effect is about to happen, and return it as it now is. Raises LeaseLost.

        `started`: go ahead. `done`: it has happened, with this result. `unknown`: it was begun before, nobody knows
        what became of it, and it is not `repeatable`. From the first effect on the run is not merged with a later
        message. `about` is what the feed says of it besides.
        """

    async def finish(
        self,
        lease: Lease,
        first_run: RunId,
        key: str,
        *,
        at: datetime,
        status: EffectStatus,
        result: Any = None,
        result_lost: bool = False,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        """Record what became of an effect that was begun. Raises LeaseLost."""

    async def list(self, tenant: TenantId, first_run: RunId) -> Sequence[Effect]:
        """The effects of a run and of those that tried it again, in the order of their beginning."""


class Effects(Protocol):
    """The effects of one run, as its agent sees them."""

    def once(
        self, key: str, function: Callable[[], Any], *, repeatable: bool, about: Mapping[str, Any] | None = None
    ) -> Any:
        """What `function` gives, called at most once. To be awaited where an event loop runs, else it is the result.

        `about` is what the feed says of it besides.
        """

    async def is_begun(self, key: str) -> bool:
        """Whether this was begun in an earlier walk or attempt, whatever became of it."""

    async def is_done(self, key: str) -> bool: ...

    def key_of(self, key: str) -> str:
        """What names this effect in the outside world, the same in every attempt."""
