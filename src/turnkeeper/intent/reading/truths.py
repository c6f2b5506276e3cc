"""What a message says yes or no to."""

import re
from functools import cache
from typing import Any

from turnkeeper.intent.form import Field, Kind
from turnkeeper.intent.language import Language
from turnkeeper.intent.reading.claims import Claims
from turnkeeper.intent.reading.mentions import Mention
from turnkeeper.intent.reading.message import Message
from turnkeeper.intent.reading.phrases import any_of, pattern_of
from turnkeeper.intent.reading.whole import first_answer, is_question, whole_answer

_WINDOW = 40


def truths(message: Message, claims: Claims) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in message.form.fields:
        if field.kind is Kind.BOOLEAN:
            meant = _meant(field, message, claims)
            if meant is not None:
                found[field.name] = meant
    return found


def _meant(field: Field, message: Message, claims: Claims) -> bool | None:
    """Named with a yes, a no or a negation, or only named; else, if it was asked for, how the message begins."""
    for mention in message.mentions_of(field):
        if not claims.holds(mention.start, mention.end) and not is_question(message.said.text, message.language):
            claims.take(mention.start, mention.end, field.name)
            return _named(mention, message)
    return first_answer(message.said.text, message.language) if field == message.asked else None


def _named(mention: Mention, message: Message) -> bool:
    text = message.said.text
    link = _link(message.language).match(text, mention.end)
    if link is not None:
        value = whole_answer(text[link.end() :].split(",")[0].split(".")[0], message.language)
        if value is not None:
            return value
    before = text[max(0, mention.start - _WINDOW) : mention.start]
    return _negated(message.language).search(before) is None


@cache
def _link(language: Language) -> re.Pattern[str]:
    return pattern_of(rf" ?{any_of(language.names.text_links)} ?")


@cache
def _negated(language: Language) -> re.Pattern[str]:
    return pattern_of(rf"{any_of(language.answers.negations)} (?:{any_of(language.names.articles)} )?$")
