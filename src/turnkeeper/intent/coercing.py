"""The value that was meant, in the type of its field. What cannot be made out stays as it is, and is then refused."""

import re
from typing import Any

from turnkeeper.intent.choices import choice_of
from turnkeeper.intent.form import Field, Kind
from turnkeeper.intent.language import language_of
from turnkeeper.intent.reading.contacts import phone_of
from turnkeeper.intent.reading.lists import split_list
from turnkeeper.intent.reading.numbers import number_of
from turnkeeper.intent.reading.whole import whole_answer

_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::\d{2})?")
MOST_CHARS = 4_000


def coerced(field: Field, value: Any) -> Any:
    if value is None:
        return None
    if field.kind is Kind.LIST:
        return _list(field, value)
    if isinstance(value, float) and value.is_integer() and field.kind is Kind.INTEGER:
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and field.kind is Kind.TEXT:
        return str(value)
    if isinstance(value, str) and len(value) <= MOST_CHARS:
        return _from_text(field, value.strip())
    return value


def _from_text(field: Field, text: str) -> Any:
    meant: Any = None
    match field.kind:
        case Kind.INTEGER | Kind.NUMBER:
            meant = number_of(text, language_of())
        case Kind.BOOLEAN:
            meant = whole_answer(text, language_of())
        case Kind.CHOICE:
            meant = choice_of(field, text)
        case Kind.CLOCK_TIME if clock := _CLOCK.fullmatch(text):
            meant = f"{int(clock[1]):02}:{clock[2]}"
        case Kind.PHONE:
            meant = phone_of(text, None)
    return text if meant is None else meant


def _list(field: Field, value: Any) -> Any:
    assert field.item is not None
    if isinstance(value, str):
        value = split_list(value, language_of())
    if not isinstance(value, list | tuple):
        value = [value]
    return [coerced(field.item, each) for each in value]
