"""Where one sentence says several things: a fact and a question, or two facts side by side."""

from collections.abc import Iterator

from turnkeeper.knowledge.grammar import Grammar
from turnkeeper.knowledge.phrases import Words
from turnkeeper.knowledge.statements import verb_at

_BREAKS = (",", ";")


def clauses(words: Words, grammar: Grammar) -> Iterator[Words]:
    """The parts of a sentence that can stand by themselves, in order; the sentence itself where it is all one."""
    if len(words) and words[0] in grammar.words("subordinating"):
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
        if _is_asked(right, grammar) or (_has_own_subject(right, grammar) and verb_at(right, grammar) is not None):
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


def _is_asked(words: Words, grammar: Grammar) -> bool:
    return grammar.question.begin_of(words) > 0 or grammar.request.begin_of(words) > 0


def _has_own_subject(words: Words, grammar: Grammar) -> bool:
    first = words[0]
    if first in grammar.words("relative") or first in grammar.words("preposition"):
        return False
    return first in grammar.words("subject") or first in grammar.words("definite")
