"""Reading units out of a text that somebody hands in."""

from enum import StrEnum

from turnkeeper.knowledge.text_form.read import parse_units
from turnkeeper.model.unit import Unit
from turnkeeper.ports.extractor import Extractor


class ImportFormat(StrEnum):
    """`units` is their text form; `text` is plain text, read as if it had been said."""

    UNITS = "units"
    TEXT = "text"


def units_in(text: str, format: str, extractor: Extractor) -> tuple[Unit, ...]:
    """Raises UnitTextInvalid when the text form has a fault; then nothing of it is taken."""
    if format == ImportFormat.UNITS:
        return parse_units(text)
    return extractor.extract(text).units
