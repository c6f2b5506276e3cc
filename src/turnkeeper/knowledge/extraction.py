"""Reading a chat message by rules for what is worth remembering."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from turnkeeper.knowledge.clauses import clauses
from turnkeeper.knowledge.corrections import Known, corrected_by, few_words
from turnkeeper.knowledge.grammar import Grammar, grammar
from turnkeeper.knowledge.phrases import MARKS, Words
from turnkeeper.knowledge.sentences import Sentence, sentences
from turnkeeper.knowledge.statements import (
    is_negative,
    is_only_supposed,
    role_of,
    slot_of,
    topic_of,
    triple_of,
    verb_at,
)
from turnkeeper.model.ids import UnitId
from turnkeeper.model.unit import Lifetime, PhaseScope, Unit, UnitRole
from turnkeeper.ports.extractor import Extraction

MOST_UNITS = 50
# A longer sentence is data that somebody pasted, and would not be one claim.
MOST_WORDS = 120
_MOST_LEAD_INS = 6
_SHORTEST_FRAGMENT = 2
_LONGEST_EXCLAMATION = 5
_SHORTEST_WITHOUT_VERB = 5
_SAID_SHORTLY = (UnitRole.CONSTRAINT, UnitRole.DEFINITION, UnitRole.EVALUATION)
# "The deadline was moved to Monday" is a deadline, as what it corrects was. Other kinds may change: a fault is mended.
_TELLS_NO_KIND = (UnitRole.NARRATIVE, UnitRole.DESCRIPTION)
# A unit of these roles is worth nothing without what it is about.
_NAMES_NOTHING = (UnitRole.DESCRIPTION, UnitRole.DEFINITION)
_QUOTES = "\"'(\u201c\u2018"


class RuleExtractor:
    """An Extractor by the rules of one language. It keeps nothing between messages, so that all turns may share it."""

    def __init__(self, rules: Grammar | None = None, *, most_units: int = MOST_UNITS) -> None:
        self._rules = rules
        self._most_units = most_units

    @property
    def _grammar(self) -> Grammar:
        """Made at first use: that takes a few hundredths of a second, and an extractor may never be used."""
        if self._rules is None:
            self._rules = grammar("en")
        return self._rules

    def corrects(self, text: str) -> bool:
        rules = self._grammar
        for sentence in sentences(text, rules):
            words = rules.read(text, sentence.start, sentence.end)
            rest, announced = _without_lead_ins(words, rules)
            if announced or rules.correction_inside.found_in(rest) or is_negative(rest, rules):
                return True
        return False

    def extract(self, text: str, *, known: Sequence[Unit] = ()) -> Extraction:
        reading = _Reading(text=text, rules=self._grammar, known=Known(known, self._grammar))
        for sentence in sentences(text, self._grammar):
            if len(reading.units) >= self._most_units:
                break
            reading.read(sentence)
        return Extraction(units=tuple(reading.units[: self._most_units]), asked=tuple(reading.asked))


@dataclass(slots=True)
class _Reading:
    """One message on its way through the rules."""

    text: str
    rules: Grammar
    known: Known
    units: list[Unit] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    topic: str | None = None
    # "That's wrong." announces that the next sentence takes something back.
    announced: bool = False
    # What follows an order such as "translate this:" is material, and none of it is said by the writer.
    material_passage: int | None = None
    material_to_the_end: bool = False

    def read(self, sentence: Sentence) -> None:
        if self.material_to_the_end or self.material_passage == sentence.passage:
            return
        if sentence.asked:
            self.asked.append(self.text[sentence.start : sentence.end])
            return
        words = _without_last_marks(self.rules.read(self.text, sentence.start, sentence.end))
        if not len(words) or len(words) > MOST_WORDS:
            return
        if sentence.steps:
            self._keep(words, sentence.end, UnitRole.PROCEDURE)
            return
        words, announced = _without_lead_ins(words, self.rules)
        announced, self.announced = announced or self.announced, announced and not len(words)
        if not len(words):
            return
        takes_back = announced or words[0] in self.rules.words("not") or self._points_back(words)
        if takes_back and self._read_few_words(words, sentence):
            return
        parts = self._guidance_and_question(words, sentence) or list(
            clauses(words, self.rules, asks=sentence.mark == "?")
        )
        for number, clause in enumerate(parts):
            is_last = number == len(parts) - 1
            end = sentence.end if is_last else clause.tokens[-1].end if len(clause) else sentence.start
            self._read_clause(clause, end, sentence, mark=sentence.mark if is_last else "", announced=announced)

    def _guidance_and_question(self, words: Words, sentence: Sentence) -> list[Words]:
        """ "Answer this one in French: what is it?" says how to answer what it asks."""
        colon = next((index for index in range(1, len(words)) if words[index] == ":"), None)
        if colon is None or not self._is_guidance(words.part(0, colon)):
            return []
        asked = words.part(colon + 1)
        return [words.part(0, colon), asked] if sentence.mark == "?" or self.rules.question.begin_of(asked) else []

    def _points_back(self, words: Words) -> bool:
        """ "It's 3, not 2" says what it corrects without announcing it."""
        return words[0] in self.rules.words("pointer") and self.rules.correction_inside.found_in(words)

    def _read_few_words(self, words: Words, sentence: Sentence) -> bool:
        """Read a correction that is no sentence by itself; whether it was one."""
        rules = self.rules
        if (
            sentence.mark == "?"
            or rules.idle.begin_of(words)
            or self._is_guidance(words)
            or rules.question.begin_of(words)
        ):
            return False
        verb = verb_at(words, rules, surely=True)
        stands_for = rules.words("pointer") | rules.words("mention")
        if verb is not None and words[0] not in rules.words("not") and not (verb == 1 and words[0] in stands_for):
            return False
        correction = few_words(words, self.known, rules)
        if correction is None:
            return False
        claim, unit = rules.read(correction.claim), correction.unit
        self._keep(
            claim,
            len(correction.claim),
            unit.role,
            guides=unit.is_guidance,
            lifetime=unit.lifetime,
            supersedes=unit,
        )
        return True

    def _read_clause(self, words: Words, end: int, sentence: Sentence, *, mark: str, announced: bool) -> None:
        rules = self.rules
        words, _ = _without_lead_ins(_without_last_marks(words), rules)
        if not len(words) or self._is_idle(words) or self._is_exclamation(words, mark):
            return
        if self._is_guidance(words) and not self._is_question(words, mark):
            self._keep_guidance(words, end, announced)
        elif mark == "?" or rules.question.begin_of(words):
            self._ask(words, end, sentence)
        elif rules.rule.begin_of(words):
            self._keep(words, end, UnitRole.CONSTRAINT, announced=announced)
        else:
            self._read_statement(words, end, sentence, mark, announced)

    def _read_statement(self, words: Words, end: int, sentence: Sentence, mark: str, announced: bool) -> None:
        rules = self.rules
        role = role_of(words, rules)
        verb = verb_at(words, rules)
        is_procedure = role is UnitRole.PROCEDURE
        if not is_procedure and (
            rules.request.begin_of(words)
            or (verb_at(words, rules, surely=True) is None and rules.request_without_verb.begin_of(words))
        ):
            self._ask(words, end, sentence)
            return
        if rules.supposed.found_in(words) or sentence.heads or self._is_left_out(words, is_procedure):
            return
        if verb is None and not is_procedure and not self._is_fragment_to_keep(words, role, mark):
            return
        if words[0] in rules.words("listener") and role not in (
            UnitRole.CONSTRAINT,
            UnitRole.PROCEDURE,
            UnitRole.DEFINITION,
        ):
            return
        if role in _NAMES_NOTHING and self._points_at_nothing(words, verb) and not announced:
            return
        self._keep(words, end, role, announced=announced)

    def _points_at_nothing(self, words: Words, verb: int | None) -> bool:
        """ "It is late": nobody could say later what "it" was. "It has two doors" is about what was known last."""
        rules = self.rules
        if self.topic is not None or verb != 1 or words[0] not in rules.words("pointer"):
            return False
        is_copula = words[1] in rules.words("present_copula") or words[1] in rules.words("past_copula")
        return self.known.newest is None or (is_copula and words[2] not in rules.before_noun)

    def _is_left_out(self, words: Words, is_procedure: bool) -> bool:
        """What nobody claims: what does not hold, words of somebody else, half a sentence, or another language."""
        rules = self.rules
        if not is_procedure and is_only_supposed(words, rules):
            return True
        half = words[0] in rules.words("reason") and not any(token.norm == "," for token in words.tokens)
        return half or self._quotes_a_request(words) or rules.is_foreign(words)

    def _quotes_a_request(self, words: Words) -> bool:
        """'She asked "where is it"' is a question of hers."""
        rules = self.rules
        for index in range(1, len(words)):
            start = words.tokens[index].start
            if words[index - 1] in rules.words("reporting") and words.text[start - 1] in _QUOTES:
                said = words.part(index)
                return bool(
                    rules.question.begin_of(said)
                    or rules.request.begin_of(said)
                    or rules.request_without_verb.begin_of(said)
                )
        return False

    def _is_idle(self, words: Words) -> bool:
        closing = self.rules.closing.span(words)
        return any(self.rules.idle.begin_of(each) for each in (words, words.part(0, closing[0] if closing else None)))

    def _is_exclamation(self, words: Words, mark: str) -> bool:
        """ "That was quick!" is a reaction, and says nothing that could be used later."""
        return mark == "!" and len(words) <= _LONGEST_EXCLAMATION and words[0] in self.rules.words("pointer")

    def _is_fragment_to_keep(self, words: Words, role: UnitRole, mark: str) -> bool:
        """A rule or a list may do without a verb; so may a whole sentence whose verb is unknown to us."""
        if role is not UnitRole.DESCRIPTION:
            return len(words) >= (_SHORTEST_FRAGMENT if role in _SAID_SHORTLY else _SHORTEST_WITHOUT_VERB)
        names_something = words.is_capital(0) and words[1] not in self.rules.before_noun | self.rules.words("object")
        if words[0] not in self.rules.words("determiner") and not names_something:
            return False
        has_label = any(words[index] == ":" for index in range(1, min(len(words) - 1, _SHORTEST_WITHOUT_VERB)))
        return has_label or (mark == "." and len(words) >= _SHORTEST_WITHOUT_VERB)

    def _ask(self, words: Words, end: int, sentence: Sentence) -> None:
        start = words.tokens[0].start
        self.asked.append(self.text[start:end])
        if words[0] in self.rules.words("order") and (sentence.heads or any(t.norm == ":" for t in words.tokens)):
            self.material_to_the_end = sentence.heads
            self.material_passage = sentence.passage

    # --- guidance

    def _is_question(self, words: Words, mark: str) -> bool:
        """Whether something is asked for, even where it speaks of answers. "Can you ..." alone may be an order."""
        rules = self.rules
        if rules.polite.begin_of(words):
            return False
        opens = words[0] in rules.words("ask") or words[0] in rules.finite
        return mark == "?" or (opens and rules.question.begin_of(words) > 0)

    def _is_guidance(self, words: Words) -> bool:
        rules = self.rules
        bare = words.part(rules.polite.begin_of(words))
        timed = False
        for when in (rules.lasting, rules.once):
            if span := when.span(bare):
                timed = True
                bare = _without_first_marks(
                    Words(text=bare.text, tokens=[*bare.tokens[: span[0]], *bare.tokens[span[1] :]])
                )
        if rules.about_answers.found_in(bare):
            return True
        if not timed or not len(bare):
            return False
        asks_kindly = not rules.words("please").isdisjoint(bare.distinct)
        return asks_kindly or bool(rules.request_without_verb.begin_of(bare) or rules.rule.begin_of(bare))

    def _keep_guidance(self, words: Words, end: int, announced: bool) -> None:
        lifetime = Lifetime.TURN if self.rules.once.found_in(words) else Lifetime.SESSION
        self._keep(words, end, UnitRole.CONSTRAINT, announced=announced, guides=True, lifetime=lifetime)

    # --- units

    def _keep(
        self,
        words: Words,
        end: int,
        role: UnitRole,
        *,
        announced: bool = False,
        guides: bool = False,
        lifetime: Lifetime = Lifetime.SESSION,
        supersedes: Unit | None = None,
    ) -> None:
        rules = self.rules
        start = words.tokens[0].start
        if start > 0 and words.text[start - 1] in _QUOTES:
            start -= 1
        content = " ".join(words.text[start:end].split())
        topic = rules.topics.guidance if guides else topic_of(words, role, rules, last=self.topic or self.known.newest)
        triple = None if guides else triple_of(words, role, rules)
        slot = None if guides else slot_of(words, rules)
        if guides and rules.naming.begin_of(words):
            topic, slot = rules.topics.name, rules.topics.name_slot
        if supersedes is None and self.known:
            announced = announced or rules.correction_inside.found_in(words)
            supersedes = corrected_by(words, topic, slot, self.known, rules, announced=announced)
        if supersedes is not None and supersedes.role is UnitRole.CONSTRAINT and role in _TELLS_NO_KIND:
            role = supersedes.role
        number = len(self.units)
        is_procedure = role is UnitRole.PROCEDURE
        from_message = words.text is self.text
        self.topic = topic
        self.units.append(
            Unit(
                id=UnitId(f"staged::unit-{number:03d}"),
                source_id="session",
                chunk_id="session::staged",
                source_type="chat-turn",
                role=role,
                topic=topic,
                claim=None if is_procedure else content,
                procedure=content if is_procedure else None,
                phase_scopes=(PhaseScope.SOLVE,) if guides else (PhaseScope.KNOWLEDGE,),
                subject=triple.subject if triple else None,
                relation=triple.relation if triple else None,
                object=triple.object if triple else None,
                lifetime=lifetime,
                slot=slot,
                supersedes=supersedes.id if supersedes else None,
                unit_index=number,
                char_start=start if from_message else None,
                char_end=end if from_message else None,
            )
        )


def _without_lead_ins(words: Words, rules: Grammar) -> tuple[Words, bool]:
    """What is said behind "by the way" and "no, wait", and whether that announced a correction."""
    announced = False
    for _ in range(_MOST_LEAD_INS):
        corrects = rules.correction_lead_in.begin_of(words)
        taken = corrects or rules.lead_in.begin_of(words)
        if not taken:
            break
        announced = announced or corrects > 0
        words = _without_first_marks(words.part(taken))
    return words, announced


def _without_first_marks(words: Words) -> Words:
    begin = 0
    while begin < len(words) and words[begin] in MARKS:
        begin += 1
    return words.part(begin)


def _without_last_marks(words: Words) -> Words:
    end = len(words)
    while end and words[end - 1] in MARKS:
        end -= 1
    return words.part(0, end)
