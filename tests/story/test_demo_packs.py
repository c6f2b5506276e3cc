"""The demo packs, talked with as a visitor would, without any model."""

import pytest

from tests.unit.test_packs_guide import FILE, PAGE
from turnkeeper import Turnkeeper
from turnkeeper.packs.demos import demo_packs


@pytest.fixture
async def demos(keeper: Turnkeeper) -> Turnkeeper:
    for files in demo_packs().values():
        await keeper.packs.push(files)
    return keeper


async def test_a_booking_is_begun_left_taken_up_again_corrected_and_made(demos: Turnkeeper) -> None:
    told = await conversation(
        demos,
        "table-booking",
        "when are you open?",
        "I would like to book a table for four",
        "tomorrow at 7pm",
        "switch to buy voucher",
        "switch to book table",
        "Ada Lovelace",
        "020 7946 0018",
        "change the time to 8pm",
        "yes",
        "start over",
    )

    assert "from Tuesday to Sunday" in told[0]
    assert told[1].endswith("On which day would you like to come?")
    assert told[2] == "Under which name shall I write the booking down?"
    assert "Which menus shall the voucher be for?" in told[3]
    assert told[4].endswith("Under which name shall I write the booking down?")
    assert told[5] == "Which number can we call if something changes?"
    assert "A table for 4" in told[6]
    assert "at 19:00, in the name of Ada Lovelace" in told[6]
    assert "at 20:00, in the name of Ada Lovelace" in told[7]
    assert told[8].startswith("Your table is booked, Ada Lovelace")
    assert told[9] == "All forgotten. What can I do for you?"


async def test_a_voucher_has_a_list_and_an_object_in_it(demos: Turnkeeper) -> None:
    told = await conversation(
        demos,
        "table-booking",
        "I want a gift card for my mother",
        "dinner and the tasting menu",
        "Grace Hopper",
        "grace@example.com",
        "Ada Lovelace",
        "020 7946 0018",
        "yes",
    )

    assert told[1] == "Whose name shall be written on it?"
    assert "in the name of Grace Hopper, sent to grace@example.com. Shall I order it, Ada Lovelace?" in told[5]
    assert told[6] == "Thank you, Ada Lovelace. The voucher is on its way to grace@example.com."


async def test_questions_are_answered_from_the_articles_of_a_pack(demos: Turnkeeper) -> None:
    told = [
        *await conversation(demos, "table-booking", "what does the tasting menu cost?"),
        *await conversation(demos, "help-desk", "how long is the warranty", "What does express delivery cost?"),
    ]

    assert "costs 65 pounds [1]" in told[0]
    assert "two years from the day of delivery [1]" in told[1]
    assert "costs 9 pounds [1]" in told[2]


async def test_an_outage_is_reported_and_a_forgotten_password_loses_nothing(demos: Turnkeeper) -> None:
    told = await conversation(
        demos,
        "help-desk",
        "I forgot my password",
        "the shop is down",
        "since 9:15, 25 people",
        "ada@example.com",
        "yes",
    )

    assert "Forgot password" in told[0]
    assert told[1].endswith("At what time did you first notice it?")
    assert told[2] == "To which e-mail address shall we send news?"
    assert "shop not working since 09:15, people affected: 25. News goes to ada@example.com" in told[3]
    assert told[4].startswith("Reported, thank you.")


@pytest.mark.parametrize(
    ("pack", "message", "answer"),
    [
        ("help-desk", "hi", "Hello, this is the help desk. I can help you to sign in"),
        ("help-desk", "my printer is on fire", "this is the help desk"),
        ("help-desk", "cant log in", "On the sign-in page choose"),
        ("help-desk", "how do i send something back", "print the return label"),
        ("table-booking", "how much is the tasting menu", "costs 65 pounds [1]"),
        ("table-booking", "can i bring my dog", "Dogs are welcome on the terrace"),
        ("table-booking", "where are you", "12 Harbour Street"),
        ("table-booking", "thx", "You are welcome."),
        ("table-booking", "that's all", "You are welcome."),
    ],
)
async def test_what_a_visitor_says_first_is_understood(demos: Turnkeeper, pack: str, message: str, answer: str) -> None:
    (told,) = await conversation(demos, pack, message)

    assert answer in told


@pytest.mark.parametrize("number", ["HD204518", "hd204518", "HD 204518"])
async def test_an_order_number_is_taken_as_people_write_it(demos: Turnkeeper, number: str) -> None:
    told = await conversation(demos, "help-desk", "where is my order", number)

    assert told[1].startswith(f"Order {number} is tracked")


async def test_thanks_behind_a_booking_are_answered(demos: Turnkeeper) -> None:
    told = await conversation(
        demos,
        "table-booking",
        "I would like to book a table for four",
        "tomorrow at 7pm",
        "Ada Lovelace",
        "020 7946 0018",
        "yes",
        "thanks",
    )

    assert told[-1] == "You are welcome. We look forward to seeing you at the Harbour Table!"


async def test_the_pack_of_the_guide_reads_its_own_example(keeper: Turnkeeper) -> None:
    await keeper.packs.push(dict(FILE.findall(PAGE)))

    told = await conversation(keeper, "table-desk", "a table for four please", "tomorrow", "Ada", "ada@example.com")

    assert told[0].endswith("On which day?")
    assert told[3].startswith("A table for 4 on ")
    assert told[3].endswith(" for Ada. We write to ada@example.com. Shall I book it?")


async def conversation(keeper: Turnkeeper, pack: str, *messages: str) -> list[str]:
    session = await keeper.create_session(agent="symbolic", pack=pack)
    return [(await keeper.chat(message, session_id=session.id)).text or "" for message in messages]
