"""The words of a language, kept as data: how people answer, and how they are asked.

What the parts of a file mean stands beside them in `languages/en.toml`.
"""

import tomllib
from functools import cache
from importlib import resources

import msgspec

FALLBACK = "en"


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A misspelt name in a language file must not pass for a word that is missing."""


class Numbers(_Part, frozen=True):
    words: tuple[str, ...]
    joint: str
    not_numbers: tuple[str, ...]
    currencies: tuple[str, ...]
    multipliers: dict[str, int]
    wanted_before: tuple[str, ...]
    wanted_behind: tuple[str, ...]
    money_before: tuple[str, ...]
    phrases: dict[str, int]


class Dates(_Part, frozen=True):
    weekdays: tuple[tuple[str, ...], ...]
    next: tuple[str, ...]
    week_after: tuple[str, ...]
    this: tuple[str, ...]
    patterns: tuple[str, ...]
    months: tuple[str, ...]
    with_typo: tuple[str, ...]
    words: dict[str, str]


class Times(_Part, frozen=True):
    patterns: tuple[str, ...]
    spoken: tuple[str, ...]
    asked: tuple[str, ...]
    named: tuple[str, ...]
    half_hour: str
    quarter: int
    to: tuple[str, ...]
    am: tuple[str, ...]
    pm: tuple[str, ...]
    evening: tuple[str, ...]
    words: dict[str, str]


class Names(_Part, frozen=True):
    links: tuple[str, ...]
    text_links: tuple[str, ...]
    articles: tuple[str, ...]
    alternatives: tuple[str, ...]
    generic: tuple[str, ...]
    places: tuple[str, ...]
    in_group: tuple[str, ...]


class Texts(_Part, frozen=True):
    lead_in: tuple[str, ...]
    lead_out: tuple[str, ...]
    idle: tuple[str, ...]
    idle_lead_in: tuple[str, ...]
    questions: tuple[str, ...]
    fillers: tuple[str, ...]
    list_joints: tuple[str, ...]


class Answers(_Part, frozen=True):
    yes: tuple[str, ...]
    no: tuple[str, ...]
    skip: tuple[str, ...]
    drop: tuple[str, ...]
    drop_lead_in: tuple[str, ...]
    none_of: tuple[str, ...]
    polite: tuple[str, ...]
    negations: tuple[str, ...]


class Corrections(_Part, frozen=True):
    cues: tuple[str, ...]
    first: tuple[str, ...]
    instead_of: tuple[str, ...]
    change: tuple[str, ...]
    is_wrong: tuple[str, ...]
    clear: tuple[str, ...]


class Asking(_Part, frozen=True, rename={"either": "or", "also": "and"}):
    small_titles: bool
    questions: tuple[str, ...]
    by_kind: dict[str, tuple[str, ...]]
    choices: tuple[str, ...]
    lists: tuple[str, ...]
    list_choices: tuple[str, ...]
    started: str
    resumed: str
    not_understood: str
    asked_back: str
    way_out: str
    dropped: str
    waits: str
    from_choices: str
    example: str
    either: str
    also: str
    more_choices: str
    confirm: str
    confirm_nothing: str
    summary: str
    change: str
    yes: str
    no: str
    help: dict[str, str]


class Language(_Part, frozen=True):
    """`code` is not written in the file: it is its name."""

    numbers: Numbers
    dates: Dates
    times: Times
    names: Names
    texts: Texts
    answers: Answers
    corrections: Corrections
    asking: Asking
    faults: dict[str, str]
    code: str = FALLBACK

    def inside_sentence(self, title: str) -> str:
        """A title as it is written amidst other words; an abbreviation stays as it is."""
        is_small = self.asking.small_titles and not title[1:2].isupper()
        return title[:1].lower() + title[1:] if is_small else title

    def __hash__(self) -> int:
        return hash(self.code)


@cache
def language_of(locale: str | None = None) -> Language:
    """The language of a locale such as en-GB; English where there is no file for it."""
    code = (locale or FALLBACK).replace("_", "-").split("-")[0].lower()
    folder = resources.files("turnkeeper.intent").joinpath("languages")
    known = {each.name.removesuffix(".toml") for each in folder.iterdir()}
    code = code if code in known else FALLBACK
    rules = tomllib.loads(folder.joinpath(f"{code}.toml").read_text(encoding="utf-8"))
    return msgspec.convert({**rules, "code": code}, Language)
