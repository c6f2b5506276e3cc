"""Where a message names fields of the form."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from turnkeeper.intent.form import Field, Form, Kind, words_of_name
from turnkeeper.intent.language import Language
from turnkeeper.intent.reading.phrases import pattern_of
from turnkeeper.intent.reading.said import Said

MOST_KEPT = 500
MOST_MENTIONS = 60
_SHORTEST_HINT = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """`field` is called `alias` from `start` to `end`. Several fields may be called the same: each has its mention."""

    start: int
    end: int
    field: Field
    alias: str


def mentions_in(said: Said, form: Form, asked: Field | None, language: Language) -> tuple[Mention, ...]:
    """In their order; of fields that are called the same the one asked for comes first, then those further out."""
    pattern, fields = _aliases(form, language)
    found = (
        Mention(start=match.start(), end=match.end(), field=field, alias=_plain(match["alias"]))
        for match in pattern.finditer(said.text)
        for field in sorted(fields[_plain(match["alias"])], key=lambda each: (each != asked, each.name.count(".")))
    )
    return tuple(islice(found, MOST_MENTIONS))


def hints_in(said: Said, form: Form, language: Language) -> tuple[Mention, ...]:
    """Single words of a title, of a name or, for a number, of a description, if they point to one field only."""
    pattern, fields = _hints(form, language)
    found = (
        Mention(start=match.start(), end=match.end(), field=fields[match["word"].lower()], alias=match["word"].lower())
        for match in pattern.finditer(said.text)
    )
    return tuple(islice(found, MOST_MENTIONS))


def names_of(field: Field) -> Iterator[str]:
    """What people may call it: its title, its name in words, its aliases."""
    for name in dict.fromkeys((field.title, " ".join(words_of_name(field.key)), *field.aliases)):
        if words := _plain(name):
            yield words


@lru_cache(maxsize=MOST_KEPT)
def _aliases(form: Form, language: Language) -> tuple[re.Pattern[str], dict[str, tuple[Field, ...]]]:
    fields: dict[str, tuple[Field, ...]] = {}
    for field in form.fields:
        for name in names_of(field):
            fields[name] = (*fields.get(name, ()), field)
    own = {_singular(word) for name in fields for word in name.split()}
    of_groups = ((name, field) for name, field in _only_texts(form.root) if _singular(name) not in own)
    for name, field in (*of_groups, *_in_groups(form.root, language)):
        fields.setdefault(name, (field,))
    names = "|".join(r"[ _-]".join(map(re.escape, name.split(" "))) for name in sorted(fields, key=len, reverse=True))
    return pattern_of(rf"(?<![\w@.])(?P<alias>{names})s?(?![\w@])"), fields


def _in_groups(group: Field, language: Language) -> Iterator[tuple[str, Field]]:
    """The fields of a group by its name and theirs: the recipient name."""
    for inner in group.inside:
        yield from _in_groups(inner, language)
        for of_group in names_of(group) if group.name else ():
            for name in names_of(inner) if inner.kind is not Kind.OBJECT else ():
                for way in language.names.in_group:
                    yield way.replace("{group}", of_group).replace("{name}", name), inner


def _only_texts(group: Field) -> Iterator[tuple[str, Field]]:
    """A group with one text inside may stand for that."""
    texts = [field for field in group.inside if field.kind is Kind.TEXT]
    for name in names_of(group) if group.name and len(texts) == 1 else ():
        yield name, texts[0]
    for inner in group.inside:
        yield from _only_texts(inner)


def _singular(word: str) -> str:
    return word.removesuffix("s")


@lru_cache(maxsize=MOST_KEPT)
def _hints(form: Form, language: Language) -> tuple[re.Pattern[str], dict[str, Field]]:
    owners: dict[str, list[Field]] = {}
    for field in form.fields:
        for word in set(_words_about(field)) - set(language.names.generic):
            owners.setdefault(word, []).append(field)
    named = _aliases(form, language)[1]
    fields = {word: owned[0] for word, owned in owners.items() if len(owned) == 1 and word not in named}
    words = "|".join(map(re.escape, sorted(fields, key=len, reverse=True))) or "(?!)"
    return pattern_of(rf"(?<![\w@.])(?P<word>{words})s?(?![\w@])"), fields


def _words_about(field: Field) -> Iterator[str]:
    texts = [field.title, " ".join(words_of_name(field.key))]
    if field.kind in (Kind.INTEGER, Kind.NUMBER):
        texts.append(str(field.schema.get("description", "")))
    for text in texts:
        yield from (word for word in re.findall(r"[^\W\d_]+", text.lower()) if len(word) >= _SHORTEST_HINT)


def _plain(name: str) -> str:
    return " ".join(re.split(r"[ _-]+", name.lower().strip()))
