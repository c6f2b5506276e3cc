"""What a run may know: the units of its session's epoch and of the knowledge bases that are mounted to it."""

from collections.abc import Collection, Sequence
from typing import Protocol

from turnkeeper.model.recall import FoundUnit, UnitQuery
from turnkeeper.model.unit import PhaseScope, Unit


class Memory(Protocol):
    """Never shows a unit of another session, of an earlier epoch, or one that was superseded, pushed out or forgotten.

    Units staged in this turn are not in it before the commit; whoever staged them has them at hand.
    """

    async def search(self, query: UnitQuery) -> Sequence[FoundUnit]:
        """The units that match best, best first, from the session and from what is mounted."""

    async def guidance(self, scope: PhaseScope, *, limit: int) -> Sequence[FoundUnit]:
        """The newest units of the session that guide this phase, then those of what is mounted; newest first."""

    async def about(self, names: Collection[str], *, limit: int) -> Sequence[FoundUnit]:
        """Units with a triple whose subject or object is one of these names; see `model.names.name_key`."""

    async def newest(self, *, limit: int) -> Sequence[Unit]:
        """The units that were kept last in this session, newest first."""
