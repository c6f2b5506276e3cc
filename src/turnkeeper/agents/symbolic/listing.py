"""Answers that are lists: all rules, all that something uses, what is known so far, two things side by side."""

from collections.abc import Sequence

from turnkeeper.agents.symbolic.inference import Triples
from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.matching import Evidence
from turnkeeper.agents.symbolic.question import Question, QuestionKind
from turnkeeper.agents.symbolic.saying import each_said, not_known, plainly, saying
from turnkeeper.agents.symbolic.staged import as_found, still_true
from turnkeeper.agents.symbolic.words import is_negated, meanings_in, meanings_of, words_of
from turnkeeper.model.recall import FoundUnit, UnitQuery
from turnkeeper.model.unit import UnitRole
from turnkeeper.ports.memory import Memory
from turnkeeper.ports.plugins import Solution, SolveStatus, Statement, Task

MOST_LISTED = 12
MOST_LOOKED_AT = 200
MOST_OF_EACH = 3


async def known_here(task: Task, memory: Memory) -> list[FoundUnit]:
    """Evidence of the session, this turn included, newest first."""
    kept = as_found(await memory.newest(limit=MOST_LOOKED_AT))
    return [*as_found(task.staged[::-1]), *still_true(kept, task.staged)]


async def list_what_is_known(task: Task, memory: Memory) -> Solution:
    replies = speech().replies
    known = await known_here(task, memory)
    if not known:
        return plainly(replies["nothing_known"], known=False)
    listed = saying(known[:MOST_LISTED], lead=replies["what_i_know"], is_list=True)
    if len(known) <= MOST_LISTED:
        return listed
    more = Statement(text=replies["what_i_know_more"])
    return Solution(
        status=listed.status, statements=(*listed.statements, more), sources=listed.sources, is_list=listed.is_list
    )


async def list_all(role: UnitRole, question: Question, task: Task, memory: Memory) -> Solution | None:
    """All units of the session with this role; of preferences, those for or those against."""
    kind = question.kind
    known = [found for found in await known_here(task, memory) if found.unit.role is role]
    if kind in (QuestionKind.PREFERENCES, QuestionKind.DISLIKES):
        # What somebody else likes is no preference of the user.
        mine = set(speech().questions["first_person"])
        known = [found for found in known if not mine.isdisjoint(words_of(found.unit.content))]
    if kind is QuestionKind.PREFERENCES:
        known = [found for found in known if not is_negated(found.unit.content)]
    elif kind is QuestionKind.DISLIKES or (kind is QuestionKind.CONSTRAINTS and is_negated(question.rest)):
        known = [found for found in known if is_negated(found.unit.content)]
    return saying(known[:MOST_LISTED], is_list=True) if known else None


async def list_related(question: Question, triples: Triples) -> Solution | None:
    """What stands at the other end of a relation; what only follows comes after what was said."""
    assert question.name is not None, "a question for a relation names one end of it"
    assert question.relation is not None, "a question for a relation has one"
    chains = await triples.related(question.name, question.relation, backwards=question.backwards)
    if not chains:
        return None
    sources: list[FoundUnit] = []
    statements: list[Statement] = []
    for chain in chains[:MOST_LISTED]:
        places = []
        for premise in chain.premises:
            if premise not in sources:
                sources.append(premise)
                statements.append(each_said([premise])[0])
            places.append(sources.index(premise))
    statements = [Statement(text=said.text, rests_on=(place,)) for place, said in enumerate(statements)]
    return Solution(
        status=SolveStatus.SUCCESS,
        statements=tuple(statements),
        sources=tuple(sources),
        is_list=len(statements) > 2,
    )


async def list_comparison(question: Question, evidence: Evidence, memory: Memory) -> Solution:
    """What is said of both, else what is said of each."""
    sides = [meanings_in(name) for name in question.others]
    both = [
        match.found
        for match in evidence.matches
        if all(side <= meanings_of(match.found.unit) for side in sides) and match.found.unit.is_evidence
    ]
    comparing = [found for found in both if found.unit.role is UnitRole.COMPARISON]
    if comparing:
        return saying(comparing[:MOST_OF_EACH])
    each: list[FoundUnit] = []
    for name, side in zip(question.others, sides, strict=True):
        found: Sequence[FoundUnit] = await memory.search(UnitQuery(words=name, limit=4))
        said = {one.unit.id for one in each}
        each += [one for one in found if side <= meanings_of(one.unit) and one.unit.id not in said][:MOST_OF_EACH]
    if not each:
        return not_known([], question)
    return saying(each, lead=speech().replies["no_comparison"], is_list=True)
