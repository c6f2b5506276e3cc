"""What a statement is: its verb, its role, what it is about, the relation it tells and the value it gives."""

from dataclasses import dataclass, replace

from turnkeeper.knowledge.grammar import Grammar, RelationCues
from turnkeeper.knowledge.phrases import MARKS, Words
from turnkeeper.model.unit import Relation, UnitRole

_LONGEST_NAME = 8
# What stands for a word inside a name: no word of any language.
_NAME = "\u00b7"
# These are about the whole of a sentence, with its reason; the others about its main clause.
_SAID_BY_THE_WHOLE = (UnitRole.EXPLANATION, UnitRole.NARRATIVE, UnitRole.PROCEDURE)
_LONGEST_TOPIC = 6
_SPAN = 2
"""How many adverbs may stand between a subject and its relation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Triple:
    subject: str
    relation: Relation
    object: str


def verb_at(words: Words, grammar: Grammar, *, surely: bool = False) -> int | None:
    """Where the first verb of the main clause stands; `surely` leaves out what only looks like one by its ending."""
    after_pronoun = False
    in_relative = False
    subjects, adverbs = grammar.words("subject"), grammar.words("adverb")
    for index in range(len(words)):
        word, before = words[index], words[index - 1] if index else ""
        if index and before in grammar.words("relative") and index > 1:
            in_relative = True
        if _is_verb(words, index, grammar) or (after_pronoun and word not in adverbs and word not in MARKS):
            if not in_relative:
                return index
            in_relative = False
        after_pronoun = word in subjects or (after_pronoun and word in adverbs)
    return None if surely else _by_ending(words, grammar)


def _is_verb(words: Words, index: int, grammar: Grammar) -> bool:
    word, before, behind = words[index], words[index - 1] if index else "", words[index + 1]
    if word == grammar.possessive:
        return _is_copula(words, index, grammar)
    points = index == 1 and before in grammar.words("pointer")
    if not index or (before in grammar.before_noun and not points) or before == grammar.possessive:
        # "The can", "in May", "at work", "to run": here even a word that looks like a verb is none.
        return bool(index) and word in grammar.words("copula")
    if word in grammar.finite:
        return True
    if word in grammar.verbs:
        # In "test runs take long" the first is a noun; in "rust causes leaks" the last is.
        goes_on = index + 2 < len(words)
        return behind not in grammar.finite and not (goes_on and behind in grammar.words("verb"))
    return _is_past_form(words, index, grammar) and before not in grammar.finite and behind not in grammar.finite


def _is_copula(words: Words, index: int, grammar: Grammar) -> bool:
    """Whether what could show an owner is a short form of a verb here."""
    before, behind = words[index - 1] if index else "", words[index + 1]
    if before in grammar.words("subject") or before in grammar.words("pointer") or before in grammar.words("ask"):
        return True
    return behind in grammar.words("article") or behind in grammar.words("not")


def _is_past_form(words: Words, index: int, grammar: Grammar) -> bool:
    return words[index] not in grammar.words("not_past") and bool(
        grammar.past_ending.begin_of(words.part(index, index + 1))
    )


def _by_ending(words: Words, grammar: Grammar) -> int | None:
    """A verb that the language does not list, known by its ending and by what stands before it."""
    for index in range(1, len(words)):
        before = words[index - 1]
        if before in grammar.before_noun or before in MARKS or before in grammar.words("numeral"):
            continue
        if words[index] in grammar.stop_words or words[index] in grammar.words("adverb"):
            continue
        word = words.part(index, index + 1)
        looks_like_one = grammar.present_ending.begin_of(word) and not grammar.not_present_ending.begin_of(word)
        if looks_like_one and not words.is_capital(index):
            return index
    return None


def tells_of_the_past(words: Words, grammar: Grammar) -> bool:
    verb = verb_at(words, grammar)
    if verb is None or words[0] in grammar.words("handle"):
        # "Turn left": an order tells of no past.
        return False
    return words[verb] in grammar.words("past_verb") or _is_past_form(words, verb, grammar)


def tells_of_the_present(words: Words, grammar: Grammar) -> bool:
    """Whether the verb surely is in the present: a form that could be of the past as well does not count."""
    verb = verb_at(words, grammar)
    if verb is None:
        return False
    word = words[verb]
    if word in grammar.words("have"):
        return not grammar.perfect.begin_of(words.part(verb + 1))
    if word in grammar.words("present_copula") or word in grammar.words("modal"):
        return True
    return word in grammar.words("verb") and bool(grammar.present_ending.begin_of(words.part(verb, verb + 1)))


def is_only_supposed(words: Words, grammar: Grammar) -> bool:
    """ "If we moved": a condition in the past is one that does not hold."""
    if words[0] not in grammar.words("supposing"):
        return False
    end = next((index for index in range(len(words)) if words[index] in MARKS), len(words))
    return tells_of_the_past(words.part(1, end), grammar)


def is_negative(words: Words, grammar: Grammar) -> bool:
    return any(token.norm in grammar.words("negation") for token in words.tokens)


def role_of(words: Words, grammar: Grammar) -> UnitRole:
    """The first role whose cues are found; what fits none is a Description."""
    past = tells_of_the_past(words, grammar)
    words = _without_names(words, grammar)
    main = _without_reason(words, grammar)
    for rule in grammar.roles:
        if rule.past and past:
            return rule.role
        said = words if rule.role in _SAID_BY_THE_WHOLE else main
        if (
            rule.cues.found_in(said)
            and not (rule.not_past and past)
            and not rule.unless.found_in(said)
            and not (rule.not_present and tells_of_the_present(words, grammar))
        ):
            return rule.role
    return UnitRole.DESCRIPTION


def _without_reason(words: Words, grammar: Grammar) -> Words:
    """The main clause: in "we close early because the light is bad" nothing is judged, a reason is given."""
    found = grammar.reason.span(words)
    if found is None:
        return words
    main = words.part(0, found[0])
    if not found[0]:
        comma = next((index for index in range(len(words)) if words[index] == ","), len(words))
        main = words.part(comma + 1)
    return main if verb_at(main, grammar) is not None else words


def _without_names(words: Words, grammar: Grammar) -> Words:
    """A word inside a name is no cue: "the band is called Never Again" forbids nothing."""
    kept = grammar.words("speaker") | grammar.words("weekday") | grammar.words("month")
    inside = {
        index
        for index in range(1, len(words))
        if words.is_title(index) and words[index] not in kept and words[index - 1] not in MARKS
    }
    # Where most words are written so, capitals tell nothing.
    if not inside or len(inside) * 2 > len(words):
        return words
    tokens = [replace(token, norm=_NAME) if index in inside else token for index, token in enumerate(words.tokens)]
    return Words(text=words.text, tokens=tokens)


def topic_of(words: Words, role: UnitRole, grammar: Grammar, *, last: str | None = None) -> str:
    """What a statement is about: its subject, or for a preference what is preferred. `last` is what "it" stands for."""
    verb = verb_at(words, grammar)
    subject = _subject(words, verb, grammar)
    behind = words.part(verb + 1) if verb is not None else words.part(0, 0)
    first = subject[0]
    if len(subject) == 1 and first in grammar.words("mention") | grammar.words("pointer") and last:
        return last
    if len(subject) == 1 and first in grammar.words("speakers"):
        if role is UnitRole.EVALUATION and (topic := _noun_phrase(behind, grammar)):
            return topic
        if first in grammar.words("speaker"):
            return grammar.topics.speaker
    elif len(subject) and first not in grammar.words("subject"):
        return _owned(subject, grammar)
    return _noun_phrase(behind, grammar) or _noun_phrase(words, grammar) or words.said[:80] or "-"


def _subject(words: Words, verb: int | None, grammar: Grammar) -> Words:
    """The words before the verb; an opening that ends with a comma does not count."""
    end = verb if verb is not None else 0
    begin = max((index + 1 for index in range(end) if words[index] in MARKS), default=0)
    while end > begin and (words[end - 1] in grammar.words("adverb") or words[end - 1] in MARKS):
        end -= 1
    return words.part(begin, end)


def _owned(subject: Words, grammar: Grammar) -> str:
    """ "My name" is the name of the one who speaks."""
    if subject[0] in grammar.words("own") and len(subject) > 1:
        return grammar.topics.of_speaker.format(_shortened(subject.part(1), _LONGEST_TOPIC))
    return _shortened(_bare(subject, grammar), _LONGEST_NAME)


def _noun_phrase(words: Words, grammar: Grammar) -> str:
    """The first words that could name something."""
    skipped = grammar.before_noun | grammar.words("adverb") | grammar.words("not") | grammar.finite | set(MARKS)
    begin = 0
    while begin < len(words) and words[begin] in skipped:
        begin += 1
    end = begin
    stops = grammar.topics.ends | set(MARKS)
    while end < len(words) and end - begin < _LONGEST_TOPIC and words[end] not in stops:
        end += 1
    return words.part(begin, end).said


def _shortened(words: Words, most: int) -> str:
    return " ".join(words.part(0, most).said.split())


def _bare(words: Words, grammar: Grammar) -> Words:
    """Without a leading article, as long as something is left."""
    return words.part(1) if len(words) > 1 and words[0] in grammar.words("article") else words


# --- relations


def triple_of(words: Words, role: UnitRole, grammar: Grammar) -> Triple | None:
    """The relation that the statement tells, if it tells exactly one. What is negated tells none."""
    verb = verb_at(words, grammar)
    if verb is None or is_negative(words, grammar):
        return None
    for rule in grammar.relations:
        if rule.role in (None, role) and (triple := _triple(words, verb, rule, grammar)):
            return triple
    return None


def _triple(words: Words, verb: int, rule: RelationCues, grammar: Grammar) -> Triple | None:
    found = rule.phrases.span(words, verb)
    if (
        found is None
        or found[0] - verb > _SPAN
        or any(words[i] not in grammar.words("adverb") for i in range(verb, found[0]))
    ):
        return None
    subject = _subject(words, verb, grammar)
    if rule.first:
        if subject[0] not in rule.first:
            return None
        subject = subject.part(1)
    named = _named(subject, grammar)
    other = _without_last_adverbs(_bare(_until(words.part(found[1]), rule.before), grammar), grammar)
    if named is None or not len(other) or len(other) > _LONGEST_NAME or other[0] in grammar.words("pointer"):
        return None
    one, two = named, " ".join(other.said.split())
    if rule.inverse:
        one, two = two, one
    return Triple(subject=one, relation=rule.relation, object=two)


def _named(subject: Words, grammar: Grammar) -> str | None:
    """The name of a subject that can stand alone; None for "it" and for what is too long to be a name."""
    subject = _bare(subject, grammar)
    if not len(subject) or len(subject) > _LONGEST_NAME:
        return None
    if len(subject) == 1:
        if subject[0] in grammar.words("speaker"):
            return grammar.topics.speaker
        if subject[0] in grammar.words("mention") | grammar.words("pointer") | grammar.words("listener"):
            return None
    return " ".join(subject.said.split())


def _without_last_adverbs(words: Words, grammar: Grammar) -> Words:
    """ "Uses tar now" is about tar; but "at once" is one word in two."""
    end = len(words)
    while end > 1 and words[end - 1] in grammar.words("adverb") and words[end - 2] not in grammar.words("preposition"):
        end -= 1
    return words.part(0, end)


def _until(words: Words, stops: frozenset[str]) -> Words:
    end = next((i for i in range(len(words)) if words[i] in stops or words[i] in MARKS), len(words))
    return words.part(0, end)


# --- slots


def slot_of(words: Words, grammar: Grammar) -> str | None:
    """What has one value at a time, if this statement gives its value: "port of staging server"."""
    verb = verb_at(words, grammar)
    if verb is None or (words[verb] not in grammar.words("copula") and words[verb] != grammar.possessive):
        return None
    subject = _subject(words, verb, grammar)
    value = words.part(verb + 1)
    if len(subject) == 0 or len(subject) > _LONGEST_NAME or len(value) == 0 or value[0] in grammar.words("indefinite"):
        return None
    owner = [token.norm for token in subject.tokens]
    if any(word in grammar.topics.ends or word in grammar.words("joining") for word in owner):
        return None
    attribute = _attribute(owner, grammar)
    is_definite = owner[0] in grammar.words("definite") or grammar.possessive in owner or grammar.owner in owner
    is_name = is_definite and len(owner) > 1 and words.is_capital(verb + 1) and value[0] not in grammar.words("speaker")
    if not attribute and not is_name:
        return None
    return _slot(owner, grammar)


def _attribute(owner: list[str], grammar: Grammar) -> bool:
    """Whether the noun that carries the subject names a property: the last one, or the last before "of"."""
    head = owner[: owner.index(grammar.owner)] if grammar.owner in owner[1:] else owner
    return head[-1] in grammar.words("attribute")


def _slot(owner: list[str], grammar: Grammar) -> str:
    """One form for "the port of X", "X's port" and "our port"."""
    if grammar.possessive in owner[1:-1]:
        cut = len(owner) - 1 - owner[::-1].index(grammar.possessive)
        return f"{_slot(owner[cut + 1 :], grammar)} {grammar.owner} {_slot(owner[:cut], grammar)}"
    speaker = owner[0] in grammar.words("own")
    dropped = grammar.words("article") | grammar.words("own") | grammar.words("shared") | grammar.words("adverb")
    words = [word for word in owner if word not in dropped] or owner
    return " ".join([*words, grammar.owner, grammar.topics.speaker] if speaker else words)
