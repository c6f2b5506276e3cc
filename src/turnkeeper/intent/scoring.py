"""Finding out what a user wants without a model: by the rules of a pack, and else by its examples.

A rule that matches is certain. Without one, a message is compared with the examples, name and description of every
intent, word by word: a word that few intents use tells much, a common one little, and a word that is almost one that
the pack knows counts as that.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log, sqrt

from turnkeeper.intent.patterns import Pattern, in_plain_letters, pattern_of_pack
from turnkeeper.intent.words import is_common, words_in
from turnkeeper.model.names import collapsed
from turnkeeper.model.pack import Intent, IntentRule, RuleKind
from turnkeeper.model.resolution import Resolution, ResolvedBy, ResolveInput, Score

MOST_CHARS = 2_000
"""Of a longer message only the beginning is looked at: what is wanted is said there."""

MOST_PACKS = 64
"""So many packs, or choices of intents from a pack, are kept ready for the next message."""

CERTAIN = 1.0


def score(asked: ResolveInput) -> Resolution:
    """How surely each intent is meant. Two that the same priority speaks for are equally sure."""
    text = asked.text[:MOST_CHARS].strip()
    ready = _prepared(asked.intents)
    scores = ready.by_rules(text) or ready.by_examples(text)
    return Resolution(source=ResolvedBy.CLASSIFIER, scores=tuple(scores))


@lru_cache(maxsize=MOST_PACKS)
def _prepared(intents: tuple[Intent, ...]) -> "_Prepared":
    return _Prepared(rules=tuple(_rules(intents)), examples=_Examples.of(intents))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    intent: str
    pattern: Pattern
    priority: int
    state: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    rules: tuple[_Rule, ...]
    examples: "_Examples"

    def by_rules(self, text: str) -> list[Score]:
        """The intents of the best priority that matches; those that a worse one speaks for do not count."""
        plain = in_plain_letters(text)
        matching = [rule for rule in self.rules if rule.pattern.search(plain)]
        best = [rule for rule in matching if rule.priority == matching[0].priority]
        found: dict[str, Score] = {}
        for rule in best:
            found.setdefault(rule.intent, Score(intent=rule.intent, confidence=CERTAIN, state=rule.state))
        return list(found.values())

    def by_examples(self, text: str) -> list[Score]:
        return list(self.examples.scores(text))


def _rules(intents: Sequence[Intent]) -> list[_Rule]:
    rules = [
        _Rule(intent=intent.code, pattern=_pattern(rule), priority=rule.priority, state=rule.state)
        for intent in intents
        for rule in intent.rules
        if rule.pattern.strip()
    ]
    return sorted(rules, key=lambda rule: rule.priority)


def _pattern(rule: IntentRule) -> Pattern:
    """Blanks around plain words do not count, nor how many stand between them. Only a REGEX is run as it is written."""
    if rule.kind is RuleKind.REGEX:
        return pattern_of_pack(rule.pattern)
    words = r"\s+".join(map(re.escape, in_plain_letters(rule.pattern).split()))
    start = r"\A" if rule.kind is RuleKind.STARTS_WITH else r"(?<!\w)"
    return re.compile(rf"{start}{words}(?!\w)", re.IGNORECASE)


COMMON_SHARE = 0.2
DESCRIPTION_SHARE = 0.6
UNKNOWN_WEIGHT = 0.5
"""A word that no intent uses speaks against all of them, though less than a telling one speaks for its own."""

ENOUGH = 0.7
"""With less weight than this in words that are not common, the likeness is taken for chance."""

ALMOST = 86.0
SHORTEST_TYPO = 4
MOST_WORDS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class _Phrase:
    words: frozenset[str]
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wording:
    """How one intent is spoken of. `shares` says of each word how much of its weight it has here."""

    intent: str
    exact: frozenset[str]
    phrases: tuple[_Phrase, ...]
    shares: Mapping[str, float]

    def likeness(self, heard: Mapping[str, float], weight: float) -> float:
        """Half of it is how like the message is to the phrase it is most like, half how much of it is known here."""
        telling = sum(each * self.shares.get(word, 0.0) for word, each in heard.items() if not is_common(word))
        known = sum(each * self.shares.get(word, 0.0) for word, each in heard.items())
        closest = max((_cosine(heard, weight, phrase) for phrase in self.phrases), default=0.0)
        return min(1.0, telling / ENOUGH) * (closest + known / weight) / 2 if telling else 0.0


def _cosine(heard: Mapping[str, float], weight: float, phrase: _Phrase) -> float:
    both = sum(each for word, each in heard.items() if word in phrase.words)
    return both / sqrt(weight * phrase.weight) if both else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Examples:
    """`weights` says of each word that the pack uses how much it tells: the fewer intents use it, the more."""

    wordings: tuple[_Wording, ...]
    weights: Mapping[str, float]

    @classmethod
    def of(cls, intents: Sequence[Intent]) -> "_Examples":
        weights = _weights(intents)
        return cls(wordings=tuple(_wording(intent, weights) for intent in intents), weights=weights)

    def scores(self, text: str) -> Iterator[Score]:
        said = _plain(text)
        words = [self._known(word) for word in words_in(text)[:MOST_WORDS]]
        weight = sum(self._weight(word) for word, _ in words)
        heard = {word: self._weight(word) * likeness for word, likeness in words}
        for wording in self.wordings:
            sure = CERTAIN if said in wording.exact else wording.likeness(heard, weight)
            yield Score(intent=wording.intent, confidence=round(min(sure, CERTAIN), 4))

    def _weight(self, word: str) -> float:
        return self.weights.get(word, UNKNOWN_WEIGHT * _share(word))

    def _known(self, word: str) -> tuple[str, float]:
        """The word of the pack that was meant, however it was typed, and how like it is."""
        if word in self.weights or is_common(word) or len(word) < SHORTEST_TYPO:
            return word, 1.0
        from rapidfuzz import fuzz, process

        almost = process.extractOne(word, self.weights.keys(), scorer=fuzz.ratio, score_cutoff=ALMOST)
        return (almost[0], almost[1] / 100) if almost else (word, 1.0)


def _weights(intents: Sequence[Intent]) -> Mapping[str, float]:
    uses = Counter(word for intent in intents for word in _shares(intent))
    return {word: log(1 + len(intents) / count) / log(1 + len(intents)) * _share(word) for word, count in uses.items()}


def _wording(intent: Intent, weights: Mapping[str, float]) -> _Wording:
    said = [frozenset(words_in(phrase)) for phrase in _phrases(intent)]
    return _Wording(
        intent=intent.code,
        exact=frozenset(map(_plain, _phrases(intent))) - {""},
        phrases=tuple(_Phrase(words=words, weight=sum(weights[word] for word in words)) for words in said),
        shares=_shares(intent),
    )


def _shares(intent: Intent) -> Mapping[str, float]:
    shares = dict.fromkeys(words_in(intent.description), DESCRIPTION_SHARE)
    return shares | {word: 1.0 for phrase in _phrases(intent) for word in words_in(phrase)}


def _phrases(intent: Intent) -> tuple[str, ...]:
    return (intent.name, *intent.examples)


def _share(word: str) -> float:
    return COMMON_SHARE if is_common(word) else 1.0


def _plain(text: str) -> str:
    return collapsed(text).strip(" .,;:!?")
