"""Putting answers into the form that the user wants: prose, bullets or JSON, with short marks for sources."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from turnkeeper.agents.symbolic.frames import Answered
from turnkeeper.agents.symbolic.guidance import Form, Length, Shape
from turnkeeper.agents.symbolic.language import speech
from turnkeeper.model.names import content_hash
from turnkeeper.model.recall import SESSION_PLACE, FoundUnit
from turnkeeper.ports.plugins import Solution, SolveStatus, Statement

SHORT_STATEMENTS = 1
SHORT_LIST = 3
_CLOSING = re.compile(r"([.!?]?)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    text: str
    document: Mapping[str, Any]
    is_known: bool


class Marks:
    """Numbers for sources, the same one for the same unit throughout a turn."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}
        self._found: list[FoundUnit] = []

    def of(self, found: FoundUnit) -> int:
        key = (found.place, found.unit.id)
        if key not in self._numbers:
            self._found.append(found)
            self._numbers[key] = len(self._found)
        return self._numbers[key]

    def listed(self) -> Iterator[tuple[int, FoundUnit]]:
        return iter(enumerate(self._found, start=1))


def render(answers: Sequence[Answered], shape: Shape, remarks: Sequence[str]) -> Rendered:
    """The text of the turn and its document. Ids of units stand in the document alone."""
    flat = list(_flat(answers))
    marks = Marks()
    texts = [_as_text(each, _shape_for(each, shape), marks) for each in flat]
    groups = [
        {
            "question": each.seed.text,
            "asks": each.seed.asks,
            "status": _status(each),
            "answer": text,
            "knowledge": each.knowledge,
            "solver": each.solver,
            "error": each.error,
            "sources": _cited(each, _shape_for(each, shape), marks),
        }
        for each, text in zip(flat, texts, strict=True)
    ]
    document = {
        "groups": groups,
        "sources": [_source(mark, found) for mark, found in marks.listed()],
        "form": shape.form.value,
        "closure": "parallel_question_aggregation" if len(flat) > 1 else "single",
    }
    if shape.form is Form.JSON:
        text = _json(flat, shape, marks, remarks)
    else:
        named = _named_sources(marks) if shape.cited else ""
        # What is asked twice is answered once. Two questions with one answer have it each, so that none seems lost.
        answered = {(each.seed.text, text): text for each, text in zip(flat, texts, strict=True)}
        parts = (*dict.fromkeys(remarks), *answered.values(), named)
        text = "\n\n".join(part for part in parts if part)
    return Rendered(text=text, document=document, is_known=any(each.is_known for each in flat))


def pieces_of(text: str) -> Iterator[str]:
    """The text in natural pieces: sentence by sentence, with the white space that follows each."""
    return (piece for piece in re.findall(r".+?(?:(?<=[.!?:\]])\s+|\n+|$)", text, flags=re.DOTALL) if piece)


def _shape_for(answered: Answered, shape: Shape) -> Shape:
    return replace(shape, length=Length.SHORT) if answered.seed.brief else shape


def _flat(answers: Sequence[Answered]) -> Iterator[Answered]:
    for each in answers:
        if each.parts:
            yield from _flat(each.parts)
        else:
            yield each


def _status(answered: Answered) -> str:
    if answered.error:
        return "plugin-error"
    return "answered" if answered.is_known else "no-context"


def _cited(answered: Answered, shape: Shape, marks: Marks) -> list[int]:
    """Marks of what is really said, in order."""
    solution = answered.solution
    if solution is None:
        return []
    places = [place for said in _kept(solution, shape) for place in said.rests_on]
    return [marks.of(solution.sources[place]) for place in dict.fromkeys(places)]


def _as_text(answered: Answered, shape: Shape, marks: Marks) -> str:
    solution = answered.solution
    if solution is None:
        return speech().replies["part_failed"].format(question=answered.seed.text)
    said = [_with_marks(each, solution, shape, marks) for each in _kept(solution, shape)]
    # A lead-in rests on nothing and stays in front of the list.
    leads = [text for text, each in zip(said, _kept(solution, shape), strict=True) if not each.rests_on]
    items = [text for text, each in zip(said, _kept(solution, shape), strict=True) if each.rests_on]
    if not items and solution.is_list:
        return "\n".join(_under_its_lead(said))
    if (solution.is_list or shape.form is Form.BULLETS) and len(items) > 1:
        return "\n".join([*leads[:1], *(f"- {text}" for text in items), *leads[1:]])
    if shape.form is Form.BULLETS and items:
        return "\n".join([*leads, *(f"- {text}" for text in items)])
    return " ".join(said)


