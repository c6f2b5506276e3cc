"""The rules of a language, ready to be matched."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from turnkeeper.knowledge.language import Language, LanguageMalformed, RelationRule, RoleRule, Topics, language
from turnkeeper.knowledge.phrases import Phrases, Tokenizer, Words
from turnkeeper.model.unit import Relation, UnitRole

NONE: frozenset[str] = frozenset()
_SHORTEST_STEM = 3
_FUNCTION_WORDS = (
    "determiner",
    "preposition",
    "subject",
    "object",
    "adverb",
    "joining",
    "subordinating",
    "negation",
    "relative",
    "ask",
    "numeral",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleCues:
    """A verb that tells of the past is enough where `past` is set, and too much where `not_past` is.

    `not_present` says the same of a verb in the present: "the report of last week is here" tells of no past.
    """

    role: UnitRole
    cues: Phrases
    unless: Phrases
    past: bool
    not_past: bool
    not_present: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationCues:
    """How a relation is said. `first` are words one of which must come first, if there are any."""

    relation: Relation
    phrases: Phrases
    first: frozenset[str]
    before: frozenset[str]
    inverse: bool
    role: UnitRole | None


class Grammar:
    """Everything the machinery asks a language about."""

    def __init__(self, spoken: Language) -> None:
        """Raises LanguageMalformed for a pattern that cannot be read."""
        rules = spoken.rules
        before_noun = rules.words.get("determiner", NONE) | rules.words.get("preposition", NONE)
        finite = NONE.union(*(rules.words.get(name, NONE) for name in ("copula", "auxiliary", "modal")))
        self._classes = {**rules.words, "before_noun": before_noun, "finite": finite}
        self._common = spoken.stop_words | before_noun | finite
        self._code = spoken.code
        self.stop_words = spoken.stop_words
        self.abbreviations = rules.writing.abbreviations
        self.ending_abbreviations = rules.writing.ending_abbreviations
        self.owner, self.possessive = rules.writing.owner, rules.writing.possessive
        self._inflections = tuple(sorted(rules.writing.inflections, key=len, reverse=True))
        self.tokenizer = Tokenizer(rules.writing.endings, rules.spellings)
        self.lead_in = self._phrases(rules.talk.lead_in)
        self.idle = self._phrases(rules.talk.idle)
        self.question = self._phrases(rules.talk.question)
        self.request = self._phrases(rules.talk.request)
        self.request_without_verb = self._phrases(rules.talk.request_without_verb)
        self.supposed = self._phrases(rules.talk.supposed)
        self.closing = self._phrases(rules.talk.closing)
        self.reason = self._phrases(rules.talk.reason)
        self.about_answers = self._phrases(rules.guidance.about_answers)
        self.lasting = self._phrases(rules.guidance.lasting)
        self.once = self._phrases(rules.guidance.once)
        self.rule = self._phrases(rules.guidance.rule)
        self.polite = self._phrases(rules.guidance.polite)
        self.naming = self._phrases(rules.guidance.naming)
        self.roles = tuple(self._role(rule) for rule in rules.roles)
        self.relations = tuple(self._relation(rule) for rule in rules.relations)
        self.correction_lead_in = self._phrases(rules.corrections.lead_in)
        self.correction_inside = self._phrases(rules.corrections.inside)
        self.correction_value = self._phrases(rules.corrections.value)
        self.correction_but = rules.corrections.but
        self.correction_instead = self._phrases(rules.corrections.instead)
        self.question_header = self._phrases(rules.topics.questions)
        self.perfect = self._phrases(rules.words.get("perfect", ()))
        self.past_ending = self._phrases(rules.words.get("past_ending", ()))
        self.present_ending = self._phrases(rules.words.get("present_ending", ()))
        self.not_present_ending = self._phrases(rules.words.get("not_present_ending", ()))
        self.topics: Topics = rules.topics
        self.finite = finite
        self.before_noun = before_noun
        self.verbs = self.words("verb") | self.words("past_verb") | self.words("suffers")
        # Words by which a sentence shows that it is in this language.
        own = (*_FUNCTION_WORDS, "verb", "past_verb")
        known = spoken.stop_words.union(finite, rules.writing.endings, *(self.words(name) for name in own))
        self._telling = known - self.words("shared_with_others") - self.words("foreign")

    def words(self, name: str) -> frozenset[str]:
        """The words of a class; none where the language does not have it."""
        return self._classes.get(name, NONE)

    def is_foreign(self, words: Words) -> bool:
        """Whether a sentence has a small word of another language, and none that only this one has."""
        foreign = self.words("foreign")
        if foreign.isdisjoint(words.distinct) or not words.distinct.isdisjoint(self._telling):
            return False
        # With a capital it may belong to a name: "Ada sings in La Traviata".
        return any(words[i] in foreign and not (i and words.is_capital(i)) for i in range(len(words)))

    def read(self, text: str, start: int = 0, end: int | None = None) -> Words:
        return self.tokenizer.words(text, start, end)

    def stem(self, word: str) -> str:
        """The same for the forms of one word, as far as its ending tells."""
        for ending in self._inflections:
            if word.endswith(ending) and len(word) >= len(ending) + _SHORTEST_STEM:
                return word[: -len(ending)]
        return word

    def _phrases(self, patterns: Iterable[str]) -> Phrases:
        try:
            return Phrases(patterns, self._classes, self._common)
        except ValueError as error:
            raise LanguageMalformed(self._code, str(error)) from error

    def _role(self, rule: RoleRule) -> RoleCues:
        return RoleCues(
            role=rule.role,
            cues=self._phrases(rule.cues),
            unless=self._phrases(rule.unless),
            past=rule.past,
            not_past=rule.not_past,
            not_present=rule.not_present,
        )

    def _relation(self, rule: RelationRule) -> RelationCues:
        return RelationCues(
            relation=rule.relation,
            phrases=self._phrases(rule.phrases),
            first=rule.first,
            before=rule.before,
            inverse=rule.inverse,
            role=rule.role,
        )


@cache
def grammar(code: str) -> Grammar:
    """Made when it is first asked for: there are many patterns. Raises as `language` does."""
    return Grammar(language(code))
