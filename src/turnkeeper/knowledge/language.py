"""The rules of a language, kept as data: another language is another file.

What the parts of a file mean stands beside them in `languages/en.toml`. All but the stop words may be left out, so a
small file is enough to begin with.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

import msgspec

from turnkeeper.model.unit import Relation, UnitRole


class LanguageMalformed(ValueError):
    """Says which language, and what is wrong in its file."""

    def __init__(self, code: str, problem: str) -> None:
        super().__init__(
            f"The language file {code}.toml cannot be used: {problem}. See languages/en.toml for its form."
        )


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A misspelt name in a language file must not pass for a rule that is missing."""


class StopWords(_Part, frozen=True):
    words: frozenset[str]


class Writing(_Part, frozen=True):
    abbreviations: frozenset[str] = frozenset()
    ending_abbreviations: frozenset[str] = frozenset()
    endings: tuple[str, ...] = ()
    inflections: tuple[str, ...] = ()
    owner: str = ""
    possessive: str = ""


class Talk(_Part, frozen=True):
    lead_in: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    question: tuple[str, ...] = ()
    request: tuple[str, ...] = ()
    request_without_verb: tuple[str, ...] = ()
    supposed: tuple[str, ...] = ()
    closing: tuple[str, ...] = ()
    reason: tuple[str, ...] = ()


class Guidance(_Part, frozen=True):
    about_answers: tuple[str, ...] = ()
    lasting: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    rule: tuple[str, ...] = ()
    polite: tuple[str, ...] = ()
    naming: tuple[str, ...] = ()


class RoleRule(_Part, frozen=True):
    role: UnitRole
    cues: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    past: bool = False
    not_past: bool = False
    not_present: bool = False


class RelationRule(_Part, frozen=True):
    relation: Relation
    phrases: tuple[str, ...]
    first: frozenset[str] = frozenset()
    before: frozenset[str] = frozenset()
    inverse: bool = False
    role: UnitRole | None = None


class Corrections(_Part, frozen=True):
    lead_in: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    value: tuple[str, ...] = ()
    but: frozenset[str] = frozenset()
    instead: tuple[str, ...] = ()


class Topics(_Part, frozen=True):
    speaker: str = "speaker"
    of_speaker: str = "{}"
    guidance: str = "answers"
    name: str = "name"
    name_slot: str = "call name"
    questions: tuple[str, ...] = ()
    ends: frozenset[str] = frozenset()


class LanguageFile(_Part, frozen=True):
    """What stands in a language file. The parts are explained in the one for English."""

    stop_words: StopWords
    writing: Writing = Writing()
    spellings: dict[str, str] = {}
    words: dict[str, frozenset[str]] = {}
    talk: Talk = Talk()
    guidance: Guidance = Guidance()
    roles: tuple[RoleRule, ...] = ()
    relations: tuple[RelationRule, ...] = ()
    corrections: Corrections = Corrections()
    topics: Topics = Topics()


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    code: str
    stop_words: frozenset[str]
    rules: LanguageFile


@cache
def language(code: str) -> Language:
    """Raises FileNotFoundError for a language that has no file, LanguageMalformed for a file that is wrong."""
    text = resources.files("turnkeeper.knowledge").joinpath("languages", f"{code}.toml").read_text(encoding="utf-8")
    return language_in(text, code)


def language_in(text: str, code: str) -> Language:
    """The language in the text of a file. Raises LanguageMalformed."""
    try:
        rules = msgspec.convert(tomllib.loads(text), LanguageFile)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise LanguageMalformed(code, str(error)) from error
    return Language(code=code, stop_words=rules.stop_words.words, rules=rules)
