"""Text that every store can keep and every terminal can show."""

import unicodedata

from turnkeeper.model.unit import Unit


def is_plain_text(text: str) -> bool:
    """Text that every store can keep: valid UTF-8 without NUL."""
    if "\x00" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def says_plain_text(unit: Unit) -> bool:
    """Whether every store can keep what a unit says."""
    return all(
        is_plain_text(part)
        for value in unit.given.values()
        for part in (value if isinstance(value, tuple) else (value,))
        if isinstance(part, str)
    )


def without_controls(text: str) -> str:
    """Without characters that steer a terminal, such as ESC. Line breaks, tabs and what is not plain stay."""
    return "".join(letter for letter in text if letter in "\n\t\x00" or unicodedata.category(letter) != "Cc")
