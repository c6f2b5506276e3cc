"""Reading a question: what kind of answer it wants, and about what."""

import re
from dataclasses import dataclass
from enum import StrEnum

from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.words import telling, words_of
from turnkeeper.model.names import name_key
from turnkeeper.model.unit import Act, Relation

_WHITE = re.compile(r"\s+")


class QuestionKind(StrEnum):
    YES_NO = "yes-no"
    WHO = "who"
    WHAT = "what"
    WHERE = "where"
    WHEN = "when"
    WHICH = "which"
    HOW_MANY = "how-many"
    HOW = "how"
    WHY = "why"
    DEFINE = "define"
    ABOUT = "about"
    COMPARE = "compare"
    RELATED = "related"
    CONSTRAINTS = "constraints"
    PREFERENCES = "preferences"
    DISLIKES = "dislikes"
    PROBLEMS = "problems"
    REMEMBERED = "remembered"
    SELF = "self"
    SOURCES = "sources"
    REQUEST = "request"


ACTS_OF_KIND = {
    QuestionKind.YES_NO: (Act.VERIFY,),
    QuestionKind.HOW: (Act.IMPLEMENT,),
    QuestionKind.WHY: (Act.EXPLAIN, Act.DIAGNOSE),
    QuestionKind.DEFINE: (Act.DEFINE,),
    QuestionKind.ABOUT: (Act.DESCRIBE,),
    QuestionKind.COMPARE: (Act.COMPARE,),
    QuestionKind.CONSTRAINTS: (Act.VERIFY,),
    QuestionKind.PREFERENCES: (Act.EVALUATE,),
    QuestionKind.DISLIKES: (Act.EVALUATE,),
    QuestionKind.PROBLEMS: (Act.DIAGNOSE,),
    QuestionKind.WHO: (Act.IDENTIFY,),
}

