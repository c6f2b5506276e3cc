"""Several things said in a row."""

import re
from functools import cache

from turnkeeper.intent.language import Language
from turnkeeper.intent.reading.phrases import any_of, pattern_of

MOST_ITEMS = 100


def split_list(text: str, language: Language) -> list[str]:
    parts = (part.strip(" \n.!-*") for part in _joints(language).split(text, maxsplit=MOST_ITEMS))
    return [part for part in parts if part]


@cache
def _joints(language: Language) -> re.Pattern[str]:
    return pattern_of(rf"\n|{any_of(language.texts.list_joints)}")
