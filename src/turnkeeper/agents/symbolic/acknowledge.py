"""Saying what was noted, when a message tells something and asks nothing."""

from collections.abc import Sequence

from turnkeeper.agents.symbolic.forgetting import forget, wants_to_forget
from turnkeeper.agents.symbolic.guidance import promises
from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.saying import in_words, plainly
from turnkeeper.agents.symbolic.small_talk import small_talk
from turnkeeper.agents.symbolic.staged import as_found
from turnkeeper.agents.symbolic.wishes import is_not_to_be_kept
from turnkeeper.agents.symbolic.words import is_readable
from turnkeeper.model.names import content_hash, name_key
from turnkeeper.model.recall import SESSION_PLACE, FoundUnit, UnitQuery
from turnkeeper.model.unit import Unit
from turnkeeper.ports.memory import Memory
from turnkeeper.ports.plugins import Solution, SolveStatus, Statement, Task

MOST_LOOKED_AT = 50


async def acknowledge(task: Task, memory: Memory) -> Solution:
    replies = speech().replies
    if (said := small_talk(task.seed.text)) is not None and not task.staged:
        return plainly(said)
    not_kept = is_not_to_be_kept(task.seed.text)
    if (what := wants_to_forget(task.seed.text)) is not None and not task.staged:
        forgotten = await forget(what, memory)
        if forgotten.forgets or not not_kept:
            return forgotten
    statements = [Statement(text=replies["not_kept"])] if not_kept else []
    statements += [Statement(text=promise) for promise in promises(task.staged)]
    noted = as_found(task.staged)
    known = await _known_like(noted, memory) if noted else []
    new = [found for found in noted if _hash(found.unit) not in {_hash(each.unit) for each in known}]
    for found in noted:
        if found not in new:
            statements.append(Statement(text=replies["known_already"].format(what=_inside(in_words(found)))))
    if len(new) == 1:
        statements.append(Statement(text=replies["noted"].format(what=_inside(in_words(new[0])))))
    elif new:
        statements.append(Statement(text=replies["noted_many"]))
        statements += [Statement(text=in_words(found)) for found in new]
    for old in _replaced(new, known):
        statements.append(Statement(text=replies["corrected"].format(what=_inside(in_words(old)))))
    if not statements:
        return plainly(replies["nothing" if is_readable(task.seed.text) else "not_english"], known=False)
    return Solution(status=SolveStatus.SUCCESS, statements=tuple(statements), is_list=len(new) > 1)


def noted_too(staged: Sequence[Unit]) -> list[str]:
    """What was noted beside a question that could not be answered, so that it does not seem lost."""
    said = [in_words(found) for found in as_found(staged)]
    return [speech().replies["noted"].format(what=_inside(" ".join(said)))] if said else []


async def _known_like(noted: Sequence[FoundUnit], memory: Memory) -> list[FoundUnit]:
    """What is kept already and may be the same, or may be what is corrected."""
    known = {unit.id: unit for unit in await memory.newest(limit=MOST_LOOKED_AT)}
    for found in noted:
        query = UnitQuery(words=f"{found.unit.slot or found.unit.topic} {found.unit.content}", limit=5)
        for each in await memory.search(query):
            if each.place == SESSION_PLACE:
                known[each.unit.id] = each.unit
    return as_found(known.values())


def _replaced(new: Sequence[FoundUnit], known: Sequence[FoundUnit]) -> list[FoundUnit]:
    gone = {found.unit.supersedes for found in new if found.unit.supersedes}
    slots = {name_key(found.unit.slot) for found in new if found.unit.slot}
    return [
        found
        for found in known
        if found.unit.id in gone or (found.unit.slot is not None and name_key(found.unit.slot) in slots)
    ]


def _hash(unit: Unit) -> str:
    return unit.hash or content_hash(unit)


def _inside(said: str) -> str:
    """As it stands behind a colon: a common first word loses its capital."""
    first = said.split(" ")[0]
    return said[0].lower() + said[1:] if first.casefold() in speech().words["asking"] and first != "I" else said
