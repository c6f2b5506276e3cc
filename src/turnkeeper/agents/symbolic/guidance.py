"""How the user wants to be answered: what guidance asks for, as far as it can be honoured."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.words import words_of
from turnkeeper.model.unit import Lifetime, PhaseScope, Unit


class Form(StrEnum):
    PROSE = "prose"
    BULLETS = "bullets"
    JSON = "json"


class Length(StrEnum):
    USUAL = "usual"
    SHORT = "short"
    LONG = "long"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    form: Form = Form.PROSE
    length: Length = Length.USUAL
    cited: bool = True


def shape_of(guidance: Sequence[Unit]) -> Shape:
    """What was asked for last counts; `guidance` comes newest first."""
    shape = Shape()
    for unit in reversed(guidance):
        shape = _after(shape, unit)
    return shape


def _after(shape: Shape, unit: Unit) -> Shape:
    """A form that is refused is left for prose, and a length that is refused for the other one."""
    text, refused = unit.content, _refuses(unit.content)
    if _says(text, "usual"):
        shape = Shape()
    if _says(text, "plain") or (refused and (_says(text, "json") or _says(text, "bullets"))):
        shape = replace(shape, form=Form.PROSE)
    elif _says(text, "json"):
        shape = replace(shape, form=Form.JSON)
    elif _says(text, "bullets"):
        shape = replace(shape, form=Form.BULLETS)
    if _says(text, "short"):
        shape = replace(shape, length=Length.LONG if refused else Length.SHORT)
    elif _says(text, "long"):
        shape = replace(shape, length=Length.SHORT if refused else Length.LONG)
    if _says(text, "uncited") or _says(text, "citing"):
        shape = replace(shape, cited=not (refused or _says(text, "uncited")))
    return shape


def lasting(guidance: Iterable[Unit]) -> list[Unit]:
    """Without what is meant for one answer, where none is given."""
    return [unit for unit in guidance if unit.lifetime is not Lifetime.TURN]


def holds_for_long(text: str) -> bool:
    """Whether an order about answers says that it lasts, or ends another one."""
    return _says(text, "lasting") or _says(text, "usual") or _says(text, "plain") or _refuses(text)


def shape_words(text: str) -> set[str]:
    """What about answers a text speaks of: their form, their length, their marks."""
    return {group for group in ("json", "bullets", "short", "long", "citing") if _says(text, group)}


def promises(staged: Iterable[Unit]) -> list[str]:
    """What to say to guidance that came with this message: what will be done, and what cannot be."""
    said: list[str] = []
    for unit in staged:
        if unit.guides(PhaseScope.SOLVE):
            said += [promise for promise in _promises_for(unit) if promise not in said]
    return said


def refusals(staged: Iterable[Unit]) -> list[str]:
    """Only what cannot be done, for a message that also asks something."""
    return [
        said
        for unit in staged
        if unit.guides(PhaseScope.SOLVE)
        for said in [_language_refused(unit.content), _beyond(unit.content)]
        if said
    ]


def _promises_for(unit: Unit) -> list[str]:
    replies, text = speech().replies, unit.content
    if refused := _language_refused(text):
        return [refused]
    if unit.lifetime is Lifetime.TURN:
        return [replies["not_next"]]
    shape = _after(Shape(), unit)
    kept = [
        replies[reply]
        for wished, reply in (
            (shape.form is Form.JSON, "will_json"),
            (shape.form is Form.BULLETS, "will_bullets"),
            (
                shape.form is Form.PROSE and any(_says(text, form) for form in ("plain", "json", "bullets")),
                "will_plain",
            ),
            (shape.length is Length.SHORT, "will_short"),
            (shape.length is Length.LONG, "will_long"),
            (not shape.cited, "will_uncited"),
            (_says(text, "polite"), "will_politely"),
        )
        if wished
    ]
    return kept or [_beyond(text) or replies["understood"]]


def _language_refused(text: str) -> str | None:
    wanted = [word for word in words_of(text) if word in speech().guidance["languages"]]
    if not wanted or speech().own_language in words_of(text) or _refuses(text):
        return None
    return speech().replies["only_english"].format(language=wanted[0].capitalize())


def _beyond(text: str) -> str | None:
    return speech().replies["beyond"] if _says(text, "beyond") and not _refuses(text) else None


def _refuses(text: str) -> bool:
    return not speech().words["refusing"].isdisjoint(words_of(text))


def _says(text: str, group: str) -> bool:
    said = f" {' '.join(words_of(text))} "
    return any(f" {phrase} " in said for phrase in speech().guidance[group])
