"""Whether a payload keeps to a JSON Schema, each violation with its pointer."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from turnkeeper.channels.shapes import MOST_FAULTS, below
from turnkeeper.errors import ChannelPayloadInvalid, ExtraMissing

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

MOST_KEPT = 200
_MOST_PATTERN_BYTES = 1 << 20


def check_payload(payload: Mapping[str, Any], schema: Any, *, pointer: str = "") -> None:
    """Raises ChannelPayloadInvalid with every violation, up to a number; and for a schema that is none."""
    if not isinstance(schema, Mapping | bool):
        raise ChannelPayloadInvalid.at("/settings/schema", "of the binding must be a JSON Schema")
    try:
        validator = _compiled(json.dumps(schema, sort_keys=True, allow_nan=False))
    except (ValueError, TypeError, RecursionError):
        raise ChannelPayloadInvalid.at("/settings/schema", "of the binding is not a usable JSON Schema") from None
    faults = []
    for error in validator.iter_errors(dict(payload)):
        place = pointer
        for part in error.instance_path:
            place = below(place, part)
        faults.append({"pointer": place, "message": error.message})
        if len(faults) == MOST_FAULTS:
            break
    if faults:
        counted = "one violation" if len(faults) == 1 else f"{len(faults)} violations"
        raise ChannelPayloadInvalid(f"The payload has {counted} of its schema. See details.", details=faults)


@lru_cache(maxsize=MOST_KEPT)
def _compiled(schema: str) -> "Draft202012Validator":
    try:
        from jsonschema_rs import Draft202012Validator, RegexOptions
    except ModuleNotFoundError as missing:
        raise ExtraMissing("packs", str(missing.name)) from None
    # Patterns are linear, so that no payload keeps them busy; `mask` keeps what was sent out of errors and logs.
    return Draft202012Validator(
        json.loads(schema),
        pattern_options=RegexOptions(size_limit=_MOST_PATTERN_BYTES),
        validate_formats=True,
        offline=True,
        mask="it",
    )
