"""Making units out of a source: cut into chunks, read sentence by sentence, each with the place it came from."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from turnkeeper.knowledge.grammar import grammar
from turnkeeper.knowledge.sentences import sentences
from turnkeeper.knowledge.text_form.read import parse_units
from turnkeeper.knowledge.words import content_words
from turnkeeper.model.ids import UnitId
from turnkeeper.model.knowledge_base import Source, SourceKind
from turnkeeper.model.names import content_hash
from turnkeeper.model.unit import Lifetime, PhaseScope, Unit, UnitRole
from turnkeeper.ports.extractor import Extractor
from turnkeeper.wording import words_of

MOST_CHUNK_CHARS = 6_000
TOPIC_CHARS = 60
_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_ITEM = re.compile(r"(?P<indent>[ \t]*)(?:[-*+\u2022]|(?P<number>\d{1,9})[.)])[ \t]+(?=\S)")
_WORD = re.compile(r"\S+")
_QUOTED = re.compile(r">+")
_ENDS = re.compile(r"[.!?:;\u2026][\"')\]\u201d\u2019]*$")
_QUESTION = re.compile(r"\?[\"')\]\u201d\u2019]*$")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Lines that are read as one, in single spaces, and for each letter where in the source it stands."""

    text: str
    places: Sequence[int]

    def stretch(self, start: int, end: int) -> tuple[int, int]:
        return self.places[start], self.places[end - 1] + 1


@dataclass(slots=True, kw_only=True)
class _Passage:
    """Lines of a chunk that belong together: of a paragraph, of one item of a list, or of a block of code."""

    start: int
    lines: list[tuple[int, int]]
    indent: int | None = None
    number: int | None = None
    is_code: bool = False

    @property
    def end(self) -> int:
        return self.lines[-1][1]


def units_of_source(source: Source, extractor: Extractor, *, most: int) -> tuple[Unit, ...]:
    """Every unit of a source, each content once under its heading; of too many only one more than `most`.

    Raises UnitTextInvalid for a faulty document of units.
    """
    assert source.content is not None, "a source is read with its content"
    if source.kind in (SourceKind.UNITS, SourceKind.JOURNAL):
        found: Iterator[Unit] = iter(parse_units(source.content, max_chars=len(source.content)))
    else:
        found = _units_of_chunks(chunks_of(source.content, source.kind), extractor)
    units: dict[tuple[str, str | None], Unit] = {}
    kept_as: dict[UnitId, UnitId] = {}
    for unit in found:
        placed = _of_source(unit, source, len(units))
        kept_as[unit.id] = units.setdefault((content_hash(placed), placed.section_title), placed).id
        if len(units) > most:
            break
    return tuple(unit.with_relatives(kept_as) for unit in units.values())


def chunks_of(text: str, kind: SourceKind) -> Sequence[Chunk]:
    """The chunks of a text in order; in Markdown each knows the heading it stands under."""
    return [piece for chunk in _blocks(text, kind) for piece in _cut(chunk)]


def _blocks(text: str, kind: SourceKind) -> Iterator[Chunk]:
    is_markdown = kind is SourceKind.MARKDOWN
    heading: Chunk | None = None
    start, place, in_fence, heads_nothing = None, 0, False, False
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        title = _HEADING.fullmatch(bare) if is_markdown and not in_fence else None
        if is_markdown and _FENCE.match(line):
            in_fence = not in_fence
        if start is not None and (title or (not bare and not in_fence)):
            yield _block(text, start, place, heading)
            start = None
        if title:
            if heading and heads_nothing:
                yield heading
            at = place + line.index(bare) + title.start(2)
            heading = Chunk(text=title[2], start=at, kind="markdown-section", heading=title[2])
            heads_nothing = True
        elif bare and start is None:
            start, heads_nothing = place, False
        place += len(line)
    if start is not None:
        yield _block(text, start, place, heading)
    if heading and heads_nothing:
        yield heading


