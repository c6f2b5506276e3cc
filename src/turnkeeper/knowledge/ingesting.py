"""Making units out of a source: cut into chunks, read sentence by sentence, each with the place it came from."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from turnkeeper.knowledge.grammar import grammar
from turnkeeper.knowledge.sentences import sentences
from turnkeeper.knowledge.text_form.read import parse_units
from turnkeeper.model.ids import UnitId
from turnkeeper.model.knowledge_base import Source, SourceKind
from turnkeeper.model.names import content_hash
from turnkeeper.model.unit import Lifetime, PhaseScope, Unit, UnitRole
from turnkeeper.ports.extractor import Extractor

MOST_CHUNK_CHARS = 6_000
TOPIC_CHARS = 60
_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|(\d{1,9})[.)])[ \t]+(.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A stretch of a source that belongs together: a paragraph, a list, or a block of code under its heading."""

    text: str
    start: int
    kind: str
    heading: str | None = None

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def units_of_source(source: Source, extractor: Extractor, *, most: int) -> tuple[Unit, ...]:
    """Every unit of a source, each content once; of too many only one more than `most`.

    Raises UnitTextInvalid for a faulty document of units.
    """
    assert source.content is not None, "a source is read with its content"
    if source.kind in (SourceKind.UNITS, SourceKind.JOURNAL):
        found: Iterator[Unit] = iter(parse_units(source.content, max_chars=len(source.content)))
    else:
        found = _units_of_chunks(chunks_of(source.content, source.kind), extractor)
    units: dict[str, Unit] = {}
    for unit in found:
        placed = _of_source(unit, source, len(units))
        units.setdefault(content_hash(placed), placed)
        if len(units) > most:
            break
    return tuple(units.values())


def chunks_of(text: str, kind: SourceKind) -> Sequence[Chunk]:
    """The chunks of a text in order; in Markdown each knows the heading it stands under."""
    return [piece for chunk in _blocks(text, kind) for piece in _cut(chunk)]


def _blocks(text: str, kind: SourceKind) -> Iterator[Chunk]:
    is_markdown = kind is SourceKind.MARKDOWN
    heading, start, place, in_fence = None, None, 0, False
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        title = _HEADING.fullmatch(bare) if is_markdown and not in_fence else None
        if is_markdown and _FENCE.match(line):
            in_fence = not in_fence
        if start is not None and (title or (not bare and not in_fence)):
            yield _block(text, start, place, heading)
            start = None
        if title:
            heading = title[2]
        elif bare and start is None:
            start = place
        place += len(line)
    if start is not None:
        yield _block(text, start, place, heading)


def _block(text: str, start: int, end: int, heading: str | None) -> Chunk:
    said = text[start:end].rstrip()
    kind = "markdown-section" if heading else "paragraph-block"
    return Chunk(text=said, start=start, kind=kind, heading=heading)


def _cut(chunk: Chunk) -> Iterator[Chunk]:
    """A chunk that is too long is cut at the end of a line or a sentence, or else anywhere."""
    text, start = chunk.text, chunk.start
    while len(text) > MOST_CHUNK_CHARS:
        at = max(text.rfind("\n", 0, MOST_CHUNK_CHARS), text.rfind(". ", 0, MOST_CHUNK_CHARS) + 1)
        at = at if at > 0 else MOST_CHUNK_CHARS
        yield replace(chunk, text=text[:at], start=start, kind="fixed-window")
        start += at
        text = text[at:]
    yield replace(chunk, text=text, start=start)


def _units_of_chunks(chunks: Sequence[Chunk], extractor: Extractor) -> Iterator[Unit]:
    for index, chunk in enumerate(chunks):
        for unit in _units_of_chunk(chunk, extractor):
            yield replace(unit, chunk_index=index)


def _units_of_chunk(chunk: Chunk, extractor: Extractor) -> Iterator[Unit]:
    items = [match for line in chunk.text.splitlines() if (match := _ITEM.fullmatch(line))]
    if len(items) > 1 and all(item[1] for item in items):
        steps = "\n".join(f"{number}. {item[2].strip()}" for number, item in enumerate(items, 1))
        yield _unit(chunk, steps, UnitRole.PROCEDURE, topic=chunk.heading)
        return
    if _FENCE.match(chunk.text):
        yield _unit(chunk, chunk.text, UnitRole.DESCRIPTION, topic=chunk.heading)
        return
    flowing = " ".join(chunk.text.split())
    said = [item[2] for item in items] or [flowing[each.start : each.end] for each in sentences(flowing, grammar("en"))]
    for sentence in said:
        yield from _units_of_sentence(chunk, sentence.strip(), extractor)


def _units_of_sentence(chunk: Chunk, sentence: str, extractor: Extractor) -> Iterator[Unit]:
    """What the extractor reads in it; what it makes nothing of is still worth finding again, but for questions."""
    read = extractor.extract(sentence)
    evidence = [unit for unit in read.units if unit.is_evidence]
    for unit in evidence:
        start = max(chunk.text.find(unit.content), 0) + chunk.start
        yield replace(
            unit,
            phase_scopes=(PhaseScope.KNOWLEDGE,),
            char_start=start,
            char_end=start + len(unit.content),
            chunk_type=chunk.kind,
            section_title=chunk.heading,
        )
    if not evidence and not read.asked and any(letter.isalnum() for letter in sentence):
        yield _unit(chunk, sentence, UnitRole.DESCRIPTION, topic=chunk.heading)


def _unit(chunk: Chunk, said: str, role: UnitRole, *, topic: str | None) -> Unit:
    is_procedure = role is UnitRole.PROCEDURE
    return Unit(
        id=UnitId("staged::unit-000"),
        source_id="source",
        chunk_id="source::chunk-000",
        role=role,
        topic=topic or _topic_of(said),
        claim=None if is_procedure else said,
        procedure=said if is_procedure else None,
        char_start=chunk.start,
        char_end=chunk.end,
        chunk_type=chunk.kind,
        section_title=chunk.heading,
    )


def _topic_of(said: str) -> str:
    words = " ".join(said.split())
    return words if len(words) <= TOPIC_CHARS else words[:TOPIC_CHARS].rsplit(" ", 1)[0]


def _of_source(unit: Unit, source: Source, index: int) -> Unit:
    """In a source nobody speaks to us: what is written there lasts, and takes the place of nothing."""
    chunk_id = f"{source.id}::chunk-{unit.chunk_index or 0:03d}"
    return replace(
        unit,
        id=UnitId(f"{chunk_id}::unit-{index:03d}"),
        source_id=source.id,
        chunk_id=chunk_id,
        source_name=source.name,
        source_type=source.kind.value,
        unit_index=index,
        ingested_at=source.added_at.isoformat(),
        lifetime=Lifetime.SESSION,
        slot=None,
        supersedes=None,
        hash=content_hash(unit),
    )
