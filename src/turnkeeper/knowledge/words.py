"""The words of a text that a search can go by."""

import re
import unicodedata

from turnkeeper.knowledge.language import language

_WORD = re.compile(r"\w+(?:[-'\u2019.]\w+)*|[\u2600-\u27bf\U0001f300-\U0001faff]")


def content_words(text: str, code: str = "en") -> list[str]:
    """Each word once, in order, without the words that carry no meaning by themselves.

    Where only such words were said, they are better than nothing.
    """
    stop_words = language(code).stop_words
    words = dict.fromkeys(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))
    telling = [word for word in words if word not in stop_words]
    return telling or list(words)
