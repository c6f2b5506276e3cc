"""Reading units out of a text that somebody hands in."""

import asyncio
from enum import StrEnum

from turnkeeper.knowledge.ingesting import chunks_of
from turnkeeper.knowledge.text_form.read import parse_units
from turnkeeper.model.knowledge_base import SourceKind
from turnkeeper.model.unit import Unit
from turnkeeper.ports.extractor import Extractor


class ImportFormat(StrEnum):
    """`units` is their text form; `text` is plain text, read as if it had been said."""

    UNITS = "units"
    TEXT = "text"


async def units_in(text: str, format: str, extractor: Extractor) -> tuple[Unit, ...]:
    """In a thread, since a long text takes long. Raises UnitTextInvalid for a fault in the text form."""
    if format == ImportFormat.UNITS:
        return await asyncio.to_thread(parse_units, text)
    return await asyncio.to_thread(_units_said, text, extractor)


def _units_said(text: str, extractor: Extractor) -> tuple[Unit, ...]:
    """Paragraph by paragraph: what is said in one of them does not wait for the end of all."""
    chunks = chunks_of(text, SourceKind.TEXT)
    return tuple(unit for chunk in chunks for unit in extractor.extract(chunk.text).units)
