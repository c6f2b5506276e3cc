"""What we ask of a keeper of units: finding the ones that a turn needs."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from turnkeeper.model.ids import KnowledgeBaseId, SessionId, TenantId, UnitId
from turnkeeper.model.recall import FoundUnit
from turnkeeper.model.unit import KeptUnit, PhaseScope, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitView:
    """Which units are in sight: those of one epoch of a session, and of knowledge bases as they were at a revision."""

    tenant: TenantId
    session_id: SessionId
    epoch: int
    bases: tuple[tuple[KnowledgeBaseId, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownUnits:
    """What of some staged units is known already, and how full the session is.

    `oldest` are the ids of committed units, oldest first, as many as were asked for.
    """

    same: Sequence[Unit] = ()
    count: int = 0
    oldest: Sequence[UnitId] = ()


class UnitReader(Protocol):
    """Shows committed units only, and in each place the same content once. Scores are those of `turnkeeper.wording`."""

    async def search(
        self, view: UnitView, words: Sequence[str], *, scope: PhaseScope, limit: int
    ) -> Sequence[FoundUnit]:
        """Units of this scope that hold at least one of the words, best first.

        Of units with one score the one that holds more of the words comes first, then that of the session, then the
        newest. What others know changes nothing of it.
        """

    async def guidance(self, view: UnitView, scope: PhaseScope, *, limit: int) -> Sequence[FoundUnit]:
        """Units that guide this phase: of the session first, newest first."""

    async def about(self, view: UnitView, keys: Collection[str], *, limit: int) -> Sequence[FoundUnit]:
        """Units with a triple whose subject or object has one of these name keys, newest first."""

    async def newest(self, view: UnitView, *, limit: int) -> Sequence[Unit]:
        """Of the session alone, newest first."""

    async def known(
        self,
        view: UnitView,
        *,
        hashes: Collection[str],
        slots: Collection[str],
        ids: Collection[UnitId],
        oldest: int,
    ) -> KnownUnits:
        """Committed units of the session with one of these hashes, slot keys or ids."""


class UnitStore(UnitReader, Protocol):
    async def get(self, tenant: TenantId, session_id: SessionId, unit_id: UnitId) -> KeptUnit:
        """Raises UnitNotFound."""

    async def list(
        self, tenant: TenantId, session_id: SessionId, *, epoch: int | None, after: int, limit: int
    ) -> Sequence[tuple[int, KeptUnit]]:
        """Units of a session in the order in which they were kept, whatever became of them, each with its number."""
