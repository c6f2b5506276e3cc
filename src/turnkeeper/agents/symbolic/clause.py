"""What one clause says of what a question supposes: that it is so, that it is not, or nothing for certain.

A sentence that merely holds the words of the question says nothing. The same is said of the same: the subject, the
verb and what follows it stand in the clause as in the question, with nothing telling between them.
"""

import re
from collections.abc import Iterator, Sequence

from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.question import Question
from turnkeeper.agents.symbolic.saying import without_pronoun
from turnkeeper.agents.symbolic.words import meaning, stem, words_of
from turnkeeper.model.recall import SESSION_PLACE, FoundUnit

MOST_WORDS = 14
MOST_SAID = 60
_BREAK = re.compile(r"[,;:](?=\s)|[()\n]|\s[-\u2013\u2014]\s")


def spread(text: str) -> list[str]:
    """The words of a text, with short forms spread out: "isn't" as "is not"."""
    said = f" {' '.join(words_of(text))} "
    for short, instead in speech().spread.items():
        said = said.replace(f" {short} ", f" {instead} ")
    return said.split()


class Supposed:
    """What a yes-no question supposes, as the sentences that would say it."""

    def __init__(self, opening: str, rest: str) -> None:
        words, rules = speech().words, speech().questions
        opened = (spread(opening) or [""])[0]
        asked = spread(rest)[:MOST_WORDS]
        self.opening = opened
        self.is_denied = not words["denying"].isdisjoint(asked)
        self.words = [word for word in asked if word not in words["denying"] | words["articles"] | words["passing"]]
        self.all_words = {opened, *asked}
        self.is_do = opened in words["doing"]
        self.is_being = opened in rules["being"]
        self.of_the_user = bool(self.words) and self.words[0] in words["speakers"]

    def sentences(self) -> Iterator[list[str]]:
        """The question as a statement: its verb may stand behind any of its words."""
        if self.is_do:
            yield self.words
            return
        for place in range(1, len(self.words) + (not self.is_being)):
            yield [*self.words[:place], self.opening, *self.words[place:]]

    def about(self, front: str, kind: str) -> "Supposed | None":
        """The same supposed of a kind of the thing that `front` names."""
        named = [word for word in spread(front) if word in self.words]
        if not named or self.words[: len(named)] != named or len(named) == len(self.words):
            return None
        of_kind = Supposed(self.opening, " ".join([*spread(kind), *self.words[len(named) :]]))
        of_kind.is_denied = self.is_denied
        return of_kind


def verdict_of(supposed: Supposed, found: FoundUnit, *, any_number: bool = False) -> bool | None:
    """Whether the unit says that it is so; None where it leaves it open."""
    for clause in _clauses(supposed, found):
        for sentence in supposed.sentences():
            if (affirmed := _affirms(clause, sentence, supposed, any_number)) is not None:
                return affirmed != supposed.is_denied
        if (affirmed := _orders(clause, supposed)) is not None:
            return affirmed != supposed.is_denied
    return None


def is_unsettled(text: str, asked: set[str] | None = None) -> bool:
    """Whether it is a condition, a guess, a report, a wish: said without being said to be so."""
    said = f" {' '.join(spread(text))} "
    known = {stem(word) for word in asked or ()}
    found = [phrase for phrase in speech().words["unsettled"] if f" {phrase} " in said]
    return any(not {stem(word) for word in phrase.split()} <= known for phrase in found)


def speaks_of_kind(text: str) -> bool:
    """Whether its subject is a kind as a whole: not some of them, and not one that is meant."""
    first = (spread(text) or [""])[0]
    return first not in speech().words["partial"] and first not in speech().words["definite"]


def speaks_of_some(text: str) -> bool:
    return (spread(text) or [""])[0] in speech().words["partial"]


def other_value(question: Question, found: FoundUnit) -> bool:
    """Whether the unit gives what has one value at a time another one of the same sort than is supposed."""
    supposed = Supposed(question.opening, question.rest)
    if not supposed.is_being or supposed.is_denied:
        return False
    for clause in _clauses(supposed, found):
        said = [word for word in clause if word not in speech().words["articles"] | speech().words["passing"]]
        for place in range(1, len(supposed.words)):
            front, value = [*supposed.words[:place], supposed.opening], supposed.words[place:]
            begun, rest = said[: len(front)], said[len(front) :]
            if (
                len(begun) == len(front)
                and all(map(_same, begun, front))
                and len(rest) == len(value) == 1
                and rest != value
                and _sort_of(rest[0], found.unit.content) == _sort_of(value[0], question.text) != ""
            ):
                return True
    return False


def _sort_of(word: str, text: str) -> str:
    if word[0].isdigit():
        return "number"
    return "name" if word.capitalize() in re.findall(r"[\w-]+", text) else ""


