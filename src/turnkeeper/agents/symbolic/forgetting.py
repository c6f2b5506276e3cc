"""Forgetting on request: which units a person wants to be forgotten."""

from turnkeeper.agents.symbolic.guidance import shape_words
from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.question import after_phrase, plain_form
from turnkeeper.agents.symbolic.saying import in_words, plainly
from turnkeeper.agents.symbolic.words import meanings_in, telling
from turnkeeper.model.recall import SESSION_PLACE, FoundUnit, UnitQuery
from turnkeeper.model.unit import PhaseScope
from turnkeeper.ports.memory import Memory
from turnkeeper.ports.plugins import Solution, SolveStatus, Statement

MOST_FORGOTTEN = 10


def wants_to_forget(text: str) -> str | None:
    """What is to be forgotten, in the words of the person; None when nothing is."""
    rest = after_phrase(plain_form(text), speech().questions["forget"])
    if rest is None:
        return None
    named = after_phrase(rest, speech().questions["forget_leads"])
    return rest if named is None else named


async def forget(what: str, memory: Memory) -> Solution:
    """Only what the session itself knows is forgotten, and only what speaks of every word that was named."""
    replies = speech().replies
    if what in speech().questions["forget_all"]:
        return plainly(replies["forget_all"], known=False)
    found = await _meant(what, memory)
    if not found:
        return plainly(replies["forget_nothing"], known=False)
    said = [in_words(each) for each in found]
    statements = (Statement(text=replies["forgotten"]), *(Statement(text=line) for line in said))
    return Solution(
        status=SolveStatus.SUCCESS,
        statements=statements,
        is_list=len(found) > 1,
        forgets=tuple(each.unit.id for each in found),
    )


async def _meant(what: str, memory: Memory) -> list[FoundUnit]:
    if not what or what in speech().questions["forget_last"]:
        newest = await memory.newest(limit=1)
        return [FoundUnit(unit=unit, place=SESSION_PLACE, score=1.0) for unit in newest]
    words = meanings_in(" ".join(telling(what)))
    if about := shape_words(what):
        guidance = await memory.guidance(PhaseScope.SOLVE, limit=MOST_FORGOTTEN)
        ended = [each for each in guidance if each.place == SESSION_PLACE and about & shape_words(each.unit.content)]
        if ended:
            return ended
    found = await memory.search(UnitQuery(words=what, limit=MOST_FORGOTTEN))
    return [
        each
        for each in found
        if each.place == SESSION_PLACE and words <= meanings_in(f"{each.unit.topic} {each.unit.content}")
    ]
