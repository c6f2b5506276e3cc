"""Deciding yes or no: by what was said, by what follows from it, and never because nothing was found."""

import re
from collections.abc import Sequence

from turnkeeper.agents.symbolic.clause import Supposed, is_unsettled, other_value, speaks_of_kind, verdict_of
from turnkeeper.agents.symbolic.inference import Chain, Triples
from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.matching import Evidence
from turnkeeper.agents.symbolic.question import Question, verb_forms
from turnkeeper.agents.symbolic.saying import each_said, not_known
from turnkeeper.agents.symbolic.words import is_negated, meaning, search_words, telling, words_of
from turnkeeper.model.recall import FoundUnit, UnitQuery
from turnkeeper.model.unit import Relation
from turnkeeper.ports.memory import Memory
from turnkeeper.ports.plugins import Solution, SolveStatus, Statement

MOST_WORDS = 14
PER_KIND = 5


async def decide(question: Question, evidence: Evidence, triples: Triples, memory: Memory) -> Solution:
    """What is said of exactly this comes before what follows from its kind, and the nearer kind before the farther."""
    supposed = Supposed(question.opening, question.rest)
    said = _said(supposed, [match.found for match in evidence.matches])
    for verdict, found in said:
        if not verdict:
            return _verdict(False, (found,))
    chain = None if supposed.is_denied else await _chain(question, triples)
    if said and chain is None:
        return _verdict(True, (said[0][1],))
    of_kind = None if said else await _of_its_kind(question, supposed, triples, memory)
    if of_kind is not None and (chain is None or len(of_kind[1]) <= len(chain.premises)):
        return _verdict(*of_kind)
    if chain is not None:
        return _verdict(True, chain.premises)
    if not supposed.is_denied and (turned := _turned_round(question, evidence)) is not None:
        return _verdict(False, (turned,))
    for match in evidence.matches:
        if match.found.unit.slot and other_value(question, match.found):
            return _verdict(False, (match.found,))
    for match in evidence.matches:
        if not supposed.is_denied and verdict_of(supposed, match.found, any_number=True):
            lead = Statement(text=speech().replies["not_so_far"])
            other = match.found
            return Solution(status=SolveStatus.SUCCESS, statements=(lead, *each_said([other])), sources=(other,))
    return not_known(evidence.related(), question)


def _said(supposed: Supposed, found: Sequence[FoundUnit]) -> list[tuple[bool, FoundUnit]]:
    verdicts = [(verdict_of(supposed, each), each) for each in found]
    return [(verdict, each) for verdict, each in verdicts if verdict is not None]


def _verdict(verdict: bool, premises: tuple[FoundUnit, ...]) -> Solution:
    word = speech().replies["yes" if verdict else "no"]
    return Solution(
        status=SolveStatus.SUCCESS,
        statements=(Statement(text=f"{word}."), *each_said(premises)),
        sources=premises,
        verdict=verdict,
    )


def _turned_round(question: Question, evidence: Evidence) -> FoundUnit | None:
    """A comparison that says the same the other way round: where A is more than B, B is not more than A."""
    asked = _sides(question.rest)
    if asked is None:
        return None
    for match in evidence.matches:
        said = _sides(match.found.unit.content)
        text = match.found.unit.content
        if match.cover < 1 or said is None or is_negated(text) or is_unsettled(text):
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


async def _of_its_kind(
    question: Question, supposed: Supposed, triples: Triples, memory: Memory
) -> tuple[bool, tuple[FoundUnit, ...]] | None:
    """What is said of the nearest kind of the thing in question, with why it is one of that kind."""
    words = question.rest.split()[:MOST_WORDS]
    nearest: tuple[bool, tuple[FoundUnit, ...]] | None = None
    for cut in range(1, len(words)):
        front, back = " ".join(words[:cut]), " ".join(words[cut:])
        if not telling(front) or not telling(back):
            continue
        for kind in await triples.related(front, Relation.INSTANCE_OF):
            of_kind = supposed.about(front, kind.name)
            if of_kind is None or (nearest is not None and len(nearest[1]) <= len(kind.premises)):
                continue
            found = await memory.search(UnitQuery(words=search_words(f"{kind.name} {back}"), limit=PER_KIND))
            said = _said(of_kind, [each for each in found if speaks_of_kind(each.unit.content)])
            for verdict, each in sorted(said, key=lambda one: one[0])[:1]:
                nearest = verdict, (*kind.premises, each)
    return nearest


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
