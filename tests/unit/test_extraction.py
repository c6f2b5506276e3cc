"""What is read out of a message, and what is left alone."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.knowledge.extraction import RuleExtractor
from turnkeeper.knowledge.grammar import Grammar, grammar
from turnkeeper.knowledge.language import LanguageMalformed, language_in
from turnkeeper.model.ids import UnitId
from turnkeeper.model.names import content_hash
from turnkeeper.model.unit import Act, Lifetime, PhaseScope, Relation, Unit, UnitKind, UnitRole
from turnkeeper.ports.extractor import Extractor

ENGLISH: Extractor = RuleExtractor()
LABELS = Path(__file__).parents[2] / "bench" / "extraction"


def units(text: str, *before: str) -> list[Unit]:
    """The units of a message that was said after others."""
    known = [unit for earlier in reversed(before) for unit in ENGLISH.extract(earlier).units]
    return list(ENGLISH.extract(text, known=known).units)


def the_unit(text: str, *before: str) -> Unit:
    (unit,) = units(text, *before)
    return unit


def triple(unit: Unit) -> tuple[str | None, Relation | None, str | None]:
    return unit.subject, unit.relation, unit.object


# --- the results that a session must get right


def test_what_must_be_is_a_constraint_to_verify() -> None:
    unit = the_unit("The system must run on CPU only.")

    assert (unit.role, unit.topic) == (UnitRole.CONSTRAINT, "system")
    assert unit.helps_to == (Act.VERIFY,)
    assert unit.phase_scopes == (PhaseScope.KNOWLEDGE,)


def test_two_facts_are_two_units() -> None:
    first, second = units("We deploy on ARM servers with 4GB RAM. We use Ubuntu 22.04.")

    assert (first.role, second.role) == (UnitRole.DESCRIPTION, UnitRole.DESCRIPTION)
    assert second.claim == "We use Ubuntu 22.04."


def test_premises_are_kept_and_the_question_is_asked() -> None:
    found = ENGLISH.extract("Socrates is a human. All humans are mortal. Is Socrates mortal?")

    assert [unit.claim for unit in found.units] == ["Socrates is a human.", "All humans are mortal."]
    assert [unit.helps_to for unit in found.units] == [(Act.DEFINE,), (Act.DEFINE,)]
    assert found.asked == ("Is Socrates mortal?",)


def test_a_dislike_is_kept_with_its_negation() -> None:
    unit = the_unit("I do not like coffee.")

    assert (unit.role, unit.claim) == (UnitRole.EVALUATION, "I do not like coffee.")


def test_an_order_for_all_answers_guides_the_session() -> None:
    unit = the_unit("From now on, answer in JSON.")

    assert (unit.role, unit.phase_scopes) == (UnitRole.CONSTRAINT, (PhaseScope.SOLVE,))
    assert unit.lifetime is Lifetime.SESSION


def test_an_order_for_one_answer_guides_the_turn() -> None:
    unit = the_unit("Answer this one in French")

    assert (unit.phase_scopes, unit.lifetime) == ((PhaseScope.SOLVE,), Lifetime.TURN)


def test_a_relation_is_kept_as_a_triple() -> None:
    assert triple(the_unit("Alpha uses Beta")) == ("Alpha", Relation.USES, "Beta")


def test_each_sentence_tells_its_own_relation() -> None:
    found = units("Alpha uses Beta. Gamma depends on Delta. Epsilon provides Zeta.")

    assert [unit.relation for unit in found] == [Relation.USES, Relation.DEPENDS_ON, Relation.PROVIDES]


# --- roles


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("Visitors have to sign the book.", UnitRole.CONSTRAINT),
        ("Nobody may enter after dusk.", UnitRole.CONSTRAINT),
        ("The deadline is the third of May.", UnitRole.CONSTRAINT),
        ("Never feed the geese.", UnitRole.CONSTRAINT),
        ("To open the gate, lift the latch and push.", UnitRole.PROCEDURE),
        ("First fill the tank, then check the oil.", UnitRole.PROCEDURE),
        ("If the lamp turns red, pull the plug.", UnitRole.PROCEDURE),
        ("A heron is a bird.", UnitRole.DEFINITION),
        ("ETA stands for estimated time of arrival.", UnitRole.DEFINITION),
        ("The canal is wider than the river.", UnitRole.COMPARISON),
        ("Unlike the harbour, the canal freezes.", UnitRole.COMPARISON),
        ("I prefer the early boat.", UnitRole.EVALUATION),
        ("The soup is delicious.", UnitRole.EVALUATION),
        ("The engine does not start.", UnitRole.DIAGNOSTIC),
        ("The radio crashes at noon.", UnitRole.DIAGNOSTIC),
        ("We anchor here because the bay is calm.", UnitRole.EXPLANATION),
        ("Yesterday we painted the hull.", UnitRole.NARRATIVE),
        ("The boat sank in 1954.", UnitRole.NARRATIVE),
        ("The crew has nine sailors.", UnitRole.DESCRIPTION),
        ("There are two masts.", UnitRole.DESCRIPTION),
    ],
)
def test_a_statement_has_the_first_role_that_fits(text: str, role: UnitRole) -> None:
    assert the_unit(text).role is role


@pytest.mark.parametrize(
    ("text", "role"),
    [
        # A reason does not lend its words to the main clause.
        ("We close early because the light is bad.", UnitRole.EXPLANATION),
        ("I like the attic because it is quiet.", UnitRole.EVALUATION),
        ("The roof leaks because a tile is loose.", UnitRole.DIAGNOSTIC),
        ("Because the bus is slow, I cycle.", UnitRole.EXPLANATION),
        # A cause of a fault at hand is told from what causes what at all times.
        ("A loose cable causes the flicker.", UnitRole.DIAGNOSTIC),
        ("Frost leads to delays at the airport.", UnitRole.EXPLANATION),
        ("Malaria is caused by a parasite.", UnitRole.EXPLANATION),
        # Tense: a time in the past tells a story only with a verb that does.
        ("The picture from last summer is on my desk.", UnitRole.DESCRIPTION),
        ("I have a meeting this morning.", UnitRole.DESCRIPTION),
        ("She has taught in Kenya in 2012.", UnitRole.NARRATIVE),
        ("We used a rented van for the move.", UnitRole.NARRATIVE),
        ("The hall is used to store chairs.", UnitRole.DESCRIPTION),
        ("We have lived here since the start of the war.", UnitRole.DESCRIPTION),
        # The same verb tells a fault of one thing and the place of another.
        ("The app hangs when I save a file.", UnitRole.DIAGNOSTIC),
        ("The spare key hangs behind the door.", UnitRole.DESCRIPTION),
        ("The stairs creak.", UnitRole.DIAGNOSTIC),
        ("The plaster is crumbling.", UnitRole.DIAGNOSTIC),
        ("The boiler makes a whistling noise.", UnitRole.DIAGNOSTIC),
        # A timetable is no fault, and neither is what people do not do.
        ("The bus does not run on Sundays.", UnitRole.DESCRIPTION),
        ("My brother does not work on Fridays.", UnitRole.DESCRIPTION),
        ("The door will not close.", UnitRole.DIAGNOSTIC),
        # What stands inside a name is no cue.
        ("The band is called Never Again.", UnitRole.DESCRIPTION),
        ("The film is called When We Fail.", UnitRole.DESCRIPTION),
        ("As a teacher, I get long holidays.", UnitRole.DESCRIPTION),
        ("Members vote by raising their hand.", UnitRole.PROCEDURE),
        ("To thaw the lock we use warm water.", UnitRole.PROCEDURE),
        ("Bags are to be left at the desk.", UnitRole.CONSTRAINT),
        ("Shoes off in the hall, that is our rule.", UnitRole.CONSTRAINT),
        ("All players in our squad are students.", UnitRole.DEFINITION),
        ("Unlike my brother, I like fish.", UnitRole.COMPARISON),
        ("We are a small crew, that's why repairs take time.", UnitRole.EXPLANATION),
        ("Half the lamps on deck are broken.", UnitRole.DIAGNOSTIC),
        ("I would not recommend the inn.", UnitRole.EVALUATION),
    ],
)
def test_roles_that_are_alike_are_told_apart(text: str, role: UnitRole) -> None:
    assert the_unit(text).role is role


def test_the_role_says_what_a_unit_helps_to_do_and_no_part_of_a_word_does() -> None:
    unit = the_unit("Socrates narrates.")

    assert unit.helps_to == (Act.DESCRIBE,)


# --- what is not kept


@pytest.mark.parametrize(
    "text",
    [
        "Which boat is ours?",
        "which boat is ours",
        "tell me which boat is ours",
        "Do we have a spare anchor",
        "I wonder whether the tide is in.",
        "Any idea how deep it is?",
    ],
)
def test_a_question_is_asked_and_not_kept(text: str) -> None:
    found = ENGLISH.extract(text)

    assert found.units == ()


@pytest.mark.parametrize(
    "text",
    [
        "Write a letter to the harbour master.",
        "Please book a berth for two nights.",
        "Draft a note that says the harbour is closed.",
        "Translate this: the harbour is closed. The boats are out.",
        "Summarize the following:\nThe harbour is closed.\nThe boats are out.",
        "Could you list all the boats?",
        "Please forget what I said about the cellar.",
        "Forget my address.",
    ],
)
def test_a_request_for_work_is_asked_and_not_kept_even_if_it_holds_what_looks_like_facts(text: str) -> None:
    found = ENGLISH.extract(text)

    assert found.units == ()
    assert len(found.asked) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Hello!",
        "thanks a lot",
        "ok",
        "That was quick!",
        "Maybe the tide is late.",
        "If we had a crane, we would lift it.",
        "Perhaps we should wait.",
        "If we moved to Porto, we need a new bank.",
        "If they closed the pool, I need another sport.",
        'My aunt said "where is the salt"',
        'He wrote "please send the file".',
        "because it was funny lol",
        "",
        "   \n\t ",
        "```\nport = 80\nThe port is 80.\n```",
        "> The port is 80.",
    ],
)
def test_small_talk_suppositions_code_and_quotes_leave_nothing(text: str) -> None:
    assert units(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Mi perro es viejo y duerme mucho.",
        "Ich wohne in einem kleinen Haus.",
        "Mon voisin travaille dans une banque.",
        "Ik woon in een klein dorp.",
    ],
)
def test_a_sentence_in_another_language_leaves_nothing(text: str) -> None:
    assert units(text) == []


@pytest.mark.parametrize("text", ["Anna sings in a choir.", "Ada sings in La Traviata.", "Rosa conducts El Sistema."])
def test_a_foreign_name_makes_no_foreign_sentence(text: str) -> None:
    assert the_unit(text).claim == text


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("Changed my mind, the race is on Sunday.", "the race is on Sunday."),
        ("Ugh, the winch is old.", "the winch is old."),
        ("I got it backwards: the pump is left of the mast.", "the pump is left of the mast."),
    ],
)
def test_what_leads_in_is_no_part_of_the_claim(text: str, claim: str) -> None:
    assert the_unit(text).claim == claim


def test_a_message_may_hold_a_fact_and_a_question() -> None:
    found = ENGLISH.extract("btw our hull is steel, how do I weld it?")

    assert [unit.claim for unit in found.units] == ["our hull is steel"]
    assert found.asked == ("how do I weld it?",)


def test_lines_below_the_word_questions_are_questions() -> None:
    found = ENGLISH.extract("The bay is calm.\nThe pier is new.\n\nQuestions:\n1. Is the bay calm?\n2. Name the pier")

    assert [unit.claim for unit in found.units] == ["The bay is calm.", "The pier is new."]
    assert found.asked == ("Is the bay calm?", "Name the pier")


# --- guidance


@pytest.mark.parametrize(
    "text",
    [
        "Please be brief.",
        "Keep your answers under 50 words.",
        "dont use emojis",
        "Reply in Dutch.",
        "Always cite your sources.",
        "Your replies should be formal.",
        "Can you answer in Finnish from now on?",
        "Give me longer answers again.",
        "Answer in more detail please",
        "And from now on leave out the dates.",
        "Back to Dutch please, from now on.",
        "Send a table whenever I ask for prices.",
    ],
)
def test_how_to_answer_is_guidance_and_no_evidence(text: str) -> None:
    unit = the_unit(text)

    assert (unit.role, unit.is_guidance, unit.is_evidence) == (UnitRole.CONSTRAINT, True, False)


def test_how_to_answer_is_told_apart_from_what_is_asked() -> None:
    found = ENGLISH.extract("Answer this one in French: how deep is the bay?")

    assert [unit.claim for unit in found.units] == ["Answer this one in French"]
    assert found.asked == ("how deep is the bay?",)


def test_what_somebody_wants_to_be_called_guides_and_has_a_place_of_its_own() -> None:
    unit = the_unit("Call me Ishmael.")

    assert (unit.claim, unit.topic, unit.slot) == ("Call me Ishmael.", "name of the user", "call name of user")
    assert unit.is_guidance


def test_a_rule_about_the_world_is_evidence() -> None:
    unit = the_unit("Never sail at night.")

    assert (unit.role, unit.is_evidence, unit.is_guidance) == (UnitRole.CONSTRAINT, True, False)


def test_guidance_of_many_lines_gives_a_unit_for_each() -> None:
    found = units(
        "Guidelines:\n- Answer in plain prose.\n- Boats must\n  have a name.\n- Never skip the log.\n- The log is blue."
    )

    assert [unit.role for unit in found] == [UnitRole.CONSTRAINT] * 3 + [UnitRole.DESCRIPTION]
    assert [unit.content for unit in found][1] == "Boats must have a name."


def test_numbered_orders_are_the_steps_of_one_procedure() -> None:
    unit = the_unit("How we leave:\n1. Start the engine.\n2. Take in the lines.\n3. Check the wind.")

    assert unit.role is UnitRole.PROCEDURE
    assert unit.claim is None
    assert unit.procedure is not None
    assert unit.procedure.endswith("Check the wind.")


# --- relations and topics


@pytest.mark.parametrize(
    ("text", "subject", "relation", "other"),
    [
        ("The winch is part of the crane.", "winch", Relation.PART_OF, "crane"),
        ("Rust causes leaks.", "Rust", Relation.CAUSES, "leaks"),
        ("The leak was caused by rust.", "rust", Relation.CAUSES, "leak"),
        ("The crane can lift nine tons.", "crane", Relation.HAS_CAPABILITY, "lift nine tons"),
        ("The manual mentions the winch.", "manual", Relation.MENTIONS, "winch"),
        ("The chapter is about knots.", "chapter", Relation.ABOUT, "knots"),
        ("All cutters are boats.", "cutters", Relation.INSTANCE_OF, "boats"),
        ("The harbour supports radio calls.", "harbour", Relation.SUPPORTS, "radio calls"),
        ("I am a sailor.", "user", Relation.INSTANCE_OF, "sailor"),
        ("The crane can lift two at once.", "crane", Relation.HAS_CAPABILITY, "lift two at once"),
        ("The shipyard uses resin now.", "shipyard", Relation.USES, "resin"),
    ],
)
def test_a_triple_is_what_the_sentence_says(text: str, subject: str, relation: Relation, other: str) -> None:
    assert triple(the_unit(text)) == (subject, relation, other)


@pytest.mark.parametrize(
    "text",
    ["The winch does not use oil.", "The crane isn't part of the pier.", "The buoy never depends on the mast."],
)
def test_a_negated_sentence_keeps_its_negation_and_tells_no_relation(text: str) -> None:
    unit = the_unit(text)

    assert unit.claim == text
    assert unit.relation is None


def test_what_belongs_to_the_speaker_is_said_so() -> None:
    assert the_unit("my name is Ada").topic == "name of the user"


def test_a_pronoun_is_about_what_was_said_before() -> None:
    assert [unit.topic for unit in units("The pier is new. It belongs to the town.")] == ["pier", "pier"]


def test_what_a_pronoun_says_is_kept_only_where_it_is_known_what_it_stands_for() -> None:
    assert [unit.claim for unit in units("My boat is old. It is a cutter.")] == ["My boat is old.", "It is a cutter."]
    assert the_unit("It has two masts.", "We bought a boat.").claim == "It has two masts."
    assert units("It is a cutter.") == []
    assert units("It is late.", "We bought a boat.") == []


# --- slots and corrections


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("The port of the staging server is 80", "port of staging server"),
        ("The staging server's port is 80", "port of staging server"),
        ("my name is Ada", "name of user"),
        ("The deadline is Friday.", "deadline"),
        ("our deadline is Friday", "deadline"),
        ("Alpha uses Beta", None),
        ("The pier is new.", None),
        ("My boat is a cutter.", None),
        ("The crew has nine sailors.", None),
    ],
)
def test_only_what_has_one_value_at_a_time_has_a_slot(text: str, slot: str | None) -> None:
    assert the_unit(text).slot == slot


@pytest.mark.parametrize(
    ("before", "text", "now"),
    [
        ("The port is 80.", "no, port 81", "The port is 81."),
        ("The port is 80.", "actually it's 81", "The port is 81."),
        ("The port is 80.", "Sorry, I meant 81", "The port is 81."),
        ("We sail to Paros.", "not Paros but Naxos", "We sail to Naxos."),
        ("We sail to Paros.", "it's Naxos, not Paros", "We sail to Naxos."),
        ("The race is on Monday at 9.", "no, Tuesday", "The race is on Tuesday at 9."),
        ("The race is on Monday at 9.", "That's wrong. The race is on Sunday.", "The race is on Sunday."),
        ("The mast is 12 feet.", "Scratch that, the mast is 14 feet.", "the mast is 14 feet."),
        ("The mast is 12 feet.", "The mast is now 14 feet.", "The mast is now 14 feet."),
        ("We use tar.", "We no longer use tar.", "We no longer use tar."),
        ("The winch depends on oil.", "The winch does not depend on oil.", "The winch does not depend on oil."),
        ("Answer in Dutch.", "Actually, answer in Danish.", "answer in Danish."),
    ],
)
def test_a_correction_takes_the_place_of_what_it_corrects(before: str, text: str, now: str) -> None:
    (known,) = units(before)

    unit = the_unit(text, before)

    assert (unit.claim, unit.supersedes) == (now, known.id)
    assert ENGLISH.corrects(text)


def test_what_takes_the_place_of_a_unit_is_of_its_kind() -> None:
    in_few_words = the_unit("no, 60 words", "Keep your answers under 50 words.")
    in_a_sentence = the_unit("The deadline was moved to Monday.", "The deadline is Friday.")

    assert (in_few_words.claim, in_few_words.is_guidance) == ("Keep your answers under 60 words.", True)
    assert in_a_sentence.role is UnitRole.CONSTRAINT


def test_what_is_mended_is_no_fault_any_more() -> None:
    unit = the_unit("The winch turns smoothly now.", "The winch does not turn.")

    assert (unit.role, unit.supersedes) == (UnitRole.DESCRIPTION, "staged::unit-000")


def test_of_two_known_units_the_one_that_is_named_is_corrected() -> None:
    older = ENGLISH.extract("The cook is called Tom.").units
    newer = ENGLISH.extract("My boat is called Ida. The pier is new.").units[:1]
    known = [*(unit_with_id(unit, "session::2::unit-000") for unit in newer), *older]

    (unit,) = ENGLISH.extract("not Tom, Tim", known=known).units

    assert (unit.claim, unit.supersedes) == ("The cook is called Tim.", older[0].id)


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("Alpha uses Beta.", "Alpha uses Gamma."),
        ("The port is 80.", "The host is not reachable."),
        ("The pier is new.", "The mast is tall."),
    ],
)
def test_another_fact_corrects_nothing(before: str, text: str) -> None:
    assert the_unit(text, before).supersedes is None


def test_a_few_words_of_correction_without_anything_known_leave_nothing() -> None:
    assert units("no, port 81") == []


def test_a_plain_fact_corrects_nothing() -> None:
    assert not ENGLISH.corrects("The pier is new.")


# --- every unit


def test_a_unit_is_staged_and_says_where_it_stood() -> None:
    text = "Hi! The pier is new."
    unit = the_unit(text)

    assert (unit.id, unit.source_id, unit.chunk_id) == ("staged::unit-000", "session", "session::staged")
    assert (unit.source_type, unit.kind) == ("chat-turn", UnitKind.ATOMIC)
    assert text[unit.char_start : unit.char_end] == unit.claim


def test_the_same_text_is_read_the_same_way_always() -> None:
    text = "The pier is new. Never sail at night. Is it late?"

    assert RuleExtractor().extract(text) == RuleExtractor().extract(text)


def test_a_message_gives_no_more_units_than_asked_for() -> None:
    text = "The pier is new. " * 100

    assert len(ENGLISH.extract(text).units) == 50
    assert len(RuleExtractor(most_units=3).extract(text).units) == 3


def words_of(text: str) -> set[str]:
    return set(text.split())


SHORT = "the port is 80 no , not but must I like it's if then ? ! . - 1. : to first because always answer in"
PIECES = (*SHORT.split(" "), "JSON", "Questions:", "can't", "'s", "\n", "\u2019", "\u0130")
CHAT = st.lists(st.sampled_from(PIECES), max_size=60).map(" ".join)


@given(text=CHAT | st.text(max_size=300))
def test_whatever_is_said_gives_valid_units_in_its_own_words(text: str) -> None:
    found = ENGLISH.extract(text)

    for number, unit in enumerate(found.units):
        assert unit.id == f"staged::unit-{number:03d}"
        assert unit.content
        assert words_of(unit.content) <= words_of(text) | {unit.content} or unit.content in " ".join(text.split())
        assert content_hash(unit)


@given(text=CHAT, before=CHAT)
def test_a_correction_names_only_what_is_known(text: str, before: str) -> None:
    known = ENGLISH.extract(before).units

    for unit in ENGLISH.extract(text, known=known).units:
        assert unit.supersedes is None or unit.supersedes in {one.id for one in known}


@pytest.mark.parametrize(
    "piece",
    ["a", "a ", "no, ", "!", ". ", "if ", "to a, ", "is not ", "'", "(", "1. a\n", "because the ", "\u0130", "more "],
)
def test_the_work_to_read_grows_with_the_length_alone(piece: str) -> None:
    def seconds(times: int) -> float:
        """Of the processor, whatever the clock says."""
        began = time.thread_time()
        ENGLISH.extract(piece * times)
        return time.thread_time() - began

    seconds(10)
    short, long = min(seconds(500) for _ in range(3)), min(seconds(4_000) for _ in range(2))

    # Eight times the text may take eight times as long; with squares it would be sixty-four.
    assert long < 0.05 + 30 * short


# --- languages

GERMAN = """
[stop_words]
words = ["der", "die", "das", "ist"]

