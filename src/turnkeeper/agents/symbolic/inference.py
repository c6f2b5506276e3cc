"""Small inference over triples: chains of relations that follow from what is known, each with its premises."""

import re
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from turnkeeper.agents.symbolic.clause import is_unsettled, speaks_of_kind, speaks_of_some
from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.staged import as_found, still_true
from turnkeeper.agents.symbolic.words import is_negated, plural, search_words, singular
from turnkeeper.model.names import name_key
from turnkeeper.model.recall import FoundUnit, UnitQuery
from turnkeeper.model.unit import Relation, Unit
from turnkeeper.ports.memory import Memory

TRANSITIVE = frozenset({Relation.PART_OF, Relation.INSTANCE_OF, Relation.DEPENDS_ON, Relation.CAUSES})
MOST_HOPS = 5
MOST_TRIPLES = 200
PER_LOOK = 60
PER_SEARCH = 12


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
        self._staged = tuple(staged)
        self._known: dict[str, _Edge] = {}
        self._asked: set[str] = set()
        for found in as_found(self._staged):
            self._add(found)

    def _add(self, found: FoundUnit) -> None:
        edge = _edge_of(found)
        if edge is not None and found.unit.is_evidence and len(self._known) < MOST_TRIPLES:
            self._known.setdefault(found.unit.id, edge)

    async def look_up(self, names: Collection[str]) -> None:
        """Units with a triple that has one of these names, and sentences that say what one of them is."""
        wanted = {form for name in names for form in forms_of(name)} - self._asked
        if not wanted or len(self._known) >= MOST_TRIPLES:
            return
        self._asked |= wanted
        found = [
            *await self._memory.about(sorted(wanted), limit=PER_LOOK),
            *await self._memory.search(UnitQuery(words=search_words(" ".join(names)), limit=PER_SEARCH)),
        ]
        for each in still_true(found, self._staged):
            self._add(each)

    def full_name(self, name: str) -> str:
        """The one known proper name that ends with this one, where nothing is known by exactly this one."""
        key = one_form(name)
        names = {one_form(end): end for edge in self._known.values() for end in (edge.subject, edge.object)}
        if key in names or not key:
            return name
        longer = [end for known, end in names.items() if known.endswith(" " + key) and _is_proper(end, key)]
        return longer[0] if len(longer) == 1 else name

    def leading_from(
        self, name: str, relation: Relation, *, backwards: bool = False
    ) -> Sequence[tuple[str, FoundUnit]]:
        """Names at the other end of this relation, each with the unit that says so."""
        key = one_form(name)
        ends = []
        for edge in self._known.values():
            if edge.relation is relation:
                here, there = (edge.object, edge.subject) if backwards else (edge.subject, edge.object)
                if one_form(here) == key:
                    ends.append((there, edge.found))
        return ends

    async def related(self, name: str, relation: Relation, *, backwards: bool = False) -> list[Chain]:
        """All that `name` is related to, nearest first.

        Transitive relations are followed; what is true of a kind is true of its instances. Seen backwards, what is
        true of a kind is true of its instances too, so instances of each name found are found as well.
        """
        await self.look_up([name])
        name = self.full_name(name)
        chains: dict[str, Chain] = {}
        queue: deque[tuple[str, tuple[FoundUnit, ...], bool]] = deque([(name, (), False)])
        seen = {(one_form(name), False)}
        while queue:
            here, premises, related = queue.popleft()
            if len(premises) >= MOST_HOPS:
                continue
            await self.look_up([here])
            for there, found, now_related in self._steps(here, relation, backwards, related):
                if premises and not _holds_of_each(premises[-1], found, backwards):
                    continue
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
        wanted = one_form(self.full_name(target))
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


def _holds_of_each(before: FoundUnit, found: FoundUnit, backwards: bool) -> bool:
    """What is said of one that is meant, "the dog", is not said of all dogs: it ends where a kind was reached."""
    lower, upper = (found, before) if backwards else (before, found)
    reaches_kind = lower.unit.relation in (None, Relation.INSTANCE_OF)
    return not reaches_kind or speaks_of_kind(upper.unit.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edge:
    subject: str
    relation: Relation
    object: str
    found: FoundUnit


def _edge_of(found: FoundUnit) -> _Edge | None:
    """The triple of a unit, or what a plain sentence without one says something is."""
    unit = found.unit
    if unit.condition or is_negated(unit.content) or is_unsettled(unit.content) or speaks_of_some(unit.content):
        return None
    if unit.subject and unit.relation and unit.object:
        return _Edge(subject=unit.subject, relation=unit.relation, object=unit.object, found=found)
    if unit.claim is None:
        return None
    said = re.fullmatch(speech().copula, unit.claim.strip(" .!"), re.IGNORECASE)
    if said is None:
        return None
    return _Edge(subject=said["name"], relation=Relation.INSTANCE_OF, object=said["kind"], found=found)


def _is_proper(name: str, end: str) -> bool:
    """Whether it names one thing and its last words may stand for it: no owner, and no "new" that sets it apart."""
    words = [word for word in name.split() if word.casefold() not in speech().words["articles"]]
    front = words[: len(words) - len(end.split())]
    apart = speech().words["apart"] | speech().words["owning"]
    return all(
        word[0].isupper() and "'" not in word.replace("\u2019", "'") and word.casefold() not in apart for word in words
    ) and bool(front)


def one_form(name: str) -> str:
    """The same for one and for many of a name, and for all of them."""
    first, _, rest = name_key(name).partition(" ")
    key = name_key(rest) if rest and first in speech().questions["quantifiers"] else name_key(name)
    return singular(key)


def forms_of(name: str) -> set[str]:
    key = one_form(name)
    if not key:
        return set()
    many = plural(key)
    return {
        name_key(name),
        key,
        many,
        *(f"{word} {form}" for word in speech().questions["quantifiers"] for form in (key, many)),
    }
