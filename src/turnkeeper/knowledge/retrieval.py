"""Finding the units that a turn needs, in its session and in what is mounted to it."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace

from turnkeeper.knowledge.words import content_words
from turnkeeper.model.ids import KnowledgeBaseId, SessionId, TenantId
from turnkeeper.model.mount import Mount
from turnkeeper.model.names import content_hash, name_key
from turnkeeper.model.recall import SESSION_PLACE, FoundUnit, UnitQuery
from turnkeeper.model.session import Session
from turnkeeper.model.unit import ROLES_FOR_ACT, PhaseScope, Unit
from turnkeeper.ports.units import UnitReader, UnitView

MOST_WORDS = 32
FITTING_ROLE = 1.3
FROM_THE_SESSION = 1.15
NO_SESSION = SessionId("-")


@dataclass(frozen=True, slots=True)
class UnitMemory:
    """A Memory over one view of the units that somebody keeps.

    `mounted` tells what is still mounted: what was taken away while the run goes on is out of reach at once.
    """

    units: UnitReader
    view: UnitView
    mounted: Callable[[], Awaitable[Collection[str]]] | None = None

    async def search(self, query: UnitQuery) -> Sequence[FoundUnit]:
        words = content_words(query.words)[:MOST_WORDS]
        if not words:
            return ()
        # More than are wanted: a fitting role may lift a unit that the search put lower.
        found = await self.units.search(await self._sight(), words, scope=query.scope, limit=query.limit * 3)
        return ranked(found, query)

    async def guidance(self, scope: PhaseScope, *, limit: int) -> Sequence[FoundUnit]:
        return await self.units.guidance(await self._sight(), scope, limit=limit)

    async def about(self, names: Collection[str], *, limit: int) -> Sequence[FoundUnit]:
        keys = {key for key in map(name_key, names) if key}
        return await self.units.about(await self._sight(), keys, limit=limit) if keys else ()

    async def newest(self, *, limit: int) -> Sequence[Unit]:
        return await self.units.newest(self.view, limit=limit)

    async def _sight(self) -> UnitView:
        if not self.view.bases or self.mounted is None:
            return self.view
        mounted = await self.mounted()
        return replace(self.view, bases=tuple(base for base in self.view.bases if base[0] in mounted))


def view_of(session: Session) -> UnitView:
    """What a run in this session may see."""
    bases = tuple((KnowledgeBaseId(mount.id), mount.revision) for mount in session.mounts if mount.holds_units)
    return UnitView(tenant=session.tenant, session_id=session.id, epoch=session.epoch.number, bases=bases)


async def search_base(units: UnitReader, tenant: TenantId, mount: Mount, words: str, limit: int) -> Sequence[FoundUnit]:
    """What one mounted knowledge base knows of some words, and nothing else."""
    base = (KnowledgeBaseId(mount.id), mount.revision)
    view = UnitView(tenant=tenant, session_id=NO_SESSION, epoch=0, bases=(base,))
    return await UnitMemory(units, view).search(UnitQuery(words=words, limit=limit))


def ranked(found: Sequence[FoundUnit], query: UnitQuery) -> Sequence[FoundUnit]:
    """Best first: what was said in the session and what has the role that is asked for counts more.

    The same content is found once, in the session rather than in a knowledge base.
    """
    wanted = {role for act in query.acts for role in ROLES_FOR_ACT[act]}
    best: dict[str, FoundUnit] = {}
    for each in found:
        score = each.score
        if each.unit.role in wanted:
            score *= FITTING_ROLE
        if each.place == SESSION_PLACE:
            score *= FROM_THE_SESSION
        key = each.unit.hash or content_hash(each.unit)
        if key not in best or score > best[key].score:
            best[key] = replace(each, score=score)
    # Sorting keeps the order of what is alike, which is that of the search.
    in_order = sorted(best.values(), key=lambda each: -each.score)[: query.limit]
    top = in_order[0].score if in_order else 1.0
    return [replace(each, score=each.score / top if top > 0 else 1.0) for each in in_order]
