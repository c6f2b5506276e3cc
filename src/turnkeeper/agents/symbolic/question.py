"""Reading a question: what kind of answer it wants, and about what."""

import re
from dataclasses import dataclass
from enum import StrEnum

from turnkeeper.agents.symbolic.language import QuestionRule, RelationWords, Speech, speech
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`rest` is what follows the asking words. `name` is what it is about, `relation` what it asks of that name.

    `opening` is its first word. `backwards` asks for the subject of the relation instead of its object: "what uses
    X" for "what does X use". `others` are the things that are compared.
    """

    text: str
    kind: QuestionKind
    rest: str
    words: tuple[str, ...] = ()
    opening: str = ""
    name: str | None = None
    relation: Relation | None = None
    backwards: bool = False
    others: tuple[str, ...] = ()

    @property
    def acts(self) -> tuple[Act, ...]:
        return ACTS_OF_KIND.get(self.kind, (Act.DESCRIBE,))


def read_question(text: str) -> Question:
    """A question that fits no rule asks for something; a request fits none and has no question mark."""
    rules = speech()
    asked = _without_courtesy(plain_form(text), rules)
    for rule in rules.question_rules:
        if (question := _read_by(rule, text, asked, rules)) is not None:
            return question
    kind = QuestionKind.WHAT if text.rstrip().endswith("?") else QuestionKind.REQUEST
    return Question(text=text, kind=kind, rest=asked, words=tuple(telling(asked)))


def parts_of(text: str) -> tuple[str, ...]:
    """The questions that a compound one is made of: "who is A and where does she live"."""
    rules = speech().questions
    splits, joint = "|".join(map(re.escape, rules["splits"])), re.escape(rules["and"][0])
    # In one space first: looking for white space before a word takes ever longer in a long stretch of it.
    said = _WHITE.sub(" ", text).strip()
    parts = re.split(rf",? {joint} (?=(?:{splits})\b)", said, flags=re.IGNORECASE)
    begins = re.compile(rf"(?:{splits}|{'|'.join(map(re.escape, rules['yes_no']))})\b", re.IGNORECASE)
    if len(parts) < 2 or not all(begins.match(part) for part in parts):
        return ()
    # "Where do we land and when" asks twice about the same.
    first = parts[0].rstrip(" ?,").partition(" ")[2]
    whole = [part if telling(part) else f"{part.rstrip(' ?,')} {first}" for part in parts]
    return tuple(part.rstrip(" ?,") + "?" for part in whole)


def names_of(question: Question) -> tuple[str, ...]:
    """The things that a question about several of them names, each as a question of its own."""
    joint = re.escape(speech().questions["and"][0])
    names = re.split(rf", ?(?:{joint} )?| {joint} ", _WHITE.sub(" ", question.rest))
    before = plain_form(question.text).removesuffix(question.rest)
    return tuple(f"{before}{name}?" for name in names) if len(names) > 1 and before and all(names) else ()


def plain_form(text: str) -> str:
    """Folded and spread out: no closing mark, no contractions, no lead-in."""
    rules = speech()
    folded = _WHITE.sub(" ", text.casefold().replace("\u2019", "'")).strip(" .!?,;:\"'\u00bf\u00a1")
    words = [rules.contractions.get(word, word) for word in folded.split(" ")]
    while len(words) > 1 and words[0].strip(",") in rules.questions["lead_in"]:
        words = words[1:]
    plain = " ".join(words)
    for tail in rules.questions["tails"]:
        plain = plain.removesuffix(f" {tail}").rstrip(" ,:?")
    return plain


def asks_for_little(text: str) -> bool:
    """Whether it ends by asking for yes or no, or for one word."""
    return text.casefold().rstrip(" .!?").endswith(speech().questions["brief"])


def after_phrase(plain: str, phrases: tuple[str, ...]) -> str | None:
    """What follows the first of these phrases, if the text begins with one."""
    for phrase in phrases:
        if plain == phrase:
            return ""
        if plain.startswith(phrase + " "):
            return plain[len(phrase) + 1 :]
    return None


def verb_forms(verb: str) -> str:
    """A verb as it may stand in a question: "depend on" also as "depends on"."""
    first, _, rest = verb.partition(" ")
    many = first.removesuffix("y") + "ies" if first.endswith("y") else first + "s"
    forms = rf"(?:{first}|{many}|{first}ed|{first}d|{first}ing)"
    return f"{forms} {re.escape(rest)}" if rest else forms


def _without_courtesy(plain: str, rules: Speech) -> str:
    rest = after_phrase(plain, rules.questions["polite"])
    if not rest or any(rule.is_begun_by(plain) for rule in rules.question_rules if rule.kind == QuestionKind.ABOUT):
        return plain
    if any(plain in rule.whole for rule in rules.question_rules):
        return plain
    first, _, behind = rest.partition(" ")
    if first in rules.questions["joins"]:
        return behind
    if first in rules.questions["works"]:
        return plain
    # "Do you know the port" asks for the port.
    begins = first in rules.questions["begins"] or first in rules.questions["yes_no"]
    return rest if begins else f"{rules.define} {rest}"


def _read_by(rule: QuestionRule, text: str, asked: str, rules: Speech) -> Question | None:
    kind = QuestionKind(rule.kind)
    opening = asked.partition(" ")[0]
    if kind is QuestionKind.RELATED:
        return _related(text, asked, rules)
    if asked in rule.whole:
        return Question(text=text, kind=kind, rest="")
    if rule.begins_with and opening in rules.questions[rule.begins_with] and asked != opening:
        rest = asked.partition(" ")[2]
        return Question(text=text, kind=kind, rest=rest, words=tuple(telling(rest)), opening=opening)
    if rule.about and _asks_for_all(rule, asked, rules):
        return Question(text=text, kind=kind, rest=asked, words=tuple(telling(asked)))
    if rule.pattern and (match := re.fullmatch(rule.pattern, asked)):
        found = match.groupdict()
        others = tuple(name_key(found[side]) for side in ("a", "b") if side in found)
        name = name_key(found["name"]) if "name" in found else None
        rest = found.get("name") or asked
        return Question(text=text, kind=kind, rest=rest, words=tuple(telling(rest)), name=name, others=others)
    rest_of_phrase = after_phrase(asked, rule.phrases)
    if rest_of_phrase is None or (rule.names and not rest_of_phrase):
        return None
    name = name_key(rest_of_phrase) if rule.names else None
    words = tuple(telling(rest_of_phrase)) or tuple(telling(asked))
    return Question(text=text, kind=kind, rest=rest_of_phrase, words=words, opening=opening, name=name)


def _asks_for_all(rule: QuestionRule, asked: str, rules: Speech) -> bool:
    """Whether the question names nothing but such a kind: what are the rules, what do I like."""
    about, said = telling(asked), set(words_of(asked))
    if (
        len(about) != 1
        or about[0] not in telling(" ".join(rule.about))
        or asked.partition(" ")[0] in rules.questions["yes_no"]
    ):
        return False
    if rule.first_person and said.isdisjoint(rules.questions["first_person"]):
        return False
    return not rule.negated or not said.isdisjoint(rules.words["negations"])


def _related(text: str, asked: str, rules: Speech) -> Question | None:
    """Questions for one end of a relation, by its verb or its noun."""
    for words in rules.relations:
        for pattern, backwards in _patterns_of(words, rules):
            if match := re.fullmatch(pattern, asked):
                return Question(
                    text=text,
                    kind=QuestionKind.RELATED,
                    rest=asked,
                    words=tuple(telling(asked)),
                    name=name_key(match["name"]),
                    relation=words.relation,
                    backwards=backwards,
                )
    return None


def _patterns_of(words: RelationWords, rules: Speech) -> list[tuple[str, bool]]:
    patterns = []
    for verbs, turned in ((words.verbs, False), (words.whole_verbs, True)):
        for verb in verbs:
            form = "_be" if verb.startswith("be ") else ""
            said = {"{be}": re.escape(verb.removeprefix("be ")), "{verb}": verb_forms(verb)}
            for side, backwards in (("forward", turned), ("backward", not turned)):
                pattern = rules.related[side + form]
                for mark, instead in said.items():
                    pattern = pattern.replace(mark, instead)
                patterns.append((pattern, backwards))
    for nouns, turned in ((words.nouns, False), (words.whole_nouns, True)):
        patterns += [(rules.related["by_noun"].replace("{noun}", re.escape(noun)), turned) for noun in nouns]
    return patterns
