"""What "it" and "they" stand for: the last thing that was named before."""

import re
from collections.abc import Iterable, Sequence

from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.question import QuestionKind, read_question
from turnkeeper.agents.symbolic.words import meaning, meanings_in, telling, words_of

USER = "user"
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w-]*(?:\s+[A-Z][\w-]*)*")
_FIRST_NAME = re.compile(r"^[A-Z][\w-]*(?:\s+[A-Z][\w-]*)*")


def has_pronoun(text: str) -> bool:
    pronouns = speech().words["pronouns"]
    return any(word in pronouns for word in words_of(text))


def antecedent(said: Iterable[str], topics: Sequence[str] = ()) -> str | None:
    """The name that was spoken of last; `said` and `topics` of known units come newest first."""
    for text in said:
        words = meanings_in(text)
        # The last word of a topic is what it is called for short.
        known = (
            topic for topic in topics if USER not in words_of(topic) and meaning(topic.split()[-1].casefold()) in words
        )
        if name := next(known, None) or _named_in(text):
            return name
    return None


def _named_in(text: str) -> str | None:
    pronouns = speech().words["pronouns"]
    question = read_question(text)
    if question.name and question.kind is not QuestionKind.REQUEST and not has_pronoun(question.name):
        return question.name
    asking = speech().words["asking"]
    names = [found[0] for found in _NAME.finditer(text) if found[0].casefold() not in asking]
    first = _FIRST_NAME.match(text)
    if first and first[0].casefold() not in asking and (" " in first[0] or not names) and telling(first[0]):
        names.insert(0, first[0])
    nouns = [
        found[1] for found in re.finditer(speech().noun, text, re.IGNORECASE) if found[1].casefold() not in pronouns
    ]
    return next(iter([*names[:1], *nouns]), None)


def put_in(text: str, name: str | None) -> str:
    """The text with the name in place of its pronouns. Possessives keep their s."""
    if name is None or not has_pronoun(text):
        return text
    pronouns = "|".join(sorted(speech().words["pronouns"], key=len, reverse=True))
    return re.sub(rf"\b({pronouns})\b(?!')", name, text, count=1, flags=re.IGNORECASE)
