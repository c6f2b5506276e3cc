"""Compiled validators of JSON Schemas, kept by the content of the schema."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from turnkeeper.intent.formats import OWN_FORMATS

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

MOST_KEPT = 2_000


def validator_of(schema: Mapping[str, Any]) -> "Draft202012Validator":
    """With formats checked. Raises ValueError for a schema that is none."""
    return _compiled(as_json(schema))


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
        msgspec.json.decode(schema), validate_formats=True, formats=dict(OWN_FORMATS), offline=True
    )
