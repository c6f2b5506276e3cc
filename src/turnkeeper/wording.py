"""The words by which a unit is found, prepared in one way wherever they are kept or asked for.

Words are folded (NFKC, case, marks over letters), cut at everything that is neither letter nor digit, and stemmed as
English. A unit scores for each word that is asked for, by the best part in which it has it, and by nothing else: no
unit of anybody else changes what is found, or its order.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from turnkeeper.model.unit import Unit

IN_TOPIC, IN_CONTENT, IN_THE_REST = 15, 10, 6
MOST_CHARS = 20_000
"""Of each part of a unit only so much is searched: what is longer is data that somebody pasted."""
MOST_ASKED = 64
LONGEST_KEY = 200

WordsByPart = tuple[list[str], list[str], list[str]]

# A vowel sign of an Indic or Thai word is no letter to Python, and yet the word goes on behind it.
_SIGNS = "".join(chr(code) for code in range(0x300, 0x1000) if unicodedata.category(chr(code)).startswith("M"))
_WORD = re.compile(rf"[^\W_]+(?:[{_SIGNS}]+[^\W_]*)*|[\u2600-\u27bf\U0001f300-\U0001faff]")
_MARKS = re.compile("[\u0300-\u036f\u0591-\u05bd\u064b-\u065f]+")
_POSSESSIVE = re.compile(r"(?<=\w)['\u2019]s(?!\w)")


def words_of(text: str) -> Iterator[str]:
    """Every word of a text as it is searched for, as often as it occurs."""
    return map(_stem, _WORD.findall(_POSSESSIVE.sub("", folded(text))))


def weighed_words(unit: Unit) -> Mapping[str, int]:
    """Each word by which a unit is found, and what it counts there."""
    weights: dict[str, int] = {}
    for text, weight in ((unit.topic, IN_TOPIC), (unit.content, IN_CONTENT), (unit.more, IN_THE_REST)):
        for word in words_of(text[:MOST_CHARS]):
            weights.setdefault(word, weight)
    return weights


def words_by_part(unit: Unit) -> WordsByPart:
    """The words of a unit, each in the best part that has it: its topic, what it says, and the rest."""
    parts: dict[int, list[str]] = {IN_TOPIC: [], IN_CONTENT: [], IN_THE_REST: []}
    for word, weight in weighed_words(unit).items():
        parts[weight].append(word)
    return parts[IN_TOPIC], parts[IN_CONTENT], parts[IN_THE_REST]


def asked_words(words: Iterable[str]) -> list[str]:
    """What a search looks for, each word once."""
    return list(dict.fromkeys(each for word in words for each in words_of(word[:MOST_CHARS])))[:MOST_ASKED]


def bounded(key: str) -> str:
    """A key that fits into every index: one that is too long is told by its hash."""
    return key if len(key) <= LONGEST_KEY else "sha256:" + hashlib.sha256(key.encode()).hexdigest()


def folded(text: str) -> str:
    """The same for two ways to write the same letters."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return unicodedata.normalize("NFKC", _MARKS.sub("", plain))


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    # A stemmer holds the word it works on, so that threads must not share one; making one costs nothing.
    return bounded(_english_stemmer()().stemWord(word) if word.isalpha() and len(word) <= LONGEST_KEY else word)


@cache
def _english_stemmer() -> type[Any]:
    # Looked for at first use: it brings all its languages along, and who searches nothing should not wait for them.
    from snowballstemmer.english_stemmer import EnglishStemmer

    stemmer: type[Any] = EnglishStemmer
    return stemmer
