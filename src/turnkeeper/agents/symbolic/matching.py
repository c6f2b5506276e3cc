"""How well units answer a question: which of its words they speak of, and whether they hold the kind of answer."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.question import Question, QuestionKind
from turnkeeper.agents.symbolic.words import meaning, meanings_in, meanings_of, stem, telling, words_of
from turnkeeper.model.names import name_key
from turnkeeper.model.recall import FoundUnit
from turnkeeper.model.unit import Relation, UnitRole

MOST_ANSWERS = 3
MOST_SPOKEN_OF = 8
CLOSE = 0.5
USER = "user"
ABOUT_THE_USER = 0.5
_NUMBER = re.compile(r"\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """`cover` is the share of the question's words that the unit speaks of, `focus` that of its topic in the question.

    `fits` says that the unit holds the kind of answer that is asked for: a number, a time, a place, a reason.
    """

    found: FoundUnit
    cover: float
    focus: float
    fits: bool

    @property
    def rank(self) -> tuple[float, bool, float]:
        return self.cover, self.fits, round(self.focus, 1)


class Evidence:
    """The units that were found for one question, matched with it."""

    def __init__(self, question: Question, found: Sequence[FoundUnit]) -> None:
        self._question = question
        matches = [_match(question, each) for each in found]
        self.matches = sorted(matches, key=lambda match: (*match.rank, match.found.score), reverse=True)

    def answers(self) -> list[FoundUnit]:
        """Those that answer best and equally well.

        A unit that leaves out a word of the question speaks of something else, however close it comes: where a person
        lives says nothing about where her mother does.
        """
        answering = [match for match in self.matches if match.cover == 1 and match.fits]
        return [match.found for match in answering if match.rank == answering[0].rank][:MOST_ANSWERS]

    def speaking_of_all(self) -> list[FoundUnit]:
        """Units that speak of everything that the question is about."""
        return [match.found for match in self.matches if match.cover == 1][:MOST_SPOKEN_OF]

    def defining(self) -> list[FoundUnit]:
        """Units that say what the name is; then, if there are none, facts whose topic is that name."""
        key = name_key(self._question.name or "")
        own = [match for match in self.matches if _is_about(match.found, key)]
        kinds = [match.found for match in own if _defines(match.found)]
        if valued := [match.found for match in self.matches if self._gives_value(match)]:
            return valued[:1]
        if kinds:
            return kinds[:MOST_ANSWERS]
        if own:
            return [match.found for match in own][:MOST_ANSWERS]
        return [match.found for match in self.matches if match.cover == 1 and match.focus > 0][:MOST_ANSWERS]

    def _gives_value(self, match: Match) -> bool:
        """Whether the unit gives the one value of exactly what is asked for."""
        slot = {word for word in telling(match.found.unit.slot or "") if word != USER}
        return bool(slot) and slot == set(self._question.words)

    def related(self) -> list[FoundUnit]:
        """Units about the same thing, though they do not answer."""
        close = [match.found for match in self.matches if match.cover >= CLOSE]
        return close or [match.found for match in self.matches if match.cover > 0 and match.focus == 1]


def _match(question: Question, found: FoundUnit) -> Match:
    unit = found.unit
    spoken = meanings_of(unit)
    wanted = question.words
    # "The user" is who asks, and is not named in a question.
    topic = [word for word in telling(unit.topic) if word != USER]
    return Match(
        found=found,
        cover=sum(word in spoken for word in wanted) / len(wanted) if wanted else 0.0,
        focus=sum(word in wanted for word in topic) / len(topic) if topic else ABOUT_THE_USER,
        fits=_holds_answer(question, found),
    )


def _holds_answer(question: Question, found: FoundUnit) -> bool:
    words, text = speech().words, found.unit.content
    in_text = set(words_of(text)) - set(words_of(question.rest))
    match question.kind:
        case QuestionKind.HOW_MANY | QuestionKind.WHEN:
            spans = {stem(word) for group in ("numbers", "times") for word in words[group]}
            return bool(_NUMBER.search(text)) or not spans.isdisjoint(map(stem, in_text))
        case QuestionKind.WHERE:
            return not words["places"].isdisjoint(in_text)
        case QuestionKind.WHY:
            explains = found.unit.role is UnitRole.EXPLANATION or found.unit.relation is Relation.CAUSES
            said = f" {' '.join(words_of(text))} "
            return explains or any(f" {reason} " in said for reason in words["reasons"])
        case QuestionKind.HOW:
            return found.unit.role in (UnitRole.PROCEDURE, UnitRole.CONSTRAINT, UnitRole.DESCRIPTION)
        case _:
            return True


def _is_about(found: FoundUnit, key: str) -> bool:
    unit = found.unit
    named = {meaning(word) for word in words_of(key)}
    return any(
        {meaning(word) for word in words_of(name_key(name))} == named
        for name in (unit.topic, unit.subject or "")
        if name
    ) or (found.unit.role is UnitRole.DEFINITION and named <= meanings_in(unit.topic))


def _defines(found: FoundUnit) -> bool:
    return found.unit.role is UnitRole.DEFINITION or found.unit.relation is Relation.INSTANCE_OF