def _clauses(supposed: Supposed, found: FoundUnit) -> list[list[str]]:
    """What the unit says for certain, each thing as a clause of its own."""
    unit = found.unit
    text = without_pronoun(unit.content, unit.topic)
    words = speech().words
    if unit.condition or is_unsettled(text, supposed.all_words) or len(words_of(text)) > MOST_SAID:
        return []
    if found.place != SESSION_PLACE and not words["speakers"].isdisjoint(spread(text)):
        return []
    joint = speech().questions["and"][0]
    first, *others = _BREAK.split(text.strip(" .!\n"))
    if others and f" {joint} " in f" {others[-1]} ":
        first = f" {joint} ".join([first, *others])
    said = spread(first)
    for place, word in enumerate(said):
        if place and word in words["breaking"]:
            said = said[:place]
            break
    return list(_joined(said, joint, supposed))


def _joined(said: list[str], joint: str, supposed: Supposed) -> Iterator[list[str]]:
    """ "A likes tea and milk" says two things, as does "A and B like tea"."""
    parts: list[list[str]] = [[]]
    for word in said:
        if word == joint:
            parts.append([])
        else:
            parts[-1].append(word)
    parts = [part for part in parts if part]
    if not parts:
        return
    first, *others = parts
    yield first
    if not others:
        return
    last = others[-1]
    owned = not speech().words["owning"].isdisjoint(first) or any(_owns(word) for part in parts for word in part)
    for part in others:
        for place in range(1, len(first)):
            yield [*first[:place], *part]
        if not owned:
            yield part
    subject = [word for word in first if word not in speech().words["articles"] | speech().words["passing"]]
    if not owned and supposed.words[: len(subject)] == subject:
        for place in range(1, len(last)):
            yield [*first, *last[place:]]


def _orders(clause: Sequence[str], supposed: Supposed) -> bool | None:
    """ "Never do it" answers whether we may."""
    if supposed.opening not in speech().words["permitting"] or not supposed.of_the_user:
        return None
    affirmed = _affirms(clause, supposed.words[1:], supposed, False)
    if affirmed is None:
        for other in speech().words["permitting"]:
            sentence = [supposed.words[0], other, *supposed.words[1:]]
            # Who must not do it may not do it either; who should do it need not be able to.
            if _affirms(clause, sentence, supposed, False) is False:
                return False
    return affirmed


def _affirms(clause: Sequence[str], sentence: Sequence[str], supposed: Supposed, any_number: bool) -> bool | None:
    words = speech().words
    at, denials, turned, past = 0, 0, 0, False
    left: Sequence[str] = ()
    counted = any(map(_is_number, sentence))
    for place, word in enumerate(clause):
        before = clause[place - 1] if place else ""
        after = clause[place + 1] if place + 1 < len(clause) else ""
        wanted = sentence[at] if at < len(sentence) else ""
        if wanted and (_same(word, wanted) or (any_number and _is_number(word) and _is_number(wanted))):
            if supposed.is_do and _is_past(word) and not _is_past(wanted):
                past = True
            past = past or word in words["unchanging"]
            turned += _is_opposite(word) != _is_opposite(wanted)
            at += 1
        elif word in words["denying"] and _denies_verb(word, before, at):
            denials += 1
        elif word in words["doing"] and after in words["denying"]:
            if not supposed.is_do and supposed.opening not in words["permitting"]:
                return None
            past = past or _is_past(word)
        elif not (_changes_nothing(word, place) or (at and not counted and at < len(sentence) and _counts(word))):
            left = clause[place:]
            break
    if at < len(sentence) or not _may_follow(left, supposed) or denials + turned > 1:
        return None
    if supposed.is_do and past != _is_past(supposed.opening) and not (past and words["unchanging"] & set(clause)):
        return None
    return denials + turned == 0


def _changes_nothing(word: str, place: int) -> bool:
    words = speech().words
    return word in words["articles"] or word in words["passing"] or (place == 0 and word in words["whole"])


def _is_opposite(word: str) -> bool:
    """ "Hates" speaks of liking and denies it."""
    return stem(word) in {stem(denial) for denial in speech().words["negations"]}


def _counts(word: str) -> bool:
    return _is_number(word) or word in speech().words["partial"]


def _denies_verb(word: str, before: str, at: int) -> bool:
    """ "Not" denies the verb that it follows; behind other words it only sets something apart."""
    return word not in speech().words["not"] or before in speech().questions["yes_no"] or at == 0


def _may_follow(left: Sequence[str], supposed: Supposed) -> bool:
    words = speech().words
    if not left:
        return True
    if left[0] not in words["adjoining"]:
        return False
    timed = any(_is_number(word) or meaning(word) in {meaning(time) for time in words["times"]} for word in left)
    return not (timed and supposed.is_being and not _is_past(supposed.opening))


def _same(said: str, asked: str) -> bool:
    words = speech().words
    if said == asked:
        return True
    if _owns(said) != _owns(asked):
        return False
    for group in ("is_now", "was_then", "has_now", "speakers", "of_speakers", "to_speakers"):
        if said in words[group] or asked in words[group]:
            return said in words[group] and asked in words[group]
    return meaning(said) == meaning(asked)


def _owns(word: str) -> bool:
    return word.endswith(("'s", "'"))


def _is_past(word: str) -> bool:
    return word in speech().words["past"] or (len(word) > 4 and word.endswith("ed") and not word.endswith("eed"))


def _is_number(word: str) -> bool:
    return word[0].isdigit() or word in speech().words["numbers"]