def _block(text: str, start: int, end: int, heading: Chunk | None) -> Chunk:
    said = text[start:end].rstrip()
    kind = "markdown-section" if heading else "paragraph-block"
    return Chunk(text=said, start=start, kind=kind, heading=heading.text if heading else None)


def _cut(chunk: Chunk) -> Iterator[Chunk]:
    """A chunk that is too long is cut at the end of a line or a sentence, or between two words, or else anywhere."""
    text, start = chunk.text, chunk.start
    while len(text) > MOST_CHUNK_CHARS:
        at = max(text.rfind("\n", 0, MOST_CHUNK_CHARS), text.rfind(". ", 0, MOST_CHUNK_CHARS) + 1)
        at = at if at > 0 else text.rfind(" ", 0, MOST_CHUNK_CHARS)
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
    steps: list[_Passage] = []
    for passage in _passages(chunk):
        if passage.number is not None:
            steps.append(passage)
            continue
        yield from _units_of_steps(chunk, steps)
        steps = []
        yield from _units_of_passage(chunk, passage, extractor)
    yield from _units_of_steps(chunk, steps)


def _passages(chunk: Chunk) -> Iterator[_Passage]:
    """Every line of a chunk is in one of them. A line that only looks like an item goes on with what is before it."""
    place, lines = 0, chunk.text.splitlines(keepends=True)
    open_: _Passage | None = None
    in_fence = False
    for index, line in enumerate(lines):
        start, end = chunk.start + place, chunk.start + place + len(line.rstrip())
        place += len(line)
        is_fence = _FENCE.match(line) is not None
        item = None if in_fence else _ITEM.match(line)
        if in_fence and open_ is not None:
            open_.lines.append((start, end))
            in_fence = not is_fence
            if is_fence:
                yield open_
                open_ = None
            continue
        if is_fence or (item and _is_item(item, lines, index, open_)):
            if open_ is not None:
                yield open_
            in_fence = is_fence
            open_ = _Passage(start=start, lines=[(start, end)], is_code=is_fence)
            if item and not is_fence:
                number = None if item["number"] is None else int(item["number"])
                open_ = _Passage(
                    start=start, lines=[(start + item.end(), end)], indent=len(item["indent"]), number=number
                )
        elif open_ is not None and _goes_on(line, open_, chunk):
            open_.lines.append((start, end))
        else:
            if open_ is not None:
                yield open_
            open_ = _Passage(start=start, lines=[(start, end)])
    if open_ is not None:
        yield open_


def _is_item(item: re.Match[str], lines: Sequence[str], index: int, before: _Passage | None) -> bool:
    """Whether this line is surely an item of a list. Points below a numbered step are part of the step."""
    indent = len(item["indent"])
    if before is not None and before.number is not None and before.indent is not None and indent > before.indent:
        return False
    in_text = before is not None and before.indent is None and not before.is_code
    if item["number"] is None:
        points = sum(1 for line in lines if (found := _ITEM.match(line)) and found["number"] is None)
        return not in_text or points > 1 or _ENDS.search(lines[index - 1].rstrip()) is not None
    number = int(item["number"])
    if before is not None and before.number is not None:
        return _follows(number, before.number)
    if in_text and number > 1:
        return False
    # One number alone may as well be the end of a sentence, or a year.
    below = (found for line in lines[index + 1 :] if (found := _ITEM.match(line)) and found["number"])
    return any(_follows(int(found["number"]), number) for found in below if len(found["indent"]) == indent)


def _follows(number: int, before: int) -> bool:
    """Some write 1 before every item."""
    return number == before + 1 or number == before == 1


def _goes_on(line: str, passage: _Passage, chunk: Chunk) -> bool:
    """Whether a line that begins nothing belongs to the passage above it: one below an item may be out of the list."""
    if passage.indent is None:
        return not passage.is_code
    start, end = passage.lines[-1]
    said = chunk.text[start - chunk.start : end - chunk.start]
    return len(line) - len(line.lstrip()) > passage.indent or not _ENDS.search(said)


