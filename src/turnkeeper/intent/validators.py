"""Compiled validators of JSON Schemas, kept by the content of the schema."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from turnkeeper.intent.formats import OWN_FORMATS

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, RegexOptions

MOST_KEPT = 2_000
MOST_PATTERN_BYTES = 1 << 17
MOST_MATCHING_BYTES = 1 << 21
"""What one pattern may need by itself, and while it is matched. With less for the latter it is ten times as slow."""

DOES_NOT_COMPILE = (
    "This pattern does not compile, or is too large: write a regular expression as of ECMA 262, and minLength and "
    "maxLength instead of repeats that count far."
)
LOOKS_ELSEWHERE = (
    "Look-around and back-references cannot be used, as an answer could keep them busy for ever: write out what is to "
    "be found, or use enum, minLength and maxLength."
)
_LOOKS_ELSEWHERE = re.compile(r"\(\?<?[=!]|\\[1-9k]")


def validator_of(schema: Mapping[str, Any]) -> "Draft202012Validator":
    """With formats checked. Raises ValueError for a schema that is none."""
    return _compiled(as_json(schema))


def pattern_fault(pattern: str) -> str | None:
    """Why no form can have this pattern, and what to write instead.

    Patterns are matched by an engine whose work grows with the answer alone, so that no answer can keep it busy.
    """
    from jsonschema_rs import Draft202012Validator

    try:
        Draft202012Validator({"pattern": pattern}, pattern_options=_linear())
    except ValueError:
        return LOOKS_ELSEWHERE if _LOOKS_ELSEWHERE.search(pattern) else DOES_NOT_COMPILE
    return None


def as_json(value: Any) -> bytes:
    """Raises ValueError or TypeError for what is no JSON. The order of names is kept."""
    return msgspec.json.encode(value, enc_hook=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


@lru_cache(maxsize=MOST_KEPT)
def _compiled(schema: bytes) -> "Draft202012Validator":
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator(
        msgspec.json.decode(schema),
        validate_formats=True,
        formats=dict(OWN_FORMATS),
        offline=True,
        pattern_options=_linear(),
    )


def _linear() -> "RegexOptions":
    from jsonschema_rs import RegexOptions

    return RegexOptions(size_limit=MOST_PATTERN_BYTES, dfa_size_limit=MOST_MATCHING_BYTES)
