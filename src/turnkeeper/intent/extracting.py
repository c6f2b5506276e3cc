"""What a message answers in a form, by rules: no model is asked.

A value goes to one field only: to the one that is named beside it, else to the one that was asked for, else to the only
one that can take it; a number only where the words around it say how many or how much is wanted. Words that nothing
claims become the answer to a question for a text.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from turnkeeper.intent.choices import plain_words
from turnkeeper.intent.collecting import CLEARED, Answer, Progress, put
from turnkeeper.intent.collecting import progress as progress_of
from turnkeeper.intent.form import Field, Kind, form_of
from turnkeeper.intent.language import Language, language_of
from turnkeeper.intent.reading.assigning import assigned
from turnkeeper.intent.reading.belonging import belonging
from turnkeeper.intent.reading.claims import Claims
from turnkeeper.intent.reading.corrections import clears, corrects, doubts, is_unwanted
from turnkeeper.intent.reading.counting import counted
from turnkeeper.intent.reading.free_text import asked_text, is_text, named_texts
from turnkeeper.intent.reading.mentions import hints_in, mentions_in
from turnkeeper.intent.reading.message import Message
from turnkeeper.intent.reading.number_lists import number_lists
from turnkeeper.intent.reading.pieces import pieces_in
from turnkeeper.intent.reading.said import MOST_READ, said_in
from turnkeeper.intent.reading.selecting import selected
from turnkeeper.intent.reading.truths import truths
from turnkeeper.intent.reading.whole import bare_name, is_drop, is_idle, is_skip, whole_answer
from turnkeeper.model.pack import JsonSchema


class Wish(StrEnum):
    YES = "yes"
    NO = "no"
    DROP = "drop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """`wish` is set when the whole message is a yes, a no, or says that the form is not wanted any more.

    `names_field` is a field that is to be changed, without saying to what. `is_correction` says that something is taken
    back that was said before.
    """

    answers: tuple[Answer, ...] = ()
    wish: Wish | None = None
    is_correction: bool = False
    names_field: str | None = None


def read_answers(
    text: str,
    schema: JsonSchema,
    held: Progress | Mapping[str, Any],
    *,
    asked: str | None,
    confirming: bool,
    now: datetime,
    region: str | None = None,
    locale: str | None = None,
) -> Reading:
    """`now` is aware and in the time zone in which dates are meant. Nothing is judged: `put` does that."""
    fields = held.fields if isinstance(held, Progress) else held
    language = language_of(locale)
    form = form_of(schema)
    open_field = None if asked is None else form.field(asked)
    said = said_in(text, language)
    if is_drop(said.text, language) and not _is_choice(said.text, open_field):
        return Reading(wish=Wish.DROP)
    if is_idle(said.text, language) or is_idle(text[:MOST_READ], language):
        return Reading()
    short = _whole(said.text, open_field, schema, fields, language, confirming=confirming)
    if short is not None:
        return short
    pieces = pieces_in(said, language, now=now, region=region, asked=open_field.kind if open_field else None)
    mentions = mentions_in(said, form, open_field, language)
    pieces = belonging(pieces, said, mentions, language)
    message = Message(
        said=said,
        language=language,
        form=form,
        held=fields,
        asked=open_field,
        now=now,
        pieces=pieces,
        mentions=mentions,
        hints=hints_in(said, form, language),
        unwanted=tuple(piece for piece in pieces if is_unwanted(said, piece.start, language)),
        corrects=corrects(said, language),
    )
    return _read(message, confirming=confirming)


def _whole(
    text: str, asked: Field | None, schema: JsonSchema, held: Mapping[str, Any], language: Language, *, confirming: bool
) -> Reading | None:
    """A message that is nothing but a yes, a no, or a wish to leave the question out.

    While a summary is confirmed, a yes or a no is about that.
    """
    meant = whole_answer(text, language)
    if asked is not None and not (confirming and meant is not None):
        if asked.kind is Kind.BOOLEAN and meant is not None:
            return Reading(answers=(Answer(asked.name, meant),))
        if is_skip(text, language) and _may_be_left_out(asked, schema, held):
            return Reading(answers=(Answer(asked.name, CLEARED),))
        if is_skip(text, language) and is_text(asked) and meant is None:
            return Reading()
        if meant is not None and _is_choice(text, asked):
            return None
    return None if meant is None else Reading(wish=Wish.YES if meant else Wish.NO)


def _is_choice(text: str, asked: Field | None) -> bool:
    if asked is None or not asked.choices:
        return False
    labels = (label for choice in asked.choices for label in (*asked.labels_of(choice), str(choice)))
    return plain_words(text) in map(plain_words, labels)


def _may_be_left_out(field: Field, schema: JsonSchema, held: Mapping[str, Any]) -> bool:
    without = put(schema, held, [Answer(field.name, CLEARED)]).fields
    return field.name not in progress_of(schema, without).missing


def _read(message: Message, *, confirming: bool) -> Reading:
    claims = Claims()
    found = dict(_taken_back(message, claims))
    found |= named_texts(message, claims)
    found |= assigned(message, claims)
    found |= number_lists(message, claims)
    found |= selected(message, claims)
    found |= counted(message, claims)
    found |= truths(message, claims)
    found |= asked_text(message, claims, found)
    is_correction = (message.corrects or (confirming and _is_replaced(message, found))) and not _is_plain_no(
        message, found
    )
    return Reading(
        answers=tuple(Answer(field.name, found[field.name]) for field in message.form.fields if field.name in found),
        is_correction=is_correction and CLEARED not in found.values(),
        names_field=None if found else _doubted(message),
    )


def _taken_back(message: Message, claims: Claims) -> Iterator[tuple[str, Any]]:
    for mention in message.mentions:
        if clears(message.said, mention.start, message.language) and not claims.holds(mention.start, mention.end):
            claims.take(mention.start, mention.end, mention.field.name)
            yield mention.field.name, CLEARED


def _is_replaced(message: Message, found: Mapping[str, Any]) -> bool:
    """Whether an answer that was asked for once more takes the place of the one that is held."""
    asked = message.asked
    return asked is not None and asked.name in found and message.holds(asked) is not None


def _is_plain_no(message: Message, found: Mapping[str, Any]) -> bool:
    """A no to a question for a yes or no corrects nothing."""
    asked = message.asked
    return asked is not None and asked.kind is Kind.BOOLEAN and [*found] == [asked.name]


def _doubted(message: Message) -> str | None:
    said = bare_name(message.said.text, message.language)
    for mention in message.mentions:
        if said == mention.alias or doubts(message.said, mention.start, mention.end, message.language):
            return mention.field.name
    return None
