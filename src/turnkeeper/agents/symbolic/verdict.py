"""Deciding yes or no: by what was said, by what follows from it, and never because nothing was found."""

import re
from collections.abc import Sequence

from turnkeeper.agents.symbolic.inference import Chain, Triples
from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.matching import Evidence
from turnkeeper.agents.symbolic.question import Question, verb_forms
from turnkeeper.agents.symbolic.saying import each_said, not_known
from turnkeeper.agents.symbolic.words import is_negated, meaning, meanings_of, search_words, telling, words_of
from turnkeeper.model.recall import FoundUnit, UnitQuery
from turnkeeper.model.unit import Relation
from turnkeeper.ports.memory import Memory
from turnkeeper.ports.plugins import Solution, SolveStatus, Statement

MOST_WORDS = 14


async def decide(question: Question, evidence: Evidence, triples: Triples, memory: Memory) -> Solution:
    """What is said of exactly this comes before what follows from its kind."""
    denied = is_negated(question.rest)
    said = [match.found for match in evidence.matches if match.cover == 1 and _in_order(question.words, match.found)]
    for found in said:
        if is_negated(found.unit.content) and not denied:
            return _verdict(False, (found,))
    if not denied and (chain := await _chain(question, triples)) is not None:
        return _verdict(True, chain.premises)
    for found in said:
        return _verdict(is_negated(found.unit.content) == denied, (found,))
    if not denied and (turned := _turned_round(question, evidence)) is not None:
        return _verdict(False, (turned,))
    if (premises := await _of_its_kind(question, triples, memory)) is not None:
        return _verdict(is_negated(premises[-1].unit.content) == denied, premises)
    if not denied and (other := _other_value(question, evidence)) is not None:
        return _verdict(False, (other,))
    if not denied and (other := _other_number(question, evidence)) is not None:
        lead = Statement(text=speech().replies["not_so_far"])
        return Solution(status=SolveStatus.SUCCESS, statements=(lead, *each_said([other])), sources=(other,))
    return not_known(evidence.related(), question)


def _verdict(verdict: bool, premises: tuple[FoundUnit, ...]) -> Solution:
    word = speech().replies["yes" if verdict else "no"]
    return Solution(
        status=SolveStatus.SUCCESS,
        statements=(Statement(text=f"{word}."), *each_said(premises)),
        sources=premises,
        verdict=verdict,
    )


def _in_order(wanted: Sequence[str], found: FoundUnit) -> bool:
    """Whether the unit says these words in the order of the question: A uses B is not B uses A."""
    said = [meaning(word) for word in words_of(found.unit.content)]
    if not set(wanted) <= set(said):
        said = [meaning(word) for word in words_of(f"{found.unit.topic} {found.unit.content}")]
    places = iter(said)
    return all(word in places for word in wanted)


def _turned_round(question: Question, evidence: Evidence) -> FoundUnit | None:
    """A comparison that says the same the other way round: where A is more than B, B is not more than A."""
    asked = _sides(question.rest)
    if asked is None:
        return None
    for match in evidence.matches:
        said = _sides(match.found.unit.content)
        if match.cover < 1 or said is None or is_negated(match.found.unit.content):
            continue
        (asked_more, asked_less), (said_more, said_less) = asked, said
        # How they are compared stands with the first of them: it is what both first sides share.
        quality = asked_more & said_more
        if quality and asked_more - quality <= said_less and asked_less <= said_more:
            return match.found
    return None


def _sides(text: str) -> tuple[set[str], set[str]] | None:
    """What is said to be more, and what it is compared with."""
    words, comparing = words_of(text), speech().words["comparing"]
    for place, word in enumerate(words):
        if word in comparing:
            return set(telling(" ".join(words[:place]))), set(telling(" ".join(words[place:]))) - {meaning(word)}
    return None


def _other_value(question: Question, evidence: Evidence) -> FoundUnit | None:
    """A unit that gives what has one value at a time another value than the question supposes."""
    for match in evidence.matches:
        slot = telling(match.found.unit.slot or "")
        missing = [
            word for word in question.words if word not in {meaning(w) for w in words_of(match.found.unit.content)}
        ]
        if slot and missing and set(slot) <= set(question.words) and not set(missing) & set(slot):
            return match.found
    return None


def _other_number(question: Question, evidence: Evidence) -> FoundUnit | None:
    """A unit that says all of it with another number."""
    asked = [word for word in question.words if word[0].isdigit()]
    for match in evidence.matches:
        said = meanings_of(match.found.unit)
        others = [word for word in question.words if word not in asked]
        has_numbers = any(word[0].isdigit() for word in said)
        if asked and others and has_numbers and said.isdisjoint(asked) and said.issuperset(others):
            return match.found
    return None


async def _of_its_kind(question: Question, triples: Triples, memory: Memory) -> tuple[FoundUnit, ...] | None:
    """What is said of a kind of the thing in question, with why it is one of that kind."""
    words = question.rest.split()[:MOST_WORDS]
    for cut in range(1, len(words)):
        front, back = " ".join(words[:cut]), " ".join(words[cut:])
        if not telling(front) or not telling(back):
            continue
        for kind in await triples.related(front, Relation.INSTANCE_OF):
            wanted = [*telling(kind.name), *telling(back)]
            for found in await memory.search(UnitQuery(words=search_words(f"{kind.name} {back}"), limit=5)):
                if meanings_of(found.unit).issuperset(wanted) and _in_order(wanted, found):
                    return *kind.premises, found
    return None


async def _chain(question: Question, triples: Triples) -> Chain | None:
    words = question.rest.split()
    if not 2 <= len(words) <= MOST_WORDS:
        return None
    fronts = [" ".join(words[:cut]) for cut in range(1, len(words))]
    await triples.look_up(fronts)
    for front in fronts:
        back = question.rest[len(front) + 1 :]
        for relation, target, turned in _relations_in(question.opening, back):
            chain = await (triples.chain(target, relation, front) if turned else triples.chain(front, relation, target))
            if chain is not None:
                return chain
    return None


def _relations_in(first: str, back: str) -> list[tuple[Relation, str, bool]]:
    """How the words behind a name may be read: as a relation and the name at its other end."""
    readings = []
    for words in speech().relations:
        for verbs, turned in ((words.verbs, False), (words.whole_verbs, True)):
            for verb in verbs:
                is_be = verb.startswith("be ")
                pattern = re.escape(verb.removeprefix("be ")) if is_be else verb_forms(verb)
                if found := re.fullmatch(rf"(?:an? )?{pattern} (.+)", back):
                    readings.append((words.relation, found[1], turned))
    if first in speech().questions["being"]:
        readings.append((Relation.INSTANCE_OF, back, False))
    if first in speech().questions["being_able"]:
        readings.append((Relation.HAS_CAPABILITY, back, False))
    return readings