def _under_its_lead(said: Sequence[str]) -> list[str]:
    """What stands before the list, and the line that leads to it, are no items of it."""
    lead = next((place for place, text in enumerate(said) if text.endswith(":")), -1)
    return [*said[: lead + 1], *(f"- {text}" for text in said[lead + 1 :])]


def _kept(solution: Solution, shape: Shape) -> Sequence[Statement]:
    """Short answers keep what leads, and the first thing said or the first few of a list."""
    if shape.length is not Length.SHORT:
        return solution.statements
    left = SHORT_LIST if solution.is_list else SHORT_STATEMENTS
    kept = []
    for said in solution.statements:
        if left == 0:
            break
        kept.append(said)
        left -= bool(said.rests_on)
    return kept


def _with_marks(said: Statement, solution: Solution, shape: Shape, marks: Marks) -> str:
    if not said.rests_on or not shape.cited:
        return said.text
    numbers = "".join(f"[{marks.of(solution.sources[place])}]" for place in said.rests_on)
    return _CLOSING.sub(lambda closing: f" {numbers}{closing[1]}", said.text, count=1)


def _json(flat: Sequence[Answered], shape: Shape, marks: Marks, remarks: Sequence[str]) -> str:
    """The whole answer as one JSON object. A list of statements stays a list."""
    answers = [_json_answer(each, _shape_for(each, shape), marks) for each in flat]
    body: dict[str, Any] = dict(answers[0]) if len(answers) == 1 else {"answers": answers}
    if len(answers) > 1:
        for each, answer in zip(flat, answers, strict=True):
            answer["question"] = each.seed.text
    if shape.cited and (sources := [{"mark": mark, "source": _name_of(found)} for mark, found in marks.listed()]):
        body["sources"] = sources
    if remarks:
        body["remarks"] = list(remarks)
    return msgspec.json.encode(body).decode()


def _json_answer(answered: Answered, shape: Shape, marks: Marks) -> dict[str, Any]:
    solution = answered.solution
    if solution is None:
        return {"answer": None, "status": _status(answered)}
    said = _kept(solution, shape)
    answer: dict[str, Any]
    if solution.status is SolveStatus.NO_CONTEXT:
        related = [each.text for each in said if each.rests_on]
        remark = " ".join(each.text for each in said if not each.rests_on)
        answer = {"answer": None, "remark": remark, "status": _status(answered)}
        if related:
            answer["related"] = related
    elif solution.verdict is not None:
        because = [each.text for each in said if each.rests_on]
        answer = {"answer": solution.verdict, "because": because, "status": _status(answered)}
    elif solution.forgets:
        answer = {"answer": " ".join(each.text for each in said), "status": _status(answered)}
        answer["forgotten"] = [each.text for each in said[1:]]
    elif solution.is_list and len(said) > 1:
        answer = {"answer": [each.text for each in said if each.rests_on] or [each.text for each in said[1:]]}
        answer["status"] = _status(answered)
    else:
        # What only leads to the rest is for people.
        told = [each.text for each in said if not (each.text.endswith(":") and len(said) > 1)]
        answer = {"answer": " ".join(told), "status": _status(answered)}
    if shape.cited and (cited := _cited(answered, shape, marks)):
        answer["cites"] = cited
    return answer


def _name_of(found: FoundUnit) -> str:
    replies = speech().replies
    if found.place == SESSION_PLACE:
        return replies["here"]
    return found.unit.source_name or found.unit.title or replies["some_source"]


def _named_sources(marks: Marks) -> str:
    """A line for each source outside of the conversation, with all of its marks."""
    lines: dict[str, str] = {}
    for mark, found in marks.listed():
        if found.place != SESSION_PLACE:
            name = _name_of(found)
            lines[name] = f"{lines.get(name, '')}[{mark}]"
    return "\n".join(f"{numbers} {name}" for name, numbers in lines.items())


def _source(mark: int, found: FoundUnit) -> dict[str, Any]:
    unit = found.unit
    return {
        "mark": mark,
        "unit_id": unit.id,
        "hash": unit.hash or content_hash(unit),
        "place": found.place,
        "source": _name_of(found),
        "score": round(found.score, 3),
        "content": unit.content,
    }
