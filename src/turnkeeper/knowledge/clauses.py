"""Where one sentence says several things: a fact and a question, or two facts side by side."""

from collections.abc import Iterator

from turnkeeper.knowledge.grammar import Grammar
from turnkeeper.knowledge.phrases import Words
from turnkeeper.knowledge.statements import role_of, verb_at
from turnkeeper.model.unit import UnitRole

_BREAKS = (",", ";")


def clauses(words: Words, grammar: Grammar, *, asks: bool) -> Iterator[Words]:
    """The parts of a sentence that can stand by themselves, in order; the sentence itself where it is all one.

    `asks` says that it ends with a question mark: only then "which" and "who" may begin a question behind a comma.
    """
    if words[0] in grammar.words("subordinating") or role_of(words, grammar) is UnitRole.PROCEDURE:
        yield words
        return
    begin = 0
    for index in range(1, len(words) - 1):
        resume = _resumes_at(words, index, grammar)
        if resume is None or resume <= begin:
            continue
        left, right = words.part(begin, index), words.part(resume)
        if verb_at(left, grammar) is None and begin == 0 and not grammar.idle.begin_of(left):
            continue
        if _is_asked(right, grammar, asks) or _stands_alone(right, words[resume - 1], grammar):
            yield left
            begin = resume
    yield words.part(begin)


def _resumes_at(words: Words, index: int, grammar: Grammar) -> int | None:
    """Where the next clause would begin, if one can end before this word."""
    joining = grammar.words("joining")
    if words[index] in _BREAKS:
        return index + 2 if words[index + 1] in joining else index + 1
    if words[index] in joining and words[index + 1] in grammar.words("subject"):
        return index + 1
    return None


def _is_asked(words: Words, grammar: Grammar, asks: bool) -> bool:
    if not asks and words[0] in grammar.words("relative"):
        return False
    return grammar.question.begin_of(words) > 0 or grammar.request.begin_of(words) > 0


def _stands_alone(right: Words, before: str, grammar: Grammar) -> bool:
    """What follows from the first part stays with it, unless it is a rule of its own."""
    if not _has_own_subject(right, grammar) or verb_at(right, grammar) is None:
        return False
    return before not in grammar.words("concluding") or role_of(right, grammar) is UnitRole.CONSTRAINT


def _has_own_subject(words: Words, grammar: Grammar) -> bool:
    first = words[0]
    if first in grammar.words("relative") or first in grammar.words("preposition"):
        return False
    return first in grammar.words("subject") or first in grammar.words("definite")
