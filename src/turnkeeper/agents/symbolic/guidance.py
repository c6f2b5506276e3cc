"""How the user wants to be answered: what guidance asks for, as far as it can be honoured."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.words import words_of
from turnkeeper.model.unit import PhaseScope, Unit


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
    text = unit.content
    if _says(text, "plain"):
        shape = replace(shape, form=Form.PROSE)
    elif _says(text, "json"):
        shape = replace(shape, form=Form.JSON)
    elif _says(text, "bullets"):
        shape = replace(shape, form=Form.BULLETS)
    if _says(text, "short"):
        shape = replace(shape, length=Length.SHORT)
    elif _says(text, "long"):
        shape = replace(shape, length=Length.LONG)
    if _says(text, "uncited"):
        shape = replace(shape, cited=False)
    return shape


def promises(staged: Iterable[Unit]) -> list[str]:
    """What to say to guidance that came with this message: what will be done, and what cannot be."""
    said: list[str] = []
    for unit in staged:
        if unit.guides(PhaseScope.SOLVE):
            said += [promise for promise in _promises_for(unit.content) if promise not in said]
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


def _promises_for(text: str) -> list[str]:
    replies = speech().replies
    if refused := _language_refused(text):
        return [refused]
    kept = [
        replies[reply]
        for group, reply in (
            ("plain", "will_plain"),
            ("json", "will_json"),
            ("bullets", "will_bullets"),
            ("short", "will_short"),
            ("long", "will_long"),
            ("uncited", "will_uncited"),
            ("polite", "will_politely"),
        )
        if _says(text, group)
    ]
    if kept:
        return kept[:1] if _says(text, "plain") else kept
    return [_beyond(text) or replies["understood"]]


def _language_refused(text: str) -> str | None:
    wanted = [word for word in words_of(text) if word in speech().guidance["languages"]]
    if not wanted or speech().own_language in words_of(text):
        return None
    return speech().replies["only_english"].format(language=wanted[0].capitalize())


def _beyond(text: str) -> str | None:
    return speech().replies["beyond"] if _says(text, "beyond") else None


def _says(text: str, group: str) -> bool:
    said = f" {' '.join(words_of(text))} "
    return any(f" {phrase} " in said for phrase in speech().guidance[group])
