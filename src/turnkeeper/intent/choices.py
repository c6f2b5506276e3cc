"""Which choice is meant by what was said."""

import re
from collections.abc import Iterator
from typing import Any

from turnkeeper.intent.form import Field

SURE = 80
SHORTEST_WITH_TYPO = 4
_NOT_A_LETTER = re.compile(r"[\W_]+")


def choice_of(field: Field, text: str) -> Any:
    """The choice that the whole text says, also with a typo or in plural; None when none or more than one does."""
    said = plain_words(text)
    if not said:
        return None
    labels = list(_labels(field))
    for choice, label in labels:
        if said in forms_of(label):
            return choice
    return _closest(said, labels) if len(said) >= SHORTEST_WITH_TYPO else None


def plain_words(text: str) -> str:
    return _NOT_A_LETTER.sub(" ", text.casefold()).strip()


def forms_of(label: str) -> tuple[str, ...]:
    """A label and its plural or singular."""
    return (label, f"{label}s", f"{label}es", *([label[:-1]] if label.endswith("s") and len(label) > 3 else []))


def _labels(field: Field) -> Iterator[tuple[Any, str]]:
    for choice in field.choices:
        for label in dict.fromkeys((*field.labels_of(choice), str(choice))):
            if words := plain_words(label):
                yield choice, words


def _closest(said: str, labels: list[tuple[Any, str]]) -> Any:
    from rapidfuzz.fuzz import ratio

    scored = sorted(((ratio(said, label), number) for number, (_, label) in enumerate(labels)), reverse=True)
    best = [labels[number][0] for score, number in scored if score >= SURE and score >= scored[0][0] - 3]
    return best[0] if best and all(choice == best[0] for choice in best) else None
