"""Words on a terminal: what goes wrong in one line, and nothing that a terminal would obey."""

import sys
import unicodedata


def complain(message: str, *, code: int = 2) -> int:
    """Say in one line what is wrong, and return the exit code for it."""
    print(f"turnkeeper: {harmless(message)}", file=sys.stderr, flush=True)
    return code


def harmless(text: str) -> str:
    """Text without control characters, so that what somebody else wrote cannot steer the terminal."""
    return "".join(letter for letter in text if letter in "\n\t" or unicodedata.category(letter) not in ("Cc", "Cs"))
