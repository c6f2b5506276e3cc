"""Regular expressions made of the phrases of a language."""

import re
from collections.abc import Iterable


def any_of(phrases: Iterable[str]) -> str:
    """The longest first, each as a whole word where it begins and ends with a letter."""
    return "(?:" + "|".join(_whole(phrase) for phrase in sorted(phrases, key=len, reverse=True)) + ")"


def pattern_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


def _whole(phrase: str) -> str:
    before = r"(?<!\w)" if phrase[0].isalnum() else ""
    after = r"(?!\w)" if phrase[-1].isalnum() else ""
    return f"{before}{re.escape(phrase)}{after}"
