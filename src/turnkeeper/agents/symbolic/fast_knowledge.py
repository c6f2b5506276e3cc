"""kb-fast: evidence by words, from the session and what is mounted to it."""

from collections.abc import Sequence

from turnkeeper.agents.symbolic.question import read_question
from turnkeeper.agents.symbolic.reference import put_in
from turnkeeper.agents.symbolic.staged import as_found, still_true
from turnkeeper.agents.symbolic.words import meanings_of, search_words, telling
from turnkeeper.model.recall import FoundUnit, UnitQuery
from turnkeeper.model.unit import ROLES_FOR_ACT, Act, Unit
from turnkeeper.ports.plugins import (
    Depth,
    KnowledgeEvent,
    PlannerHints,
    PluginCall,
    PluginDescriptor,
    PluginKind,
    Retrieval,
    RetrievalStatus,
    Seed,
)

MOST_FOUND = 12


class FastKnowledge:
    """Keeps no index of its own: what is committed is found in memory, and what is staged comes with the seed."""

    descriptor = PluginDescriptor(
        id="kb-fast",
        kind=PluginKind.KNOWLEDGE,
        name="Fast knowledge",
        description="Finds units by their words, quickly.",
        hints=PlannerHints(depth=Depth.SHALLOW),
    )

    async def retrieve(self, seed: Seed, staged: Sequence[Unit], call: PluginCall) -> Retrieval:
        text = put_in(seed.text, seed.refers_to)
        acts = seed.acts or read_question(text).acts
        found = await call.memory.search(UnitQuery(words=search_words(text), acts=acts, limit=MOST_FOUND))
        evidence = tuple([*as_found(staged), *still_true(found, staged)][:MOST_FOUND])
        enough = any(_fits(each, text, acts) for each in evidence)
        status = RetrievalStatus.SUCCESS if enough else RetrievalStatus.INSUFFICIENT
        return Retrieval(status=status, evidence=evidence)

    async def heard(self, event: KnowledgeEvent) -> None:
        """Nothing to do: the search of the store is up to date by itself."""


def _fits(found: FoundUnit, text: str, acts: Sequence[Act]) -> bool:
    """It has a role that answers such a question, or speaks of most of its words."""
    wanted = telling(text)
    matched = len(meanings_of(found.unit).intersection(wanted))
    roles = {role for act in acts for role in ROLES_FOR_ACT[act]}
    return matched > 0 and (found.unit.role in roles or matched * 2 >= len(wanted))
