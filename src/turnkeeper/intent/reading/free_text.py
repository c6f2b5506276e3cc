"""Texts that no library reads: what stands behind the name of a field, and the answer to a question for a text."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from turnkeeper.intent.collecting import CLEARED
from turnkeeper.intent.form import Field, Kind
from turnkeeper.intent.language import Language
from turnkeeper.intent.reading.claims import Claims
from turnkeeper.intent.reading.corrections import is_wrong
from turnkeeper.intent.reading.lists import split_list
from turnkeeper.intent.reading.mentions import Mention
from turnkeeper.intent.reading.message import Message
from turnkeeper.intent.reading.phrases import any_of, pattern_of
from turnkeeper.intent.reading.said import PieceKind
from turnkeeper.intent.reading.whole import is_question, plain, without_polite
from turnkeeper.intent.validators import validator_of

_MOST_LEAD_INS = 5
_MOST_WORDS = 60
_PROSE_CHARS = 200
_SENTENCE_END = re.compile(r"[.!?](?= |\n|$)|\n|;")
_CAPITALIZED = re.compile(r" ((?:[^\W\d_a-z][\w'-]*)(?: [^\W\d_a-z][\w'-]*){0,4})")
_WORDS = re.compile(r"[\w'-]+")


def named_texts(message: Message, claims: Claims) -> dict[str, Any]:
    """ "my name is Ann", "set the notes to no nuts", "from New York"."""
    found: dict[str, Any] = {}
    for mention in message.mentions:
        field = mention.field
        if not is_text(field) or field.name in found or claims.holds(mention.start, mention.end):
            continue
        span = _behind_link(mention, message) or _place(mention, message)
        if span is not None:
            claims.take(mention.start, span[1], field.name)
            found[field.name] = _value(field, message.said.written(*span), message.language)
        elif _is_refused(mention, message):
            claims.take(0, len(message.said.text), field.name)
            found[field.name] = CLEARED
    return found


def asked_text(message: Message, claims: Claims, found: dict[str, Any]) -> dict[str, Any]:
    """What is left of the message, if a text was asked for; values that stand amidst such words are part of them."""
    asked = message.asked
    if asked is None or not is_text(asked) or asked.name in found or is_question(message.said.text, message.language):
        return {}
    span = _unclaimed(message, claims)
    if span is None:
        return {}
    if _takes_prose(asked) and not any(claims.spans()):
        span = (0, len(message.said.text))
    for name in claims.fields_within(*span):
        found.pop(name, None)
    return {asked.name: _value(asked, message.said.written(*span), message.language)}


def is_text(field: Field) -> bool:
    return field.kind is Kind.TEXT or (
        field.kind is Kind.LIST and field.item is not None and field.item.kind is Kind.TEXT
    )


def _behind_link(mention: Mention, message: Message) -> tuple[int, int] | None:
    text = message.said.text
    link = _link(message.language).match(text, mention.end)
    if link is None or is_wrong(message.said, mention.end, message.language):
        return None
    end = _SENTENCE_END.search(text, link.end())
    stop = end.start() if end else len(text)
    if mention.field.kind is not Kind.LIST:
        stop = _first_other_clause(message, mention, link.end(), stop)
    return (link.end(), stop) if text[link.end() : stop].strip() else None


def _first_other_clause(message: Message, mention: Mention, start: int, stop: int) -> int:
    """Where something else begins: "my name is Ann and we are 4 people"."""
    text = message.said.text
    joints = [*_joint(message.language).finditer(text, start, stop)]
    for number, joint in enumerate(joints):
        until = joints[number + 1].start() if number + 1 < len(joints) else stop
        if _is_other(message, mention, joint.end(), until) or (
            joint[0].startswith(",") and text[joint.end()].islower()
        ):
            return joint.start()
    return stop


def _is_other(message: Message, mention: Mention, start: int, end: int) -> bool:
    named = any(start <= each.start < end and each.field != mention.field for each in message.mentions)
    return named or any(start <= each.start < end and each.kind is not PieceKind.NUMBER for each in message.pieces)


def _place(mention: Mention, message: Message) -> tuple[int, int] | None:
    if mention.alias not in message.language.names.places:
        return None
    found = _CAPITALIZED.match(message.said.text, mention.end)
    if found is None or any(piece.overlaps(*found.span(1)) for piece in message.pieces):
        return None
    return found.span(1)


def _is_refused(mention: Mention, message: Message) -> bool:
    """Whether the whole message says that there is none: "no special wishes"."""
    said = without_polite(message.said.text, message.language)
    return any(said == f"{none} {plain(mention.alias)}" for none in message.language.answers.none_of)


def _unclaimed(message: Message, claims: Claims) -> tuple[int, int] | None:
    """From the first to the last clause that is not spoken for."""
    left = [span for span in _clauses(message) if not _is_spoken_for(message, claims, *span)]
    return (left[0][0], left[-1][1]) if left else None


def _clauses(message: Message) -> Iterator[tuple[int, int]]:
    text = message.said.text
    start = 0
    for joint in _joint(message.language).finditer(text):
        yield start, joint.start()
        start = joint.end()
    yield start, len(text)


def _is_spoken_for(message: Message, claims: Claims, start: int, end: int) -> bool:
    rest = list(message.said.text[start:end])
    for taken_start, taken_end in claims.spans():
        for place in range(max(start, taken_start), min(end, taken_end)):
            rest[place - start] = " "
    words = _fillers(message.language).sub(" ", "".join(rest))
    return _WORDS.search(words) is None


def _value(field: Field, written: str, language: Language) -> Any:
    if field.kind is Kind.LIST:
        return split_list(_trimmed(written, language), language)
    if _takes_prose(field):
        return written.strip()
    text = _trimmed(written, language)
    return _fitting(field, text)


def _takes_prose(field: Field) -> bool:
    """Whether there is room for whole sentences: then each word of them is meant as it stands."""
    return bool(field.schema.get("maxLength", 0) >= _PROSE_CHARS)


def _fitting(field: Field, text: str) -> str:
    """The word that the pattern of the field wants, where the whole text is not it."""
    if "pattern" in field.schema and not validator_of(field.schema).is_valid(text):
        for word in text.split(maxsplit=_MOST_WORDS)[:_MOST_WORDS]:
            if validator_of(field.schema).is_valid(word.strip(".,;:!?")):
                return word.strip(".,;:!?")
    return text


def _trimmed(written: str, language: Language) -> str:
    text = written.strip(" \n\t,;:").strip()
    for _ in range(_MOST_LEAD_INS):
        shorter = _lead_in(language).sub("", text)
        shorter = _lead_out(language).sub("", shorter)
        if shorter == text or not shorter.strip(" ,.!"):
            break
        text = shorter
    return text.strip(" \n\t,;:!").removesuffix(".").strip()


@cache
def _link(language: Language) -> re.Pattern[str]:
    return pattern_of(rf" ?{any_of(language.names.text_links)} ?")


@cache
def _joint(language: Language) -> re.Pattern[str]:
    return pattern_of(rf", | ?{any_of((language.numbers.joint,))} |[.;!?]\s|\n")


@cache
def _lead_in(language: Language) -> re.Pattern[str]:
    return pattern_of(rf"^{any_of(language.texts.lead_in)}[ ,:]+")


@cache
def _lead_out(language: Language) -> re.Pattern[str]:
    return pattern_of(rf"[ ,]+{any_of(language.texts.lead_out)}[.! ]*$")


@cache
def _fillers(language: Language) -> re.Pattern[str]:
    names, texts, rules = language.names, language.texts, language.corrections
    return pattern_of(
        any_of(
            (
                *(*names.links, *names.articles, *texts.lead_in, *texts.lead_out),
                *(*language.answers.polite, *rules.cues, *rules.first, *rules.clear, *texts.fillers),
                *language.numbers.wanted_before,
            )
        )
    )