_BY_FIRST_WORD = {
    "who": QuestionKind.WHO,
    "whom": QuestionKind.WHO,
    "whose": QuestionKind.WHO,
    "where": QuestionKind.WHERE,
    "when": QuestionKind.WHEN,
    "which": QuestionKind.WHICH,
    "what": QuestionKind.WHAT,
    "why": QuestionKind.WHY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`rest` is what follows the asking words. `name` is what it is about, `relation` what it asks of that name.

    `opening` is its first word. `backwards` asks for the subject of the relation instead of its object: "what uses
    X" for "what does X use".
    """

    text: str
    kind: QuestionKind
    rest: str
    words: tuple[str, ...]
    opening: str = ""
    name: str | None = None
    relation: Relation | None = None
    backwards: bool = False
    others: tuple[str, ...] = ()

    @property
    def acts(self) -> tuple[Act, ...]:
        return ACTS_OF_KIND.get(self.kind, (Act.DESCRIBE,))


def read_question(text: str) -> Question:
    plain = plain_form(text)
    asked = _without_courtesy(plain)
    kind, rest, name, relation, backwards, others = _read(asked)
    return Question(
        text=text,
        kind=kind,
        rest=rest,
        words=tuple(telling(asked if kind is not QuestionKind.ABOUT else rest)),
        opening=asked.partition(" ")[0],
        name=name,
        relation=relation,
        backwards=backwards,
        others=others,
    )


def parts_of(text: str) -> tuple[str, ...]:
    """The questions that a compound one is made of: "who is A and where does she live"."""
    splits = "|".join(map(re.escape, speech().questions["splits"]))
    parts = re.split(rf",?\s+and\s+(?=(?:{splits})\b)", text.strip(), flags=re.IGNORECASE)
    begins = re.compile(rf"(?:{splits}|{'|'.join(map(re.escape, speech().questions['yes_no']))})\b", re.IGNORECASE)
    whole = len(parts) > 1 and all(begins.match(part) for part in parts)
    return tuple(part.rstrip(" ?,") + "?" for part in parts) if whole else ()


def plain_form(text: str) -> str:
    """Folded and spread out: no closing mark, no contractions, no lead-in."""
    folded = _WHITE.sub(" ", text.casefold().replace("\u2019", "'")).strip(" .!?,;:\"'")
    words = [speech().contractions.get(word, word) for word in folded.split(" ")]
    while len(words) > 1 and words[0].strip(",") in speech().questions["lead_in"]:
        words = words[1:]
    return " ".join(words)


def _without_courtesy(plain: str) -> str:
    rest = after_phrase(plain, speech().questions["polite"])
    if rest is None or after_phrase(plain, speech().questions["about"]) is not None:
        return plain
    first = rest.split(" ")[0] if rest else ""
    if first in ("if", "whether"):
        return rest.split(" ", 1)[1] if " " in rest else rest
    # "Do you know the port" asks for the port.
    return rest if first in _BY_FIRST_WORD or first == "how" else f"what is {rest}"


def _read(
    plain: str,
) -> tuple[QuestionKind, str, str | None, Relation | None, bool, tuple[str, ...]]:
    questions = speech().questions
    for kind, group in (
        (QuestionKind.SELF, "self"),
        (QuestionKind.SOURCES, "sources"),
        (QuestionKind.REMEMBERED, "remembered"),
    ):
        if plain in questions[group]:
            return kind, "", None, None, False, ()
    if (rest := after_phrase(plain, questions["about"])) is not None and rest:
        return QuestionKind.ABOUT, rest, name_key(rest), None, False, ()
    if (pair := _compared(plain)) is not None:
        return QuestionKind.COMPARE, plain, None, None, False, pair
    if (rest := after_phrase(plain, questions["why"])) is not None:
        return QuestionKind.WHY, rest, None, None, False, ()
    if (rest := after_phrase(plain, questions["how"])) is not None:
        return QuestionKind.HOW, rest, None, None, False, ()
    if (related := _related(plain)) is not None:
        name, relation, backwards = related
        return QuestionKind.RELATED, plain, name, relation, backwards, ()
    if (rest := after_phrase(plain, questions["define"])) is not None and rest:
        return QuestionKind.DEFINE, rest, name_key(rest.removesuffix(" mean")), None, False, ()
    if match := re.fullmatch(r"what (?:does|do|did) (.+?) (?:mean|stand for)", plain):
        return QuestionKind.DEFINE, match[1], name_key(match[1]), None, False, ()
    if (listed := _listed(plain)) is not None:
        return listed, plain, None, None, False, ()
    words = plain.split(" ")
    if plain.startswith(("how many ", "how much ")):
        return QuestionKind.HOW_MANY, " ".join(words[2:]), None, None, False, ()
    if plain.startswith(("how long", "how often", "how old", "how far", "how big", "how tall", "how fast", "how late")):
        return QuestionKind.WHAT, " ".join(words[1:]), None, None, False, ()
    if words[0] == "how":
        return QuestionKind.HOW, " ".join(words[1:]), None, None, False, ()
    if words[0] in questions["yes_no"] and len(words) > 1:
        return QuestionKind.YES_NO, " ".join(words[1:]), None, None, False, ()
    if match := re.fullmatch(r"(?:who|what) (?:is|are|was|were) (.+)", plain):
        name = name_key(match[1])
        who = QuestionKind.WHO if words[0] == "who" else QuestionKind.DEFINE
        return who, match[1], name, None, False, ()
    for place, word in enumerate(words[:3]):
        # "In which city", "at what time": the asking word may stand behind a preposition.
        if word in _BY_FIRST_WORD:
            kind = _BY_FIRST_WORD[word]
            rest = " ".join(words[place + 1 :])
            if rest.split(" ")[0] in ("time", "day", "date", "year", "month"):
                kind = QuestionKind.WHEN
            return kind, rest, None, None, False, ()
    return QuestionKind.REQUEST, plain, None, None, False, ()


def after_phrase(plain: str, phrases: tuple[str, ...]) -> str | None:
    """What follows the first of these phrases, if the text begins with one."""
    for phrase in phrases:
        if plain == phrase:
            return ""
        if plain.startswith(phrase + " "):
            return plain[len(phrase) + 1 :]
    return None


def _compared(plain: str) -> tuple[str, ...] | None:
    rest = after_phrase(plain, speech().questions["compare"])
    if rest is None:
        return None
    if plain.startswith("how "):
        match = re.fullmatch(r"(.+?) (?:compare|differ)(?:s|d)?(?: (?:to|with|from) (.+))?", rest)
        if match is None:
            return None
        rest = match[1] if match[2] is None else f"{match[1]} and {match[2]}"
    names = [name_key(name) for name in re.split(r"\s+(?:and|with|to|vs\.?|versus|against)\s+", rest)]
    return tuple(names) if len(names) >= 2 and all(names) else None


def _related(plain: str) -> tuple[str, Relation, bool] | None:
    """Questions for one end of a relation, by its verb or its noun."""
    be = r"(?:is|are|was|were)"
    do = r"(?:does|do|did|can|will|must|should|would)"
    wh = r"(?:what|who|which(?: \w+){0,2}?|what \w+?)"
    for words in speech().relations:
        for verbs, backwards in ((words.verbs, False), (words.whole_verbs, True)):
            for verb in verbs:
                if verb.startswith("be "):
                    tail = re.escape(verb.removeprefix("be "))
                    forward = rf"{wh} {be} (.+?) {tail}"
                    inverse = rf"{wh} {be} {tail} (.+)"
                else:
                    forward = rf"{wh} {do} (.+?) {verb_forms(verb)}"
                    inverse = rf"{wh} {verb_forms(verb)} (.+)"
                if match := re.fullmatch(forward, plain):
                    return name_key(match[1]), words.relation, backwards
                if match := re.fullmatch(inverse, plain):
                    return name_key(match[1]), words.relation, not backwards
        for nouns, backwards in ((words.nouns, False), (words.whole_nouns, True)):
            for noun in nouns:
                if match := re.fullmatch(rf"what {be} (?:the |a |all the )?{re.escape(noun)} (.+)", plain):
                    return name_key(match[1]), words.relation, backwards
    return None


def verb_forms(verb: str) -> str:
    """A verb as it may stand in a question: "depend on" also as "depends on"."""
    first, _, rest = verb.partition(" ")
    many = first.removesuffix("y") + "ies" if first.endswith("y") else first + "s"
    forms = rf"(?:{first}|{many}|{first}ed|{first}d|{re.escape(first)}ing)"
    return f"{forms} {re.escape(rest)}" if rest else forms


def _listed(plain: str) -> QuestionKind | None:
    """Questions for all of a kind: what are the rules, what do I like."""
    questions = speech().questions
    about = telling(plain)
    if not about:
        return None
    from_question = set(words_of(plain))
    for kind, group in (
        (QuestionKind.CONSTRAINTS, "all_constraints"),
        (QuestionKind.PROBLEMS, "all_problems"),
    ):
        if len(about) == 1 and about[0] in set(telling(" ".join(questions[group]))):
            return kind
    if from_question & {"i", "we", "my", "our"} and len(about) == 1:
        dislikes = set(telling(" ".join(questions["all_dislikes"])))
        likes = set(telling(" ".join(questions["all_preferences"])))
        if about[0] in dislikes or (about[0] in likes and from_question & speech().words["negations"]):
            return QuestionKind.DISLIKES
        if about[0] in likes and plain.split(" ")[0] not in questions["yes_no"]:
            return QuestionKind.PREFERENCES
    return None