def _flow(chunk: Chunk, passage: _Passage) -> Flow:
    words: list[str] = []
    places: list[int] = []
    for start, end in passage.lines:
        for found in _WORD.finditer(chunk.text, start - chunk.start, end - chunk.start):
            if found.start() == start - chunk.start and _QUOTED.fullmatch(found[0]):
                continue
            if words:
                places.append(places[-1] + 1)
            words.append(found[0])
            places.extend(range(chunk.start + found.start(), chunk.start + found.end()))
    return Flow(text=" ".join(words), places=places)


def _units_of_steps(chunk: Chunk, steps: Sequence[_Passage]) -> Iterator[Unit]:
    if steps:
        numbered = enumerate(steps, steps[0].number or 1)
        said = "\n".join(f"{number}. {_flow(chunk, step).text}" for number, step in numbered)
        yield _unit(chunk, said, UnitRole.PROCEDURE, (steps[0].start, steps[-1].end))


def _units_of_passage(chunk: Chunk, passage: _Passage, extractor: Extractor) -> Iterator[Unit]:
    if passage.is_code:
        code = chunk.text[passage.start - chunk.start : passage.end - chunk.start]
        if any(letter.isalnum() for letter in code):
            yield _unit(chunk, code, UnitRole.DESCRIPTION, (passage.start, passage.end))
        return
    flow = _flow(chunk, passage)
    begin = 0
    ends = [sentence.end for sentence in sentences(flow.text, grammar("en"))][:-1]
    for end in (*ends, len(flow.text)):
        # From the end of the last sentence on: what is between two sentences is not lost.
        begin += len(flow.text[begin:end]) - len(flow.text[begin:end].lstrip())
        if begin < end:
            yield from _units_of_sentence(chunk, flow, begin, end, extractor)
        begin = end


def _units_of_sentence(chunk: Chunk, flow: Flow, start: int, end: int, extractor: Extractor) -> Iterator[Unit]:
    """What the extractor reads in it. What it makes nothing of is still worth finding again, but for questions."""
    sentence = flow.text[start:end]
    evidence = [unit for unit in extractor.extract(sentence).units if unit.is_evidence]
    is_left_out = _QUESTION.search(sentence) is None and _loses_words(sentence, evidence)
    if is_left_out and len(evidence) == 1:
        evidence, is_left_out = [_saying(sentence, evidence[0])], False
    for unit in evidence:
        first, last = (0, len(sentence)) if unit.char_start is None else (unit.char_start, unit.char_end or 0)
        begin, behind = flow.stretch(start + first, start + last)
        yield replace(
            unit,
            phase_scopes=(PhaseScope.KNOWLEDGE,),
            char_start=begin,
            char_end=behind,
            chunk_type=chunk.kind,
            section_title=chunk.heading,
        )
    if is_left_out:
        yield _unit(chunk, sentence, UnitRole.DESCRIPTION, flow.stretch(start, end))


def _loses_words(sentence: str, units: Sequence[Unit]) -> bool:
    """Whether the sentence says something that none of its units does."""
    said = {word for unit in units for word in words_of(f"{unit.content} {unit.topic} {unit.more}")}
    return any(word not in said for telling in content_words(sentence) for word in words_of(telling))


def _saying(sentence: str, unit: Unit) -> Unit:
    """A whole sentence is better than a part of it that leaves something out."""
    if unit.role is UnitRole.PROCEDURE:
        return replace(unit, procedure=sentence, char_start=None)
    return replace(unit, claim=sentence, char_start=None)


def _unit(chunk: Chunk, said: str, role: UnitRole, stretch: tuple[int, int]) -> Unit:
    is_procedure = role is UnitRole.PROCEDURE
    return Unit(
        id=UnitId("staged::unit-000"),
        source_id="source",
        chunk_id="source::chunk-000",
        role=role,
        topic=chunk.heading or _topic_of(said),
        claim=None if is_procedure else said,
        procedure=said if is_procedure else None,
        char_start=stretch[0],
        char_end=stretch[1],
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
