r"""Regular expressions of a pack, in an engine that no message can keep busy: its work grows with the message alone.

To the engine only a to z are letters, in \w and beside \b. So a pattern and a message are both read in plain letters,
one for one: ü is u, ß is s.
"""

import re
import unicodedata
from functools import cache, lru_cache
from typing import Any, Protocol

MOST_KEPT = 1_000
MOST_BYTES = 1 << 16
"""What a pattern may need when it is compiled, and again while it is matched."""

_NO_CODE = re.compile(r"(?<!\\)(?:\\\\)*\\[xu]")
_BOUND = re.compile(r"(?<!\\)(?:\\\\)*\\[bB]")
_LETTERS = str.maketrans("ßẞøØæÆœŒđĐðÐłŁþÞıŋŊħĦ", "sSoOaAoOdDdDlLtTinNhH")


class PatternUnfit(ValueError):
    """The text says what is wrong with the pattern, and what to write instead."""


class Pattern(Protocol):
    def search(self, text: str, /) -> Any: ...


def pattern_of_pack(pattern: str) -> Pattern:
    """Finds its pattern in plain letters, in capitals or not. Raises PatternUnfit."""
    compiled: Pattern = _compiled(pattern)
    return compiled


def work_of(pattern: str) -> int:
    """The most steps that the pattern takes for each letter of a message. Raises PatternUnfit."""
    return max(1, int(_compiled(pattern).programsize))


def in_plain_letters(text: str) -> str:
    """As long as the text is once its letters are composed."""
    if text.isascii():
        return text
    composed = unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode())
    return "".join(map(_plain, composed)).translate(_LETTERS)


def _plain(letter: str) -> str:
    base = unicodedata.normalize("NFD", letter)[0]
    return base if base.isascii() and base.isalpha() else letter


@lru_cache(maxsize=MOST_KEPT)
def _compiled(pattern: str) -> Any:
    import re2

    if _NO_CODE.search(pattern):
        raise PatternUnfit("\\x and \\u hide which letter is meant. Write the letter itself.")
    plain = in_plain_letters(pattern)
    if _BOUND.search(pattern) and any(letter.isalpha() and not letter.isascii() for letter in plain):
        raise PatternUnfit("\\b knows Latin letters only. Take it away, or use CONTAINS, which finds whole words.")
    try:
        return re2.compile(plain, _options())
    except re2.error as error:
        raise PatternUnfit(_in_words(error.args[0])) from None


@cache
def _options() -> Any:
    import re2

    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = MOST_BYTES
    return options


def _in_words(error: bytes | str) -> str:
    said = error.decode(errors="replace") if isinstance(error, bytes) else error
    if "too large" in said or "repetition size" in said:
        return "This is too large: a repeat counts too far, or holds too much. Use + or *, or several rules."
    if _is_look_around_or_back_reference(said):
        return (
            "Look-around and back-references cannot be used: a message could keep them busy for ever. "
            "Write out what is to be found, or use several rules."
        )
    return f"This does not compile: {said}. Correct it, or use CONTAINS."


def _is_look_around_or_back_reference(said: str) -> bool:
    return re.search(r"perl operator: \(\?(?:[=!<>(]|P$)|escape sequence: \\[1-9gk]", said) is not None
