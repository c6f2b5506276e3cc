"""The formats that a text field may have: those of JSON Schema that are checked, and two of our own."""

import re
from collections.abc import Callable, Mapping

CLOCK_TIME = "clock-time"
"""A time of day without an offset: 19:30. The format `time` of JSON Schema demands an offset."""

PHONE = "phone"
"""A telephone number that can exist, written as of E.164: +4930123456."""

FORMATS = frozenset(
    (
        *("date", "time", "date-time", "duration", "email", "idn-email", "hostname", "ipv4", "ipv6"),
        *("uri", "uri-reference", "iri", "uuid", CLOCK_TIME, PHONE),
    )
)

_CLOCK = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]")
_E164 = re.compile(r"\+[1-9][0-9]{5,14}")


def is_clock_time(text: str) -> bool:
    return _CLOCK.fullmatch(text) is not None


def is_phone(text: str) -> bool:
    # phonenumbers reads many ways of writing; only the one is kept, so that a number can be compared and dialled.
    if not _E164.fullmatch(text):
        return False
    import phonenumbers

    try:
        return phonenumbers.is_possible_number(phonenumbers.parse(text))
    except phonenumbers.NumberParseException:
        return False


OWN_FORMATS: Mapping[str, Callable[[str], bool]] = {CLOCK_TIME: is_clock_time, PHONE: is_phone}
