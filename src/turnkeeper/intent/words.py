"""The words of a message that tell what it is about: stemmed, and without those that every message may have."""

from functools import cache, lru_cache

from turnkeeper.wording import words_of

_COMMON = """
a an the this that these those some any each all it its they them their he she his her we us our you your i me my mine
am is are was were be been being do does did doing have has had having will would shall should can could may might must
to of in on at by for from with about into as and or but if so than then there here when where which who whom whose
what how why not no please thanks thank hi hello hey ok okay yes just also too very really
want wants wanted like need needs know tell give get got let make go going mean meant think one
im ive id ill dont didnt doesnt cant couldnt wont isnt whats hows theres lets
"""

# When and how many is asked of everything: it tells little about what is wanted.
_WHEN_AND_HOW_MANY = """
today tonight tomorrow yesterday morning noon afternoon evening night day week month next last am pm
monday tuesday wednesday thursday friday saturday sunday two three four five six seven eight nine ten
"""


def content_words(text: str) -> tuple[str, ...]:
    """Each once, in their order; none for a message of nothing but common words."""
    return tuple(word for word in words_in(text) if not is_common(word))


@lru_cache(maxsize=4_096)
def words_in(text: str) -> tuple[str, ...]:
    """All of them, each once, in their order."""
    return tuple(dict.fromkeys(words_of(text.replace("'", "").replace("\u2019", ""))))


def is_common(word: str) -> bool:
    return word in _common() or word.isdigit()


@cache
def _common() -> frozenset[str]:
    return frozenset(words_of(_COMMON + _WHEN_AND_HOW_MANY))
