"""Making solutions out of units: each said as a sentence that rests on its unit."""

from collections.abc import Sequence

from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.question import Question, QuestionKind
from turnkeeper.agents.symbolic.words import is_readable, said_back, sentence, words_of
from turnkeeper.model.recall import SESSION_PLACE, FoundUnit
from turnkeeper.ports.plugins import Solution, SolveStatus, Statement

MOST_RELATED = 3
UNKNOWN_BUT = {
    QuestionKind.WHY: "unknown_reason",
    QuestionKind.YES_NO: "unknown_whether_but",
    QuestionKind.DEFINE: "unknown_what_but",
}


def plainly(text: str, *, known: bool = True) -> Solution:
    """Something that rests on no unit."""
    status = SolveStatus.SUCCESS if known else SolveStatus.NO_CONTEXT
    return Solution(status=status, statements=(Statement(text=text),))


def saying(found: Sequence[FoundUnit], *, lead: str | None = None, is_list: bool = False) -> Solution:
    lead_in = (Statement(text=lead),) if lead else ()
    return Solution(
        status=SolveStatus.SUCCESS,
        statements=(*lead_in, *each_said(found)),
        sources=tuple(found),
        is_list=is_list and len(found) > 1,
    )


def each_said(found: Sequence[FoundUnit]) -> tuple[Statement, ...]:
    return tuple(Statement(text=in_words(each), rests_on=(place,)) for place, each in enumerate(found))


def in_words(found: FoundUnit) -> str:
    """What the unit says, as a sentence to the user. Who is "I" in a source is not the user."""
    unit = found.unit
    content = unit.content
    content = without_pronoun(content, unit.topic)
    if unit.condition and unit.condition.casefold() not in content.casefold():
        content = f"{content.rstrip('.')} ({unit.condition})"
    return sentence(said_back(content) if found.place == SESSION_PLACE else content)


def without_pronoun(content: str, topic: str) -> str:
    """A sentence that begins with "it" says instead what it is about; it was clear only where it was said."""
    first, _, rest = content.partition(" ")
    words = speech().words
    if (spread := speech().contractions.get(first.casefold().replace("\u2019", "'"))) is not None:
        first, _, verb = spread.partition(" ")
        rest = f"{verb} {rest}"
    if first.casefold() not in words["subject_pronouns"] or set(words_of(topic)) <= {*words_of(content), "user"}:
        return content
    names = (
        topic
        if words_of(topic)[0] in words["determiners"] or not topic.islower()
        else f"{speech().replies['the']} {topic}"
    )
    return f"{names} {rest}"


def not_known(related: Sequence[FoundUnit], question: Question) -> Solution:
    """Says so first; then what is known about the same thing, where something is."""
    replies = speech().replies
    related = related[:MOST_RELATED]
    if related:
        lead = replies[UNKNOWN_BUT.get(question.kind, "unknown_but")]
        return Solution(
            status=SolveStatus.NO_CONTEXT,
            statements=(Statement(text=lead), *each_said(related)),
            sources=tuple(related),
            is_list=len(related) > 1,
        )
    if not is_readable(question.text):
        return plainly(replies["not_english"], known=False)
    if question.kind is QuestionKind.YES_NO:
        return plainly(replies["unknown_whether"], known=False)
    if question.kind in (QuestionKind.ABOUT, QuestionKind.DEFINE, QuestionKind.WHO) and question.name:
        return plainly(replies["unknown_about"].format(about=said_back(named_as_asked(question))), known=False)
    return plainly(replies["unknown"], known=False)


def named_as_asked(question: Question) -> str:
    """The name with the capitals that the user gave it."""
    assert question.name is not None, "only asked of questions about a name"
    place = question.text.casefold().find(question.rest)
    found = question.text[place : place + len(question.rest)] if place >= 0 else question.name
    return found.strip(" ?.!")
