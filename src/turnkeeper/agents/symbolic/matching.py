"""How well units answer a question: which of its words they speak of, and whether they hold the kind of answer."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.question import Question, QuestionKind
from turnkeeper.agents.symbolic.words import is_negated, meaning, meanings_in, meanings_of, stem, telling, words_of
from turnkeeper.model.names import name_key
from turnkeeper.model.recall import FoundUnit
from turnkeeper.model.unit import Relation, UnitRole

MOST_ANSWERS = 3
MOST_SPOKEN_OF = 8
CLOSE = 0.5
USER = "user"
ABOUT_THE_USER = 0.5
SIDED = (
    QuestionKind.WHO,
    QuestionKind.WHAT,
    QuestionKind.WHERE,
    QuestionKind.WHEN,
    QuestionKind.WHICH,
    QuestionKind.HOW_MANY,
    QuestionKind.DEFINE,
    QuestionKind.RELATED,
)
DENIAL_IS_NO_ANSWER = (QuestionKind.WHO, QuestionKind.WHERE, QuestionKind.RELATED)
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
        answering = [match for match in self.matches if match.cover == 1 and match.fits and self._on_its_side(match)]
        return [match.found for match in answering if match.rank == answering[0].rank][:MOST_ANSWERS]

    def _on_its_side(self, match: Match) -> bool:
        return stands_on_its_side(self._question, match.found)

    def speaking_of_all(self) -> list[FoundUnit]:
        """Units that speak of everything that the question is about."""
        return [match.found for match in self.matches if match.cover == 1][:MOST_SPOKEN_OF]

    def defining(self) -> list[FoundUnit]:
        """Units that say what the name is; then, if there are none, facts whose topic is that name."""
        key = name_key(self._question.name or "")
        own = [match for match in self.matches if _is_about(match.found, key) and self._on_its_side(match)]
        kinds = [match.found for match in own if _defines(match.found)]
        if valued := [match.found for match in self.matches if self._gives_value(match)]:
            return valued[:1]
        if kinds:
            return kinds[:MOST_ANSWERS]
        if own:
            return [match.found for match in own][:MOST_ANSWERS]
        return [
            match.found for match in self.matches if match.cover == 1 and match.focus > 0 and self._on_its_side(match)
        ][:MOST_ANSWERS]

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
            return _names_place(question, text)
        case QuestionKind.WHY:
            explains = found.unit.role is UnitRole.EXPLANATION or found.unit.relation is Relation.CAUSES
            said = f" {' '.join(words_of(text))} "
            return explains or any(f" {reason} " in said for reason in words["reasons"])
        case QuestionKind.HOW:
            return found.unit.role in (UnitRole.PROCEDURE, UnitRole.CONSTRAINT, UnitRole.DESCRIPTION)
        case _:
            return True


def _names_place(question: Question, text: str) -> bool:
    """Whether a word for a place leads to something that is no time; where a thing is, right behind its being there."""
    words, said = speech().words, words_of(text)
    asks_for_being = words_of(question.rest)[:1] and words_of(question.rest)[0] in speech().questions["being"]
    about = set(question.words)
    for place, word in enumerate(said[:-1]):
        if word not in words["places"]:
            continue
        behind = [each for each in said[place + 1 :] if each not in words["determiners"]]
        before = said[place - 1] if place else ""
        if not behind or _tells_time(behind):
            continue
        if not asks_for_being or before in words["staying"] or meaning(before) in about:
            return True
    return False


def _tells_time(words: Sequence[str]) -> bool:
    """ "Six" and "9 pm" and "Mondays" are times; "9 High Street" is a place."""
    times = {stem(time) for time in speech().words["times"]}
    is_number = words[0][0].isdigit() or words[0] in speech().words["numbers"]
    return stem(words[0]) in times or (is_number and (len(words) == 1 or stem(words[1]) in times))


def stands_on_its_side(question: Question, found: FoundUnit) -> bool:
    """Whether what is asked for can be what the unit leaves over: who bit the dog is not whom the dog bit."""
    words, text = speech().words, found.unit.content
    said, asked = words_of(f"{found.unit.topic} {text}"), words_of(question.rest)
    if question.kind not in SIDED:
        return True
    asks_denied = is_negated(question.text)
    if question.kind in DENIAL_IS_NO_ANSWER and is_negated(text) and not asks_denied:
        return False
    if not _has_owners(asked, said) or not _has_speaker(question, words_of(text)):
        return False
    if (than := _behind_than(asked)) is not None:
        behind = _behind_than(words_of(text))
        return behind is not None and than <= behind
    if (question.kind is QuestionKind.WHO and question.name is None) or question.kind is QuestionKind.RELATED:
        meanings = [meaning(word) for word in words_of(text)]
        wanted = [meaning(word) for word in asked if word not in words["asking"]]
        places = iter(meanings)
        first = next((place for place, word in enumerate(meanings) if wanted and word == wanted[0]), 0)
        # "Whom does A pay" asks for what follows the verb, "who pays A" for what stands before it.
        helped = asked[:1] and asked[0] in speech().questions["yes_no"]
        subject_asked = (question.kind is QuestionKind.WHO and not helped) or question.backwards
        return all(word in places for word in wanted) and (first > 0 or not subject_asked)
    return True


def _has_owners(asked: Sequence[str], said: Sequence[str]) -> bool:
    """Whoever owns in the question owns in the unit: as "A's", or behind "of"."""
    owners = [word for word in asked if word.endswith("'s")]
    wanted = {meaning(word) for word in asked}
    behind_of = {word for word, before in zip(said[1:], said, strict=False) if before in speech().words["owning"]}
    behind_of |= {
        word
        for place, word in enumerate(said[2:], start=2)
        if said[place - 2] in speech().words["owning"] and said[place - 1] in speech().words["determiners"]
    }
    if not all(owner in said or owner.removesuffix("'s") in behind_of for owner in owners):
        return False
    is_owned = bool(owners) or not speech().words["of_speakers"].isdisjoint(asked)
    # "My sister's name" is not my name.
    others = [
        word
        for word, after in pairwise(said)
        if word.endswith("'s") and meaning(after) in wanted and meaning(word) not in wanted
    ]
    of = [after for word, after in pairwise(asked) if word in speech().words["owning"]]
    turned = [word for word in of if word in said and word not in behind_of and f"{word}'s" not in said]
    return not (is_owned and others) and not (turned and behind_of - set(asked))


def _has_speaker(question: Question, said: Sequence[str]) -> bool:
    """Where "I" live is told by what says "I", not by what says "my brother"."""
    speakers = speech().words["speakers"] | speech().words["to_speakers"]
    asked = words_of(question.text)
    return speakers.isdisjoint(asked) or not speech().words["of_speakers"] & set(said) or not speakers.isdisjoint(said)


def _behind_than(words: Sequence[str]) -> set[str] | None:
    for place, word in enumerate(words):
        if word in speech().words["comparing"]:
            return set(telling(" ".join(words[place + 1 :])))
    return None


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
