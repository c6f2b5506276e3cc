"""Words as they are compared: stems, and which of them carry the meaning of a question."""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from turnkeeper.agents.symbolic.language import speech
from turnkeeper.model.unit import Unit

LONG_ENOUGH_TO_TELL = 4
_WORD = re.compile(r"\w+(?:[-'\u2019.]\w+)*")


def words_of(text: str) -> list[str]:
    """Every word, in order, folded."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'"))


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """The same for a word in its forms: plural, past, -ing. Rough, and the same for question and statement."""
    rules = speech()
    if word in rules.irregular:
        return _without_e(rules.irregular[word])
    for ending, instead in rules.endings:
        if word.endswith(ending) and len(word) - len(ending) >= rules.shortest_stem:
            cut = word[: len(word) - len(ending)] + instead
            if (
                ending in ("ed", "ing")
                and len(cut) > rules.shortest_stem
                and cut[-1] == cut[-2]
                and cut[-1] not in "ls"
            ):
                cut = cut[:-1]
            return _without_e(cut)
    return _without_e(word)


def _without_e(word: str) -> str:
    return word.removesuffix("e") if len(word) > speech().shortest_stem else word


@lru_cache(maxsize=4096)
def meaning(word: str) -> str:
    """Its stem, or for words that mean much the same the first of them."""
    own = stem(word)
    return _meanings().get(own, own)


@lru_cache(maxsize=1)
def _meanings() -> dict[str, str]:
    return {stem(word): "=" + min(group) for group in speech().alike for word in group}


def meanings_in(text: str) -> set[str]:
    return {meaning(word) for word in words_of(text)}


def telling(text: str) -> list[str]:
    """What a question is about: the meanings of its words without those that only ask, each once, in order."""
    asking = speech().words["asking"]
    return list(dict.fromkeys(meaning(word) for word in words_of(text) if word not in asking))


def search_words(text: str) -> str:
    """What to search by: the words without possessives, and those that mean much the same."""
    words = [word.removesuffix("'s").removesuffix("'") for word in words_of(text)]
    alike = {stem(each): group for group in speech().alike for each in group}
    asking = speech().words["asking"]
    more = [other for word in words if word not in asking for other in sorted(alike.get(stem(word), ()))]
    return " ".join(dict.fromkeys([*words, *more]))


def share_a_word(text: str, unit: Unit) -> bool:
    return not meanings_of(unit).isdisjoint(telling(text))


def meanings_of(unit: Unit) -> set[str]:
    return meanings_in(f"{unit.topic} {unit.content} {unit.more}")


def is_readable(text: str) -> bool:
    """Whether a text of some length holds a word that every longer text of our language holds."""
    words = words_of(text)
    return len(words) < LONG_ENOUGH_TO_TELL or not speech().words["asking"].isdisjoint(words)


def is_negated(text: str) -> bool:
    negations = speech().words["negations"]
    return sum(word in negations for word in words_of(text)) % 2 == 1


def said_back(text: str) -> str:
    """What a user said of themselves, as it is said to them: "my port" becomes "your port"."""
    flips = dict(speech().flips)
    alternatives = "|".join(re.escape(said) for said in flips)
    pattern = rf"(?<![\w'-])({alternatives})(?![\w'-])"
    plain = text.replace("\u2019", "'")
    return re.sub(pattern, lambda found: _flipped(found, flips), plain, flags=re.IGNORECASE)


def _flipped(found: re.Match[str], flips: Mapping[str, str]) -> str:
    """Not every such word means the user: "the US", "the mine", "World War I"."""
    said, before = found[1], found.string[: found.start()].split()
    is_name = len(said) > 1 and said.isupper()
    is_noun = bool(before) and before[-1].casefold() in speech().words["determiners"] and said.casefold() == "mine"
    is_number = said == "I" and len(before) > 1 and before[-1][0].isupper() and before[-1][-1].isalpha()
    return said if is_name or is_noun or is_number else flips[said.casefold()]


def sentence(text: str) -> str:
    """With a capital in front and a full stop behind."""
    trimmed = " ".join(text.split()) if "\n" not in text.strip() else text.strip()
    if not trimmed:
        return trimmed
    first = trimmed[0].upper() + trimmed[1:] if trimmed.split(maxsplit=1)[0].islower() else trimmed
    return first if first[-1] in ".!?:" else first.rstrip(",;") + "."


def singular(name: str) -> str:
    """A name with its last word as one of its kind."""
    *front, last = name.split() or [""]
    if len(last) > 3 and last.endswith("ies"):
        last = last[:-3] + "y"
    elif last in speech().irregular and not last.endswith("s"):
        last = speech().irregular[last]
    elif last.endswith(("ches", "shes", "xes", "sses")):
        last = last[:-2]
    elif len(last) > 3 and last.endswith("s") and not last.endswith(("ss", "us", "is")):
        last = last[:-1]
    return " ".join([*front, last])


def plural(name: str) -> str:
    *front, last = name.split() or [""]
    irregular = {one: many for many, one in speech().irregular.items() if not many.endswith(("ing", "ed"))}
    if last in ("man", "woman", "person", "child", "mouse", "foot"):
        last = irregular[last]
    elif last.endswith("y") and len(last) > 2 and last[-2] not in "aeiou":
        last = last[:-1] + "ies"
    elif last.endswith(("s", "x", "ch", "sh")):
        last += "es"
    elif last:
        last += "s"
    return " ".join([*front, last])
