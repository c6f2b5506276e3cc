"""Which choices of the form a message names."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from turnkeeper.intent.choices import choice_of, forms_of, plain_words
from turnkeeper.intent.form import Field, Kind
from turnkeeper.intent.reading.claims import Claims
from turnkeeper.intent.reading.corrections import is_unwanted
from turnkeeper.intent.reading.message import Message
from turnkeeper.intent.reading.phrases import pattern_of

MOST_KEPT = 1_000
_MOST_WORDS = 12
_WORD = re.compile(r"[^\W_]+")


def selected(message: Message, claims: Claims) -> dict[str, Any]:
    """The field that was asked for first, so that a label which two fields share goes to that one."""
    fields = sorted(
        (field for field in message.form.fields if _is_selected(field)),
        key=lambda field: (field != message.asked, not message.mentions_of(field)),
    )
    found: dict[str, Any] = {}
    for field in fields:
        chosen = list(_exact(field, message, claims)) or list(_close(field, message, claims))
        if chosen:
            found[field.name] = list(dict.fromkeys(chosen)) if field.kind is Kind.LIST else chosen[0]
    return found


def _is_selected(field: Field) -> bool:
    return bool(field.choices) and (field.kind is Kind.CHOICE or field.kind is Kind.LIST)


def _exact(field: Field, message: Message, claims: Claims) -> Iterator[Any]:
    pattern, choices = _labels(message.form.fields.index(field), message.form)
    for found in pattern.finditer(message.said.text):
        said = plain_words(found[0])
        if said.isdigit() and field != message.asked:
            continue
        if claims.holds(found.start(), found.end()) or is_unwanted(message.said, found.start(), message.language):
            continue
        claims.take(found.start(), found.end(), field.name)
        yield choices[said]
        if field.kind is Kind.CHOICE:
            return


def _close(field: Field, message: Message, claims: Claims) -> Iterator[Any]:
    """With a typo, when it was asked for or named."""
    if field != message.asked and not message.mentions_of(field):
        return
    words = list(_WORD.finditer(message.said.text))[:_MOST_WORDS]
    for length in (3, 2, 1):
        for first, last in zip(words, words[length - 1 :], strict=False):
            start, end = first.start(), last.end()
            choice = choice_of(field, message.said.text[start:end])
            if choice is not None and not claims.holds(start, end):
                claims.take(start, end, field.name)
                yield choice


@lru_cache(maxsize=MOST_KEPT)
def _labels(place: int, form: Any) -> tuple[re.Pattern[str], dict[str, Any]]:
    field = form.fields[place]
    choices: dict[str, Any] = {}
    for choice in field.choices:
        for label in (*field.labels_of(choice), str(choice)):
            for spelled in forms_of(plain_words(label)) if plain_words(label) else ():
                choices.setdefault(spelled, choice)
    names = "|".join(r"[\W_]".join(map(re.escape, each.split())) for each in sorted(choices, key=len, reverse=True))
    return pattern_of(rf"(?<!\w)(?:{names or '(?!)'})(?!\w)"), choices
