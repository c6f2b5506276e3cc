"""Small inference over triples: chains of relations that follow from what is known, each with its premises."""

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from turnkeeper.agents.symbolic.words import plural, singular
from turnkeeper.model.names import name_key
from turnkeeper.model.recall import SESSION_PLACE, FoundUnit
from turnkeeper.model.unit import Relation, Unit
from turnkeeper.ports.memory import Memory

TRANSITIVE = frozenset({Relation.PART_OF, Relation.INSTANCE_OF, Relation.DEPENDS_ON, Relation.CAUSES})
MOST_HOPS = 5
MOST_TRIPLES = 200
PER_LOOK = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """`name` is related, because of these premises, in this order."""

    name: str
    premises: tuple[FoundUnit, ...]

    @property
    def is_direct(self) -> bool:
        return len(self.premises) == 1


class Triples:
    """What is known about names, looked up in memory as far as a chain reaches and no further."""

    def __init__(self, memory: Memory, staged: Iterable[Unit]) -> None:
        self._memory = memory
        self._known: dict[str, FoundUnit] = {}
        self._asked: set[str] = set()
        for unit in staged:
            self._add(FoundUnit(unit=unit, place=SESSION_PLACE, score=1.0))

    def _add(self, found: FoundUnit) -> None:
        if found.unit.relation is not None and found.unit.is_evidence and len(self._known) < MOST_TRIPLES:
            self._known.setdefault(found.unit.id, found)

    async def look_up(self, names: Collection[str]) -> None:
        wanted = {form for name in names for form in forms_of(name)} - self._asked
        if wanted and len(self._known) < MOST_TRIPLES:
            self._asked |= wanted
            for found in await self._memory.about(sorted(wanted), limit=PER_LOOK):
                self._add(found)

    def leading_from(
        self, name: str, relation: Relation, *, backwards: bool = False
    ) -> Sequence[tuple[str, FoundUnit]]:
        """Names at the other end of this relation, each with the unit that says so."""
        key = one_form(name)
        ends = []
        for found in self._known.values():
            unit = found.unit
            if unit.relation is relation and unit.subject and unit.object:
                here, there = (unit.object, unit.subject) if backwards else (unit.subject, unit.object)
                if one_form(here) == key:
                    ends.append((there, found))
        return ends

    async def related(self, name: str, relation: Relation, *, backwards: bool = False) -> list[Chain]:
        """All that `name` is related to, nearest first.

        Transitive relations are followed; what is true of a kind is true of its instances. Seen backwards, what is
        true of a kind is true of its instances too, so instances of each name found are found as well.
        """
        chains: dict[str, Chain] = {}
        start = (name, (), False)
        queue: deque[tuple[str, tuple[FoundUnit, ...], bool]] = deque([start])
        seen = {(one_form(name), False)}
        while queue:
            here, premises, related = queue.popleft()
            if len(premises) >= MOST_HOPS:
                continue
            await self.look_up([here])
            for there, found, now_related in self._steps(here, relation, backwards, related):
                state = (one_form(there), now_related)
                if state in seen:
                    continue
                seen.add(state)
                path = (*premises, found)
                if now_related and one_form(there) != one_form(name):
                    chains.setdefault(one_form(there), Chain(name=there, premises=path))
                queue.append((there, path, now_related))
        return sorted(chains.values(), key=lambda chain: len(chain.premises))

    def _steps(
        self, here: str, relation: Relation, backwards: bool, related: bool
    ) -> Iterable[tuple[str, FoundUnit, bool]]:
        if not related or relation in TRANSITIVE:
            for there, found in self.leading_from(here, relation, backwards=backwards):
                yield there, found, True
        if relation is Relation.INSTANCE_OF:
            return
        # Forwards a kind is climbed before the relation is taken; backwards after it, down to the instances.
        if backwards == related:
            for there, found in self.leading_from(here, Relation.INSTANCE_OF, backwards=backwards):
                yield there, found, related

    async def chain(self, name: str, relation: Relation, target: str) -> Chain | None:
        """Why `name` is so related to `target`, if it follows. What is related to one of a kind is related to it."""
        related = await self.related(name, relation)
        wanted = one_form(target)
        for each in related:
            if one_form(each.name) == wanted:
                return each
        if relation is Relation.INSTANCE_OF:
            return None
        for each in related:
            for kind in await self.related(each.name, Relation.INSTANCE_OF):
                if one_form(kind.name) == wanted:
                    return Chain(name=kind.name, premises=(*each.premises, *kind.premises))
        return None


def one_form(name: str) -> str:
    """The same for one and for many of a name."""
    return singular(name_key(name))


def forms_of(name: str) -> set[str]:
    key = name_key(name)
    return {form for form in (key, singular(key), plural(singular(key))) if form}
