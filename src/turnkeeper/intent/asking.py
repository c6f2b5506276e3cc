"""Asking for what is missing, and for a yes, where no agent does it: one question at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnkeeper.intent.collecting import UNKNOWN_FIELD, FieldFault, Progress, progress
from turnkeeper.intent.faults import in_words
from turnkeeper.intent.form import Field, Form, Kind, form_of
from turnkeeper.intent.language import Language, language_of
from turnkeeper.intent.rendering import as_words, render, value_at
from turnkeeper.model.pack import JsonSchema

MOST_CHOICES = 7
MISSES_BEFORE_WAY_OUT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    text: str
    field: str


def question_for(
    schema: JsonSchema,
    state: Progress,
    *,
    refused: Sequence[FieldFault] = (),
    intent_name: str,
    just_started: bool,
    was_understood: bool,
    has_waited: bool = False,
    asks_back: bool = False,
    misses: int = 0,
    locale: str | None = None,
) -> Asked:
    """Asks for the field whose answer was just refused, else for the first that is missing. There must be one.

    `asks_back` says that the message was a question itself, `misses` how many messages in a row were not understood.
    """
    form, words = form_of(schema), language_of(locale)
    again = next((fault.field for fault in refused if fault.field in state.missing), None)
    field = form.field(again or state.missing[0])
    assert field is not None, "only fields of the form are missing"
    opening = words.asking.resumed if has_waited else words.asking.started
    said = [_filled(opening, intent=intent_name)] if just_started and intent_name else []
    faults = _all_told(form, refused, words)
    unclear = not was_understood and not faults and not just_started
    said += [*faults, *([words.asking.asked_back if asks_back else words.asking.not_understood] if unclear else [])]
    said.append(_question(form, field, words, again=bool(faults) or unclear))
    said += [words.asking.way_out] if misses >= MISSES_BEFORE_WAY_OUT else []
    return Asked(text=" ".join(said), field=field.name)


def question_about(schema: JsonSchema, name: str, *, locale: str | None = None) -> Asked:
    """For a field that is to be changed, without saying to what."""
    form = form_of(schema)
    field = form.field(name)
    assert field is not None, "only a field of the form is asked for"
    return Asked(text=_question(form, field, language_of(locale), again=False), field=name)


def confirmation_for(
    schema: JsonSchema,
    fields: Mapping[str, Any],
    *,
    intent_name: str,
    refused: Sequence[FieldFault] = (),
    locale: str | None = None,
) -> str:
    """A summary of all answers, after what was wrong with those that were not taken."""
    words = language_of(locale)
    lines = [
        _filled(words.asking.summary, field=words.inside_sentence(field.title), value=_shown(field, value, words))
        for field, value in _answered(schema, fields)
    ]
    template = words.asking.confirm if lines else words.asking.confirm_nothing
    summary = _filled(template, intent=intent_name, summary=", ".join(lines))
    return " ".join((*_all_told(form_of(schema), refused, words), summary))


def what_to_change(
    schema: JsonSchema, fields: Mapping[str, Any], *, intent_name: str, locale: str | None = None
) -> str:
    """After a no: which of the answers is to be another one."""
    words = language_of(locale)
    titles = [words.inside_sentence(field.title) for field, _ in _answered(schema, fields)]
    return _filled(words.asking.change, intent=intent_name, choices=_listed(titles, words))


def dropped(intent_name: str, locale: str | None = None) -> str:
    """Of a form that the user does not want any more."""
    return _filled(language_of(locale).asking.dropped, intent=intent_name)


def waiting(intent_name: str, locale: str | None = None) -> str:
    """Of a form that was left for another one, and how to come back to it."""
    return _filled(language_of(locale).asking.waits, intent=intent_name)


def what_was_wrong(schema: JsonSchema, refused: Sequence[FieldFault], locale: str | None = None) -> str:
    """Why answers were not taken, for people; empty when all were."""
    return " ".join(_all_told(form_of(schema), refused, language_of(locale)))


def _answered(schema: JsonSchema, fields: Mapping[str, Any]) -> list[tuple[Field, Any]]:
    held = progress(schema, fields).fields
    pairs = [(field, value_at(held, field.name)) for field in form_of(schema).fields]
    return [(field, value) for field, value in pairs if value is not None]


def _all_told(form: Form, refused: Sequence[FieldFault], words: Language) -> list[str]:
    """A name that the form does not have was made up by a model: of that no person is told."""
    told = [in_words(form.field(fault.field), fault.rule, words) for fault in refused if fault.rule != UNKNOWN_FIELD]
    return list(dict.fromkeys(told))


def _question(form: Form, field: Field, words: Language, *, again: bool) -> str:
    """In other words for the next field, and in other words with help when it is asked again."""
    ways = _ways(field, words)
    place = form.fields.index(field) + (1 if again else 0)
    own = _own_question(field)
    labels = [field.labels_of(choice)[0] for choice in field.choices]
    title = words.inside_sentence(field.title)
    asked = own or _filled(ways[place % len(ways)], field=title, choices=_listed(labels, words))
    said = [asked[:1].upper() + asked[1:]]
    if not own and (description := str(field.schema.get("description", "")).strip()):
        said.append(description if description.endswith((".", "!", "?")) else f"{description}.")
    if own and labels:
        said.append(_filled(words.asking.from_choices, choices=_listed(labels, words)))
    said += _help(field, words) if again else []
    return " ".join(said)


def _own_question(field: Field) -> str | None:
    """A title or a description that is a question is asked as it stands."""
    for text in (field.schema.get("description"), field.schema.get("title")):
        if text and str(text).strip().endswith("?"):
            return str(text).strip()
    return None


def _ways(field: Field, words: Language) -> tuple[str, ...]:
    asking = words.asking
    if field.kind is Kind.LIST:
        return asking.list_choices if field.choices else asking.lists
    if field.kind is Kind.CHOICE:
        return asking.choices
    return asking.by_kind.get(field.kind, asking.questions)


def _help(field: Field, words: Language) -> list[str]:
    examples = field.schema.get("examples", [])
    if examples:
        return [_filled(words.asking.example, example=as_words(examples[0], words))]
    return [words.asking.help[field.kind]] if field.kind in words.asking.help else []


def _shown(field: Field, value: Any, words: Language) -> str:
    if field.kind is Kind.CHOICE:
        return field.labels_of(value)[0]
    if field.kind is Kind.LIST:
        shown = [field.labels_of(each)[0] if field.choices else as_words(each, words) for each in value]
        return f" {words.asking.also} ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))
    return as_words(value, words)


def _listed(texts: Sequence[str], words: Language) -> str:
    """Red, green or blue; of a long list the first ones, and how many more there are."""
    left_out = len(texts) - MOST_CHOICES
    if left_out > 0:
        more = _filled(words.asking.more_choices, count=str(left_out))
        return f"{', '.join(texts[:MOST_CHOICES])} {words.asking.also} {more}"
    return f" {words.asking.either} ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


def _filled(template: str, **values: str) -> str:
    """In one go, so that braces in a value stay what they are."""
    return render(template, fields={}, variables=values)
