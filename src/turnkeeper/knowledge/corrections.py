"""What a message takes back: finding the known unit, and the full sentence that a few words stand for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from turnkeeper.knowledge.grammar import Grammar
from turnkeeper.knowledge.phrases import MARKS, Words
from turnkeeper.knowledge.statements import is_negative, verb_at
from turnkeeper.model.names import name_key
from turnkeeper.model.unit import Unit

_ALIKE = 0.5
_DENIED = 0.75
_SAME_TOPIC = 0.5
_SAME_OPENING = 0.5
_LONGEST_VALUE = 8


class Known:
    """Units that a message may correct, the newest first; their words are cut once, and only when they are needed."""

    def __init__(self, units: Sequence[Unit], grammar: Grammar) -> None:
        self._units = units
        self._grammar = grammar

    def __bool__(self) -> bool:
        return bool(self._units)

    @property
    def newest(self) -> str | None:
        """What was spoken of last."""
        return self._units[0].topic if self._units else None

    def __iter__(self) -> Iterator[tuple[Unit, Words]]:
        return iter(self._pairs)

    @cached_property
    def _pairs(self) -> list[tuple[Unit, Words]]:
        return [(unit, self._grammar.read(unit.content)) for unit in self._units]


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """The unit that is no longer true, and the sentence that is now."""

    claim: str
    unit: Unit


def corrected_by(
    words: Words, topic: str, slot: str | None, known: Known, grammar: Grammar, *, announced: bool
) -> Unit | None:
    """The known unit that a full sentence takes the place of. Without an announcement only its denial does."""
    said = telling(words, grammar)
    opening = _opening(words, grammar)
    denies = is_negative(words, grammar)
    best: Unit | None = None
    best_score = 0.0
    for unit, claim in known:
        if announced and slot and unit.slot == slot:
            return unit
        theirs = telling(claim, grammar)
        if not said or not theirs or (said == theirs and denies == is_negative(claim, grammar)):
            continue
        score = len(said & theirs) / min(len(said), len(theirs))
        if score and name_key(unit.topic) == name_key(topic):
            score += _SAME_TOPIC
        if announced and opening and opening == _opening(claim, grammar):
            score += _SAME_OPENING
        needed = _ALIKE if announced else _DENIED if denies != is_negative(claim, grammar) else 2.0
        if not announced and not theirs <= said and not said <= theirs:
            continue
        if score >= needed and score > best_score:
            best, best_score = unit, score
    return best


def telling(words: Words, grammar: Grammar) -> set[str]:
    """The words that carry meaning, but for those that only deny."""
    dropped = grammar.stop_words | grammar.words("negation") | grammar.finite | set(MARKS)
    return {grammar.stem(token.norm) for token in words.tokens if token.norm not in dropped}


def _opening(words: Words, grammar: Grammar) -> list[str]:
    """The subject with its verb."""
    verb = verb_at(words, grammar)
    return [token.norm for token in words.tokens[: verb + 1]] if verb is not None else []


def few_words(words: Words, known: Known, grammar: Grammar) -> Correction | None:
    """The sentence that "port 81", "not Paris but Lyon" or "it's Lyon" stands for, out of the known unit it fits."""
    new, old = _new_and_old(words, grammar)
    if not len(new) or len(new) > _LONGEST_VALUE:
        return None
    for unit, claim in known:
        span = _named_span(claim, old) if len(old) else _fitting_span(claim, new, grammar)
        value = new
        if span is None and not len(old):
            value = _without_shared(new, claim, grammar)
            span = _fitting_span(claim, value, grammar) if 0 < len(value) < len(new) else None
        if span is not None:
            return Correction(claim=_replaced(claim, span, value), unit=unit)
    return None


def _without_shared(new: Words, claim: Words, grammar: Grammar) -> Words:
    """ "Port 81" is 81, where the claim speaks of the port already."""
    shared = telling(claim, grammar)
    begin = 0
    while begin < len(new) and (grammar.stem(new[begin]) in shared or new[begin] in grammar.words("determiner")):
        begin += 1
    return new.part(begin)


def _new_and_old(words: Words, grammar: Grammar) -> tuple[Words, Words]:
    """The new value, and the old one where it is named."""
    words = _without_marks(words)
    begin = grammar.correction_value.begin_of(words)
    words = _without_marks(words.part(begin))
    instead = grammar.correction_instead.span(words)
    if instead:
        return _without_marks(words.part(0, instead[0])), _without_marks(words.part(instead[1]))
    at = next((i for i in range(len(words)) if words[i] in grammar.words("not")), None)
    if at is None:
        return words, words.part(0, 0)
    if at > 0:
        return _without_marks(words.part(0, at)), _without_marks(words.part(at + 1))
    turn = next((i for i in range(1, len(words)) if words[i] in grammar.correction_but), None)
    if turn is None:
        return words.part(0, 0), words.part(1)
    rest = _without_marks(words.part(turn + 1))
    rest = _without_marks(rest.part(grammar.correction_value.begin_of(rest)))
    return rest, _without_marks(words.part(1, turn))


def _without_marks(words: Words) -> Words:
    begin, end = 0, len(words)
    while begin < end and words[begin] in MARKS:
        begin += 1
    while end > begin and words[end - 1] in MARKS:
        end -= 1
    return words.part(begin, end)


def _named_span(claim: Words, old: Words) -> tuple[int, int] | None:
    """Where the old value stands in the claim."""
    wanted = [token.norm for token in old.tokens]
    for index in range(len(claim) - len(wanted) + 1):
        if [claim[index + step] for step in range(len(wanted))] == wanted:
            return index, index + len(wanted)
    return None


def _fitting_span(claim: Words, new: Words, grammar: Grammar) -> tuple[int, int] | None:
    """Where the new value belongs: beside words that it shares with the claim, or where a value of its kind stands."""
    wanted = [token.norm for token in new.tokens]
    best = max(
        (
            (sum(claim[index + step] == word for step, word in enumerate(wanted)), index)
            for index in range(len(claim) - len(wanted) + 1)
        ),
        default=(0, 0),
    )
    if 0 < best[0] < len(wanted) and set(wanted) - grammar.stop_words and _same_kinds(claim, best[1], new, grammar):
        return best[1], best[1] + len(wanted)
    if len(wanted) > 1 and {grammar.stem(word) for word in wanted} & telling(claim, grammar):
        return None
    kind = _kind(new, len(new) - 1, grammar)
    verb = verb_at(claim, grammar)
    for index in range(len(claim) - 1, -1, -1):
        if _kind(claim, index, grammar) == kind != "" and index != verb:
            begin = index
            while begin > 0 and kind == _NAME and _kind(claim, begin - 1, grammar) == kind and begin - 1 != 0:
                begin -= 1
            return begin, index + 1
    if verb is None or claim[verb] not in grammar.words("copula") or kind not in ("", _NAME):
        return None
    begin = verb + 1
    if claim[begin] in grammar.words("preposition") and new[0] not in grammar.words("preposition"):
        begin += 1
    return (begin, len(claim)) if begin < len(claim) else None


def _same_kinds(claim: Words, at: int, new: Words, grammar: Grammar) -> bool:
    """Whether every word of the new value stands where a word of its kind stood."""
    return all(
        claim[at + step] == new[step] or _kind(claim, at + step, grammar) == _kind(new, step, grammar)
        for step in range(len(new))
    )


_NUMBER, _DAY, _MONTH, _NAME = "number", "day", "month", "name"


def _kind(words: Words, index: int, grammar: Grammar) -> str:
    """What kind of value a word is; empty for a plain word."""
    word = words[index]
    if any(letter.isdigit() for letter in word) or word in grammar.words("numeral"):
        return _NUMBER
    if word in grammar.words("weekday"):
        return _DAY
    if word in grammar.words("month"):
        return _MONTH
    plain = word in grammar.stop_words or word in MARKS
    return (
        _NAME if index > 0 and not plain and words.is_capital(index) else "" if index else _first_kind(words, grammar)
    )


def _first_kind(words: Words, grammar: Grammar) -> str:
    """A capital at the begin of a sentence tells nothing, unless the value is all there is."""
    alone = len(words) <= 3 and all(words.is_capital(i) for i in range(len(words)))
    return _NAME if alone and words[0] not in grammar.stop_words else ""


def _replaced(claim: Words, span: tuple[int, int], new: Words) -> str:
    first, last = claim.tokens[span[0]], claim.tokens[span[1] - 1]
    return claim.text[: first.start] + " ".join(new.said.split()) + claim.text[last.end :]
