"""The words by which questions are understood and answered, kept as data: another language is another file."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from turnkeeper.model.unit import Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationWords:
    """How one relation is asked for: as a verb, as a noun, and the same seen from its object."""

    relation: Relation
    verbs: tuple[str, ...] = ()
    nouns: tuple[str, ...] = ()
    whole_verbs: tuple[str, ...] = ()
    whole_nouns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRule:
    """One way to ask: as a whole question, by its beginning, by a pattern, or by naming all of a kind."""

    kind: str
    whole: frozenset[str] = frozenset()
    phrases: tuple[str, ...] = ()
    pattern: str | None = None
    begins_with: str | None = None
    about: tuple[str, ...] = ()
    names: bool = False
    first_person: bool = False
    negated: bool = False

    def is_begun_by(self, plain: str) -> bool:
        return any(plain.startswith(phrase + " ") for phrase in self.phrases)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """One language as the agent needs it."""

    words: Mapping[str, frozenset[str]]
    alike: tuple[frozenset[str], ...]
    endings: tuple[tuple[str, str], ...]
    shortest_stem: int
    irregular: Mapping[str, str]
    questions: Mapping[str, tuple[str, ...]]
    question_rules: tuple[QuestionRule, ...]
    related: Mapping[str, str]
    copula: str
    noun: str
    define: str
    contractions: Mapping[str, str]
    spread: Mapping[str, str]
    small_talk: Mapping[str, frozenset[str]]
    relations: tuple[RelationWords, ...]
    flips: tuple[tuple[str, str], ...]
    guidance: Mapping[str, tuple[str, ...]]
    own_language: str
    replies: Mapping[str, str]


@cache
def speech(code: str = "en") -> Speech:
    """Raises FileNotFoundError for a language that has no file."""
    folder = resources.files("turnkeeper.agents.symbolic").joinpath("languages")
    data = tomllib.loads(folder.joinpath(f"{code}.toml").read_text(encoding="utf-8"))
    questions = dict(data["questions"])
    contractions, related, spread = (questions.pop(name) for name in ("contractions", "related", "spread"))
    copula, noun, define = (questions.pop(name) for name in ("copula", "noun", "define"))
    guidance = dict(data["guidance"])
    own_language = guidance.pop("own_language")
    words = dict(data["words"])
    alike = tuple(frozenset(group) for group in words.pop("alike"))
    return Speech(
        words={name: frozenset(listed) for name, listed in words.items()},
        alike=alike,
        endings=tuple((ending, instead) for ending, instead in data["stems"]["endings"]),
        shortest_stem=data["stems"]["shortest"],
        irregular=data["stems"]["irregular"],
        # Longer phrases come first, so that the most telling one is found.
        questions={name: _longest_first(listed) for name, listed in questions.items()},
        question_rules=tuple(
            QuestionRule(
                **{
                    **rule,
                    "whole": frozenset(rule.get("whole", ())),
                    "phrases": _longest_first(rule.get("phrases", ())),
                    "about": tuple(rule.get("about", ())),
                }
            )
            for rule in data["question"]
        ),
        related=related,
        copula=copula,
        noun=noun,
        define=define,
        contractions=contractions,
        spread=spread,
        small_talk={name: frozenset(listed) for name, listed in data["small_talk"].items()},
        relations=tuple(
            RelationWords(
                relation=Relation(each["relation"]),
                **{name: tuple(listed) for name, listed in each.items() if name != "relation"},
            )
            for each in data["relations"]
        ),
        flips=tuple(sorted(((said, back) for said, back in data["person"]["flips"]), key=lambda flip: -len(flip[0]))),
        guidance={name: tuple(listed) for name, listed in guidance.items()},
        own_language=own_language,
        replies=data["replies"],
    )


def _longest_first(listed: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(listed, key=len, reverse=True))