[words]
copula = ["ist", "sind"]
modal = ["muss", "darf"]
article = ["der", "die", "das", "ein", "eine"]
determiner = ["der", "die", "das", "ein", "eine"]

[talk]
question = ["^ wie|was|wo|wann ~1"]

[[roles]]
role = "Constraint"
cues = ["muss|darf"]

[[relations]]
relation = "instance_of"
phrases = ["ist ein|eine"]
"""


def test_another_language_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "de.toml"
    file.write_text(GERMAN, encoding="utf-8")
    german = RuleExtractor(Grammar(language_in(file.read_text(encoding="utf-8"), "de")))

    found = german.extract("Das Segel ist ein Tuch. Der Anker muss halten. Wie tief ist es")

    assert [unit.role for unit in found.units] == [UnitRole.DESCRIPTION, UnitRole.CONSTRAINT]
    assert triple(found.units[0]) == ("Segel", Relation.INSTANCE_OF, "Tuch")
    assert found.asked == ("Wie tief ist es",)


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        ("[stop_words]\nwords = 3", "words"),
        ("[stop_words]\nwords = []\n[talk]\nqestion = []", "qestion"),
        ("[[roles]", "TOML|Expected"),
        ('[stop_words]\nwords = []\n[[roles]]\nrole = "Rumour"', "Rumour"),
    ],
)
def test_a_language_file_that_is_wrong_says_what(file: str, problem: str) -> None:
    with pytest.raises(LanguageMalformed, match=problem):
        language_in(file, "xx")


@pytest.mark.parametrize("pattern", ["a <nothing>", "~99 a", "a||b", "^ $"])
def test_a_pattern_that_cannot_be_read_is_named(pattern: str) -> None:
    spoken = language_in(f'[stop_words]\nwords = []\n[talk]\nquestion = ["{pattern}"]', "xx")

    with pytest.raises(LanguageMalformed, match="pattern"):
        Grammar(spoken)


# --- the labels


HALVES = ("seen", "seen_more", "unseen")


def test_the_labels_of_both_halves_are_whole() -> None:
    for half in HALVES:
        messages = [json.loads(line) for line in labelled(half)]

        assert len(messages) >= 150
        assert len({message["id"] for message in messages}) == len(messages)
        for message in messages:
            for unit in message["units"]:
                assert UnitRole(unit["role"])
                assert {PhaseScope(scope) for scope in unit["scopes"]}


def test_no_name_of_a_labelled_message_is_in_a_rule() -> None:
    rules = (files("turnkeeper.knowledge") / "languages" / "en.toml").read_text(encoding="utf-8")
    ruled = set(re.findall(r"[a-z]+", re.sub(r"(?m)^\s*#.*$", "", rules).lower()))
    english = grammar("en")
    # Words that are written with a capital for other reasons: titles, days and months, and what the language lists.
    common = english.abbreviations | english.words("weekday") | english.words("month") | english.stop_words
    common |= english.words("form") | english.words("order") | {"english"}
    # A title may be made of any words, and a street may be the main one.
    common |= english.words("subordinating") | english.words("past_verb") | {"main"}
    common |= english.words("foreign")

    shared = sum(len((names_in(half) & ruled) - common) for half in HALVES)

    # Only how many: a failing test must not show words of the half that the rules have never seen.
    assert shared == 0


def names_in(half: str) -> set[str]:
    """Words with a capital in the middle of a sentence."""
    texts = (json.loads(line)["text"] for line in labelled(half))
    return {name.lower() for text in texts for name in re.findall(r"(?<=[a-z] )[A-Z][a-z]+\b", text)}


def labelled(half: str) -> list[str]:
    return (LABELS / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()


def unit_with_id(unit: Unit, id: str) -> Unit:
    return replace(unit, id=UnitId(id))
