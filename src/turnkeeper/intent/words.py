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


@lru_cache(maxsize=4_096)
def content_words(text: str) -> tuple[str, ...]:
    """Each once, in their order; none for a message of nothing but common words."""
    joined = text.replace("'", "").replace("\u2019", "")
    return tuple(dict.fromkeys(word for word in words_of(joined) if word not in _common()))


@cache
def _common() -> frozenset[str]:
    return frozenset(words_of(_COMMON))
