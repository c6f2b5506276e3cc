"""What the agent `symbolic` answers: from units, with citations, and plainly when it does not know."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.symbolic import ScriptedExtractor, Talk, guidance, is_a, relates, unit
from turnkeeper.agents.symbolic.frames import Answered
from turnkeeper.agents.symbolic.guidance import Shape
from turnkeeper.agents.symbolic.inference import MOST_HOPS, Triples
from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.question import QuestionKind, read_question
from turnkeeper.agents.symbolic.render import pieces_of, render
from turnkeeper.agents.symbolic.saying import saying
from turnkeeper.agents.symbolic.words import said_back, stem
from turnkeeper.knowledge.carried import CarriedUnits
from turnkeeper.knowledge.retrieval import UnitMemory
from turnkeeper.model.ids import UnitId
from turnkeeper.model.recall import FoundUnit
from turnkeeper.model.unit import Lifetime, Relation, Unit, UnitRole
from turnkeeper.ports.plugins import PluginKind, Seed
from turnkeeper.ports.units import UnitView

ROOT = Path(__file__).parents[2]

MORTALS = [is_a("Ilo is a heron.", "Ilo", "heron"), is_a("All herons are birds.", "herons", "birds")]
ENGINE = [
    relates("The valve is part of the pump.", "valve", "part_of", "pump"),
    relates("The pump is part of the boiler.", "pump", "part_of", "boiler"),
    relates("The boiler is part of the house.", "boiler", "part_of", "house"),
]
CHAIN = [
    relates("Tern depends on Gull.", "Tern", "depends_on", "Gull"),
    relates("Gull depends on Finch.", "Gull", "depends_on", "Finch"),
    relates("Rain causes floods.", "Rain", "causes", "floods"),
    relates("Floods cause delays.", "Floods", "causes", "delays"),
    relates("Tern uses Quill.", "Tern", "uses", "Quill"),
    is_a("Quill is a queue.", "Quill", "queue"),
]
FACTS = [
    unit("The gate code is 4711.", "gate code", slot="gate code"),
    unit("Lena lives in Tartu.", "Lena"),
    unit("We have seven vans.", "vans"),
    unit("The harvest begins in June.", "harvest"),
    unit("The mill stopped because the belt was torn.", "mill", UnitRole.DIAGNOSTIC),
    unit("To clean the filter, open the lid, then rinse it.", "filter", UnitRole.PROCEDURE),
    unit("Sensors must run on battery only.", "sensors", UnitRole.CONSTRAINT),
    unit("Never touch the blade.", "blade", UnitRole.CONSTRAINT),
    unit("I like plums.", "plums", UnitRole.EVALUATION),
    unit("I do not like figs.", "figs", UnitRole.EVALUATION),
    unit("The barge is slower than the lorry.", "barge", UnitRole.COMPARISON),
    unit("MOQ means minimum order quantity.", "MOQ", UnitRole.DEFINITION),
    unit("Our dog is called Bruno.", "name of our dog"),
    unit("The silo is not empty.", "silo"),
    unit("The depot is in Narva.", "depot"),
]


def known(units: Sequence[Unit]) -> list[Unit]:
    """As they are kept, each with an id of its own."""
    return [replace(each, id=UnitId(f"session::1::unit-{n:03}")) for n, each in enumerate(units, start=1)]


async def asked(question: str, units: Sequence[Unit]) -> tuple[str, str | None]:
    told = await Talk(known=known(units)).say(question)
    return told.text, told.notes.status


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What is the gate code?", "The gate code is 4711 [1]."),
        ("what's the gate code?", "The gate code is 4711 [1]."),
        ("Could you tell me the gate code?", "The gate code is 4711 [1]."),
        ("Is the gate code 4711?", "Yes. The gate code is 4711 [1]."),
        ("Is the gate code 1234?", "No. The gate code is 4711 [1]."),
        ("Where does Lena live?", "Lena lives in Tartu [1]."),
        ("Who lives in Tartu?", "Lena lives in Tartu [1]."),
        ("Does Lena live in Tartu?", "Yes. Lena lives in Tartu [1]."),
        ("How many vans do we have?", "You have seven vans [1]."),
        ("When does the harvest begin?", "The harvest begins in June [1]."),
        ("When does the harvest start?", "The harvest begins in June [1]."),
        ("Why did the mill stop?", "The mill stopped because the belt was torn [1]."),
        ("How do I clean the filter?", "To clean the filter, open the lid, then rinse it [1]."),
        ("What must the sensors run on?", "Sensors must run on battery only [1]."),
        ("What must we not do?", "Never touch the blade [1]."),
        ("May I touch the blade?", "No. Never touch the blade [1]."),
        ("What do I like?", "You like plums [1]."),
        ("What do I dislike?", "You do not like figs [1]."),
        ("Do I like figs?", "No. You do not like figs [1]."),
        ("Do I like plums?", "Yes. You like plums [1]."),
        ("Compare the barge and the lorry?", "The barge is slower than the lorry [1]."),
        ("Is the barge slower than the lorry?", "Yes. The barge is slower than the lorry [1]."),
        ("Is the lorry slower than the barge?", "No. The barge is slower than the lorry [1]."),
        ("What does MOQ mean?", "MOQ means minimum order quantity [1]."),
        ("What is our dog's name?", "Your dog is called Bruno [1]."),
        ("Is the silo empty?", "No. The silo is not empty [1]."),
        ("What do you know about the depot?", "The depot is in Narva [1]."),
        ("Tell me about Lena?", "Lena lives in Tartu [1]."),
    ],
)
async def test_a_question_is_answered_from_what_was_said_with_its_source(question: str, said: str) -> None:
    assert await asked(question, FACTS) == (said, "answered")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What is the tax rate?", "I do not know anything about the tax rate."),
        ("Who is Oskar?", "I do not know anything about Oskar."),
        ("Is the moon round?", "I do not know whether that is so."),
        ("Why did the lorry stop?", "I do not know"),
        ("Where is the quarry?", "I do not know that."),
        ("How many barges do we have?", "I do not know that."),
        ("Does Tartu live in Lena?", "I do not know whether that is so."),
        ("What is the name of the depot?", "I do not know"),
        ("Write a song about vans?", "I do not know that."),
        ("Where does Lena's mother live?", "I do not know that."),
        ("When does the harvest of plums begin?", "I do not know that."),
    ],
)
async def test_what_is_not_known_is_said_plainly_and_never_made_up(question: str, said: str) -> None:
    text, status = await asked(question, FACTS)

    assert text.startswith(said)
    assert status == "no-context"


async def test_nothing_is_no_for_want_of_knowing() -> None:
    text, status = await asked("Does Lena live in Riga?", FACTS)

    assert (text.split(".")[0], status) == ("I do not know whether that is so", "no-context")


@pytest.mark.parametrize(
    ("units", "question", "said"),
    [
        (MORTALS, "Is Ilo a bird?", "Yes. Ilo is a heron [1]. All herons are birds [2]."),
        (
            ENGINE,
            "Is the valve part of the house?",
            "Yes. The valve is part of the pump [1]. The pump is part of the boiler",
        ),
        (
            ENGINE,
            "What is the valve part of?",
            "- The valve is part of the pump [1].\n- The pump is part of the boiler [2].",
        ),
        (
            ENGINE,
            "What are the parts of the boiler?",
            "The pump is part of the boiler [1]. The valve is part of the pump [2].",
        ),
        (CHAIN, "Does Tern depend on Finch?", "Yes. Tern depends on Gull [1]. Gull depends on Finch [2]."),
        (CHAIN, "What depends on Finch?", "Gull depends on Finch [1]. Tern depends on Gull [2]."),
        (CHAIN, "Does rain cause delays?", "Yes. Rain causes floods [1]. Floods cause delays [2]."),
        (CHAIN, "What causes delays?", "Floods cause delays [1]. Rain causes floods [2]."),
        (CHAIN, "What does Tern use?", "Tern uses Quill [1]."),
        (CHAIN, "What uses Quill?", "Tern uses Quill [1]."),
        (CHAIN, "Does Tern use a queue?", "Yes. Tern uses Quill [1]. Quill is a queue [2]."),
        (
            [*MORTALS, relates("Birds use nests.", "birds", "uses", "nests")],
            "Does Ilo use nests?",
            "Yes. Ilo is a heron [1]. All herons are birds [2]. Birds use nests [3].",
        ),
        (
            [*MORTALS, unit("Birds lay eggs.", "birds")],
            "Does Ilo lay eggs?",
            "Yes. Ilo is a heron [1]. All herons are birds [2]. Birds lay eggs [3].",
        ),
        (
            [*MORTALS, unit("Herons are patient.", "herons")],
            "Is Ilo patient?",
            "Yes. Ilo is a heron [1]. Herons are patient [2].",
        ),
    ],
)
async def test_what_follows_is_said_with_every_premise(units: list[Unit], question: str, said: str) -> None:
    text, status = await asked(question, units)

    assert text.startswith(said)
    assert status == "answered"


async def test_what_is_said_of_a_thing_comes_before_what_is_said_of_its_kind() -> None:
    units = [*MORTALS, unit("Birds can fly.", "birds", triple=("birds", "has_capability", "fly"))]
    units.append(unit("Ilo cannot fly.", "Ilo"))

    assert await asked("Can Ilo fly?", units) == ("No. Ilo cannot fly [1].", "answered")


@pytest.mark.parametrize(
    "question", ["Is a bird Ilo?", "Is Ilo a fish?", "Does Finch depend on Tern?", "Does Quill use Tern?"]
)
async def test_a_chain_is_not_followed_the_wrong_way(question: str) -> None:
    text, status = await asked(question, [*MORTALS, *CHAIN])

    assert text.startswith("I do not know whether that is so.")
    assert status == "no-context"


async def test_a_chain_is_followed_only_so_far() -> None:
    links = [relates(f"N{n} is part of N{n + 1}.", f"N{n}", "part_of", f"N{n + 1}") for n in range(10)]
    triples = Triples(UnitMemory(CarriedUnits(known(links)), VIEW), ())

    reached = await triples.related("N0", Relation.PART_OF)

    assert [chain.name for chain in reached] == [f"N{n}" for n in range(1, MOST_HOPS + 1)]


async def test_a_circle_of_triples_comes_to_an_end() -> None:
    circle = [
        relates("A is part of B.", "Ash", "part_of", "Birch"),
        relates("B is part of A.", "Birch", "part_of", "Ash"),
    ]

    assert (await asked("Is Ash part of Cedar?", circle))[1] == "no-context"
    assert (await asked("What is Ash part of?", circle))[0] == "A is part of B [1]."


VIEW = UnitView(tenant="t", session_id="s", epoch=1)  # type: ignore[arg-type]
NAMES = st.sampled_from(["ash", "birch", "cedar", "elm", "fir"])


@settings(max_examples=60, deadline=None)
@given(edges=st.lists(st.tuples(NAMES, NAMES), max_size=12, unique=True), start=NAMES)
async def test_what_is_related_is_exactly_what_can_be_reached(edges: list[tuple[str, str]], start: str) -> None:
    units = known([relates(f"The {a} is part of the {b}.", a, "part_of", b) for a, b in edges])
    triples = Triples(UnitMemory(CarriedUnits(units), VIEW), ())

    chains = await triples.related(start, Relation.PART_OF)

    reached: set[str] = set()
    frontier = {start}
    while frontier:
        frontier = {b for a, b in edges if a in frontier} - reached
        reached |= frontier
    assert {chain.name for chain in chains} == reached - {start}
    for chain in chains:
        ends = [(found.unit.subject, found.unit.object) for found in chain.premises]
        assert ends[0][0] == start
        assert ends[-1][1] == chain.name


# --- telling


async def test_a_statement_is_acknowledged_by_naming_what_was_noted() -> None:
    talk = Talk(extractor=ScriptedExtractor().knows(*FACTS))

    one = await talk.say("The gate code is 4711.")
    two = await talk.say("I like plums. I do not like figs.")

    assert one.text == "Noted: the gate code is 4711."
    assert two.text == "Noted:\n- You like plums.\n- You do not like figs."


async def test_a_correction_says_what_it_replaces() -> None:
    corrected = unit("The gate code is 1213.", "gate code", slot="gate code")
    talk = Talk(extractor=ScriptedExtractor().knows(*FACTS, corrected))

    await talk.say("The gate code is 4711.")
    told = await talk.say("The gate code is 1213.")
    after = await talk.say("What is the gate code?")

    assert told.text == "Noted: the gate code is 1213. That replaces what I had: the gate code is 4711."
    assert after.text == "The gate code is 1213 [1]."


async def test_the_same_fact_again_is_known_already() -> None:
    talk = Talk(extractor=ScriptedExtractor().knows(*FACTS))

    said = [(await talk.say("The gate code is 4711.")).text for _ in range(3)]

    assert said == ["Noted: the gate code is 4711."] + ["I have that already: the gate code is 4711."] * 2
    assert len(talk.known) == 1


async def test_a_correction_and_a_question_in_one_message_see_the_new_value() -> None:
    corrected = unit("The gate code is 1213.", "gate code", slot="gate code")
    talk = Talk(known=known(FACTS), extractor=ScriptedExtractor().knows(corrected))

    told = await talk.say("The gate code is 1213. What is the gate code?")

    assert told.text == "The gate code is 1213 [1]."


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("Hello!", "hello"),
        ("hi there", "hello"),
        ("Good morning", "hello"),
        ("Thank you very much!", "welcome"),
        ("thanks, bye", "goodbye"),
        ("ok", "fine"),
        ("How are you?", "well"),
        ("What can you do?", "who_am_i"),
        ("hjkl", "nothing"),
        ("Quel est le prix du pain", "not_english"),
    ],
)
async def test_small_talk_gets_a_short_natural_reply(said: str, reply: str) -> None:
    assert (await Talk().say(said)).text == speech().replies[reply]


async def test_what_is_remembered_is_listed_newest_first_and_cut() -> None:
    many = known([unit(f"Box {n} is full.", f"box {n}") for n in range(20)])

    text, _ = await asked("What do you remember?", many)

    lines = text.splitlines()
    assert lines[0] == "This is what I know:"
    assert lines[1] == "- Box 19 is full [1]."
    assert len(lines) == 14


async def test_fact_17_two_questions_are_answered_in_their_order() -> None:
    told = await Talk(known=known(FACTS)).say("Where is the depot? What is the gate code?")

    assert told.text == "The depot is in Narva [1].\n\nThe gate code is 4711 [2]."


async def test_a_compound_question_is_taken_apart() -> None:
    told = await Talk(known=known(FACTS)).say("Where does Lena live and when does the harvest begin?")

    assert told.text == "Lena lives in Tartu [1].\n\nThe harvest begins in June [2]."


async def test_a_pronoun_stands_for_what_was_named_before() -> None:
    talk = Talk(known=known([unit("Lena lives in Tartu.", "Lena"), unit("Lena is our accountant.", "Lena")]))

    first = await talk.say("Who is Lena?")
    second = await talk.say("Where does she live?")

    assert first.text.startswith("Lena is your accountant [1].")
    assert second.text == "Lena lives in Tartu [1]."


# --- guidance


async def test_answers_are_one_json_object_from_now_on() -> None:
    talk = Talk(
        known=known([*FACTS, *MORTALS]), extractor=ScriptedExtractor().knows(guidance("Answer in JSON from now on."))
    )

    replies = [
        json.loads((await talk.say(said)).text)
        for said in (
            "Answer in JSON from now on.",
            "Where is the depot?",
            "Is Ilo a bird?",
            "Where is the depot? Who is Oskar?",
            "What are the rules?",
        )
    ]

    promise, fact, verdict, two, several = replies
    assert promise["answer"] == "Understood. I will answer in JSON."
    assert (fact["answer"], fact["cites"]) == ("The depot is in Narva.", [1])
    assert fact["sources"] == [{"mark": 1, "source": "this conversation"}]
    assert (verdict["answer"], verdict["because"]) == (True, ["Ilo is a heron.", "All herons are birds."])
    assert [each["status"] for each in two["answers"]] == ["answered", "no-context"]
    assert [each["question"] for each in two["answers"]] == ["Where is the depot?", "Who is Oskar?"]
    assert len(several["answer"]) == 2


async def test_guidance_for_one_answer_is_forgotten_after_it() -> None:
    once = guidance("Answer this one in JSON.", lifetime=Lifetime.TURN)
    talk = Talk(known=known(FACTS), extractor=ScriptedExtractor().knows(once))

    first = await talk.say("Answer this one in JSON. Where is the depot?")
    second = await talk.say("Where is the depot?")

    assert json.loads(first.text)["answer"] == "The depot is in Narva."
    assert second.text == "The depot is in Narva [1]."


async def test_the_newest_guidance_counts() -> None:
    talk = Talk(known=known([*FACTS, guidance("Answer in JSON."), guidance("Answer in plain text again.")]))

    assert (await talk.say("Where is the depot?")).text == "The depot is in Narva [1]."


async def test_short_and_bulleted_and_uncited_answers_are_given_as_wished() -> None:
    rules = [each for each in FACTS if each.role is UnitRole.CONSTRAINT]

    many = [unit(f"Box {n} is full.", f"box {n}") for n in range(4)]
    lists = [[*many, guidance("Be brief.")], many]

    short = await Talk(known=known([*rules, guidance("Be brief.")])).say("What are the rules?")
    bullets = await Talk(known=known([*FACTS, guidance("Use bullet points.")])).say("Where is the depot?")
    uncited = await Talk(known=known([*FACTS, guidance("Answer without sources.")])).say("Where is the depot?")

    assert short.text == "- Never touch the blade [1].\n- Sensors must run on battery only [2]."
    assert [len((await Talk(known=known(more)).say("What do you remember?")).text.splitlines()) for more in lists] == [
        4,
        5,
    ]
    assert bullets.text == "- The depot is in Narva [1]."
    assert uncited.text == "The depot is in Narva."


async def test_a_language_that_is_not_spoken_is_said_once() -> None:
    talk = Talk(known=known(FACTS), extractor=ScriptedExtractor().knows(guidance("Answer in Finnish.")))

    first = await talk.say("Answer in Finnish. Where is the depot?")
    second = await talk.say("Where is the depot?")

    assert first.text == "I can only write English, so I cannot answer in Finnish.\n\nThe depot is in Narva [1]."
    assert second.text == "The depot is in Narva [1]."


async def test_guidance_is_never_an_answer() -> None:
    talk = Talk(known=known([guidance("Speak of the depot politely.")]))

    told = await talk.say("Where is the depot?")

    assert told.notes.status == "no-context"
    assert told.document["sources"] == []


# --- what is told


async def test_fault_29_the_text_holds_no_ids_and_no_dump_and_the_document_holds_the_sources() -> None:
    base = unit("The vault opens at nine.", "vault", id="kb-1::unit-001", source_id="kb-1", source_name="House rules")
    talk = Talk(known=known(FACTS))
    talk.known.append(base)

    told = await talk.say("What is the gate code? When does the vault open?")

    assert not re.search(r"unit-\d|session::|sess_|run_|kb-1", told.text)
    assert [(source["mark"], source["unit_id"]) for source in told.document["sources"]] == [
        (1, "session::1::unit-001"),
        (2, "kb-1::unit-001"),
    ]
    assert [group["sources"] for group in told.document["groups"]] == [[1], [2]]


def test_a_source_that_is_mounted_is_named_under_the_answer() -> None:
    base = unit("I open the vault at nine.", "vault", source_name="House rules")
    found = FoundUnit(unit=base, place="kb-1", score=1.0)
    answered = Answered(seed=Seed(id="seed-1", text="When?"), solution=saying([found]))

    rendered = render([answered], Shape(), ())

    # Who says "I" in a source is not the user.
    assert rendered.text == "I open the vault at nine [1].\n\n[1] House rules"


async def test_an_answer_is_streamed_in_natural_pieces() -> None:
    pieces = list(pieces_of("Yes. Ilo is a heron [1]. All herons are birds [2].\n\nNo."))

    assert pieces == ["Yes. ", "Ilo is a heron [1]. ", "All herons are birds [2].\n\n", "No."]


@given(text=st.text(max_size=200))
def test_no_letter_is_lost_in_pieces(text: str) -> None:
    assert "".join(pieces_of(text)) == text


@given(text=st.text(max_size=120))
def test_every_text_can_be_read_as_a_question(text: str) -> None:
    question = read_question(text)

    assert isinstance(question.kind, QuestionKind)


@settings(max_examples=150, deadline=None)
@given(text=st.text(min_size=1, max_size=80).filter(lambda text: text.strip()))
async def test_every_message_gets_an_answer(text: str) -> None:
    told = await Talk(known=known(FACTS)).say(text)

    assert told.text.strip()
    assert told.notes.status in ("answered", "no-context")
    assert set(told.notes.plugins) >= {PluginKind.SEED_DETECTOR, PluginKind.GOAL_SOLVER}


@pytest.mark.parametrize(
    ("said", "back"),
    [
        ("I am late and my bus is gone.", "you are late and your bus is gone."),
        ("We use our own mill.", "you use your own mill."),
        ("Mine is the smaller one; tell me.", "yours is the smaller one; tell you."),
        ("Mia minds the mine-field.", "Mia minds the mine-field."),
        ("The mine in the US was shut in World War I.", "The mine in the US was shut in World War I."),
        ("Today I saw Ann and I left.", "Today you saw Ann and you left."),
    ],
)
def test_what_users_say_of_themselves_is_said_back_to_them(said: str, back: str) -> None:
    assert said_back(said) == back


@pytest.mark.parametrize(
    ("one", "other"),
    [("lives", "live"), ("stopped", "stop"), ("uses", "using"), ("berries", "berry"), ("called", "call")],
)
def test_the_forms_of_a_word_are_one_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_fault_25_no_rule_knows_what_a_test_a_page_or_a_demo_speaks_of() -> None:
    """Capitalised words and numbers of the manual and of these tests do not occur in what the rules know."""
    rules = (ROOT / "src/turnkeeper/agents/symbolic/languages/en.toml").read_text(encoding="utf-8").casefold()
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src/turnkeeper/agents/symbolic").glob("*.py"))
    spoken = {name for each in (*FACTS, *MORTALS, *ENGINE, *CHAIN) for name in re.findall(r"\w{4,}", each.topic)}
    spoken |= {"Socrates", "Lyon", "Redis", "Ubuntu", "staging", "croissant", "Anna"}

    known_words = set(re.findall(r"\w+", rules)) | set(re.findall(r"\w+", code.casefold()))

    assert {word for word in spoken if word.casefold() in known_words} - {"name", "code"} == set()


@pytest.mark.parametrize("tail", ["(yes/no)", "Yes or no?"])
async def test_fact_17_a_question_that_wants_little_gets_little(tail: str) -> None:
    told = await Talk(known=known([*MORTALS])).say(f"Is Ilo a bird {tail}?".replace("??", "?"))

    assert told.text == "Yes. Ilo is a heron [1]."


async def test_too_many_questions_are_answered_as_far_as_it_goes_and_the_rest_is_named() -> None:
    told = await Talk(known=known(FACTS)).say(" ".join(["Where is the depot?"] * 20))

    assert told.text.startswith("I have answered the first 16 of your 20 questions.")
    assert told.notes.warnings == {"questions_left_out": {"asked": 20, "answered": 16}}
    assert len(told.document["groups"]) == 16


@pytest.mark.parametrize(
    "text", ["what " * 6000 + "?", "is " + "a " * 15000 + "?", "A" * 32_000 + "?", "compare " + "x and " * 5000 + "?"]
)
async def test_a_long_question_takes_no_long_time(text: str) -> None:
    async with asyncio.timeout(5):
        told = await Talk(known=known(FACTS)).say(text)

    assert told.notes.status == "no-context"


def test_fault_27_nothing_that_ships_as_words_is_left_unused() -> None:
    folder = ROOT / "src/turnkeeper/agents/symbolic"
    code = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py")).replace("'", '"')
    spoken = speech()
    names = {*spoken.replies, *spoken.words, *spoken.questions, *spoken.guidance, *spoken.small_talk}

    assert {name for name in names if f'"{name}"' not in code} == set()
    assert [path.name for path in (folder / "languages").iterdir()] == ["en.toml"]


def test_one_source_is_named_once_with_all_its_marks() -> None:
    found = [
        FoundUnit(
            unit=unit(f"Door {n} is open.", f"door {n}", id=f"u-{n}", source_name="Plan"), place="kb-1", score=1.0
        )
        for n in (1, 2)
    ]
    answered = Answered(seed=Seed(id="seed-1", text="Which?"), solution=saying(found))

    assert render([answered], Shape(), ()).text.endswith("\n\n[1][2] Plan")


@pytest.mark.parametrize(
    ("wish", "promise"),
    [
        ("Answer in JSON.", "will_json"),
        ("Use bullet points.", "will_bullets"),
        ("No bullet points, ever.", "will_plain"),
        ("Stop using JSON.", "will_plain"),
        ("Be brief.", "will_short"),
        ("Don't be so brief.", "will_long"),
        ("Explain everything in detail.", "will_long"),
        ("Leave out the sources.", "will_uncited"),
        ("Answer politely.", "will_politely"),
        ("Do not use emojis.", "understood"),
        ("Answer as a haiku.", "beyond"),
    ],
)
async def test_guidance_is_promised_only_as_far_as_it_is_kept(wish: str, promise: str) -> None:
    told = await Talk(extractor=ScriptedExtractor({wish.rstrip("."): guidance(wish), wish: guidance(wish)})).say(wish)

    said = json.loads(told.text)["answer"] if promise == "will_json" else told.text
    assert said == speech().replies[promise]


async def test_what_was_told_beside_a_question_without_an_answer_is_noted_all_the_same() -> None:
    talk = Talk(extractor=ScriptedExtractor().knows(*FACTS))

    told = await talk.say("The depot is in Narva. Who is Oskar?")

    assert told.text.startswith("Noted: the depot is in Narva.\n\nI do not know anything about Oskar.")


async def test_a_sentence_that_begins_with_a_pronoun_is_said_with_what_it_is_about() -> None:
    about = [unit("It's closed on Mondays.", "our kiosk"), unit("He has a boat.", "Jaan")]

    text, _ = await asked("What do you remember?", about)

    assert text.splitlines()[1:] == ["- Jaan has a boat [1].", "- Your kiosk is closed on Mondays [2]."]
