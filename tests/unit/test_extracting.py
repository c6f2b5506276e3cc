"""What a message answers in a form, read by rules."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.forms import BOOKING, DATA, FILLED, FORMS, THURSDAY, forms_with_values
from turnkeeper.intent.collecting import CLEARED, Answer, progress, put
from turnkeeper.intent.extracting import Reading, Wish, read_answers
from turnkeeper.intent.form import form_of

LABELLED = [json.loads(line) for line in (DATA / "answers.jsonl").read_text(encoding="utf-8").splitlines()]
# Every third was not looked at while the rules were written: it measures, the others are promises.
MEASURED = LABELLED[2::3]
PROMISED = [row for row in LABELLED if row not in MEASURED and "open" not in row]


def read(
    text: str,
    *,
    form: dict[str, Any] = BOOKING,
    held: dict[str, Any] | None = None,
    asked: str | None = None,
    confirming: bool = False,
    now: datetime = THURSDAY,
    region: str | None = "DE",
) -> Reading:
    return read_answers(
        text, form, held or {}, asked=asked, confirming=confirming, now=now, region=region, locale="en-GB"
    )


def answers(text: str, **known: Any) -> dict[str, Any]:
    return {answer.field: answer.value for answer in read(text, **known).answers}


def read_row(row: dict[str, Any]) -> Reading:
    return read(
        row["say"],
        form=FORMS[row["form"]],
        held=row.get("held"),
        asked=row.get("asked"),
        confirming=row.get("confirming", False),
    )


def wanted(row: dict[str, Any]) -> dict[str, Any]:
    cleared = row.get("cleared", [row["asked"]] if row.get("skipped") else [])
    return {**row["fields"], **dict.fromkeys(cleared, CLEARED)}


@pytest.mark.parametrize("row", PROMISED, ids=lambda row: f"{row['say']} ({row.get('asked', 'not asked')})")
def test_a_message_is_read_as_the_manual_says(row: dict[str, Any]) -> None:
    reading = read_row(row)

    assert {answer.field: answer.value for answer in reading.answers} == wanted(row)
    assert reading.wish == row.get("wish")
    assert reading.is_correction == row.get("correction", False)
    assert reading.names_field == row.get("names")


def test_messages_that_no_rule_was_written_for_are_read_well() -> None:
    right = read_in_all = wanted_in_all = 0

    for row in MEASURED:
        found = {(answer.field, str(answer.value)) for answer in read_row(row).answers}
        meant = {(name, str(value)) for name, value in wanted(row).items()}
        right += len(found & meant)
        read_in_all += len(found)
        wanted_in_all += len(meant)

    assert right / read_in_all >= 0.95
    assert right / wanted_in_all >= 0.95


# --- one token, one field


def test_a_date_does_not_also_become_a_number_of_guests() -> None:
    assert answers("24 December", asked="party_size") == {"date": "2026-12-24"}


def test_a_telephone_number_does_not_also_become_a_number() -> None:
    assert answers("030 1234567", form=FORMS["ticket"], asked="amount") == {}


def test_a_time_does_not_also_become_a_number_of_guests() -> None:
    assert answers("19:30", asked="party_size") == {"time": "19:30"}


def test_of_two_values_that_are_offered_the_first_is_taken() -> None:
    assert answers("Monday or Tuesday", form=FORMS["trip"], asked="outbound") == {"outbound": "2026-11-16"}


def test_a_value_goes_to_the_field_that_is_named_beside_it_and_not_to_the_one_asked_for() -> None:
    assert answers("3 children", form=FORMS["trip"], asked="adults") == {"children": 3}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("change the time to 9", {"time": "21:00"}),
        ("time 9", {"time": "21:00"}),
        ("change the time to eight thirty", {"time": "20:30"}),
        ("change the name to Bob and the time to 9", {"guest.name": "Bob", "time": "21:00"}),
        ("change the date to saturday and the time to 9", {"date": "2026-11-14", "time": "21:00"}),
        ("change the time to 9 and the guests to 6", {"time": "21:00", "party_size": 6}),
        ("a good time for 4 people", {"party_size": 4}),
    ],
)
@pytest.mark.parametrize("asked", [None, "party_size"])
def test_a_number_beside_the_name_of_a_time_is_an_hour(text: str, meant: dict[str, Any], asked: str | None) -> None:
    form = {**BOOKING, "properties": {**BOOKING["properties"]}}
    form["properties"]["time"] = {"type": "string", "format": "clock-time", "x-earliest": "12:00"}

    assert answers(text, form=form, held=FILLED, asked=asked, confirming=True) == meant


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("change the phone number to 12", "guest.phone"),
        ("change the phone number to friday", "guest.phone"),
        ("change the time to 25", "time"),
        ("change the time to asdf", "time"),
        ("change the date to 5", "date"),
        ("change the date to yesterday", "date"),
    ],
)
@pytest.mark.parametrize("asked", [None, "party_size"])
def test_what_the_named_field_cannot_take_goes_to_no_other(text: str, field: str, asked: str | None) -> None:
    reading = read(text, held=FILLED, asked=asked, confirming=True)

    assert reading.answers == ()
    assert reading.names_field == field


def test_a_word_of_a_title_or_a_description_points_to_its_field() -> None:
    count = {"type": "integer", "title": "Number of people"}
    budget = {"type": "number", "description": "How much do you want to spend per month?"}
    schema = {"type": "object", "properties": {"party": count, "budget": budget}}

    assert answers("a table for 4 people", form=schema) == {"party": 4}
    assert answers("50 per month", form=schema) == {"budget": 50}
    assert answers("4 things", form=schema) == {}


def test_a_number_that_nothing_asks_for_goes_nowhere() -> None:
    assert answers("I have 3 questions", form=FORMS["trip"]) == {}


def test_a_number_that_is_wanted_goes_to_the_only_field_that_can_take_one() -> None:
    desk = FORMS["desk"]
    two_numbers = {**desk, "properties": {**desk["properties"], "dogs": {"type": "integer"}}}

    assert answers("a table for 4 on friday", form=desk) == {"party_size": 4, "day": "friday"}
    assert answers("a table for 4 on friday", form=two_numbers) == {"day": "friday"}
    assert answers("a table for 4 on friday, and 2 dogs", form=desk) == {"day": "friday"}


@pytest.mark.parametrize(
    "text",
    [
        *("I live at 5 Main Street", "order 66231 is late", "room 12", "in 2 days", "for 2 days", "for 3 hours"),
        *("I have 3 questions", "for 40 please", "for 2.5 please", "for 5 euros", "for the 5th", "#5", "for 4 or 5"),
    ],
)
def test_a_number_of_something_else_goes_nowhere(text: str) -> None:
    assert answers(text, form=FORMS["desk"]) == {}


def test_a_number_amidst_the_words_of_a_text_is_part_of_it() -> None:
    desk = FORMS["desk"]

    assert answers("a cake for 4 please", form=desk, asked="note") == {"note": "a cake for 4"}
    assert answers("note: candles for 4", form=desk) == {"note": "candles for 4"}


@pytest.mark.parametrize("text", ["The heating is broken.", "Call me back, please", "For the team: well done!"])
def test_where_there_is_room_for_prose_an_answer_is_taken_as_it_was_written(text: str) -> None:
    form = {"type": "object", "properties": {"note": {"type": "string", "maxLength": 200}}, "required": ["note"]}
    short = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 80}}, "required": ["name"]}

    assert answers(text, form=form, asked="note") == {"note": text}
    assert answers("call me Ann, please", form=short, asked="name") == {"name": "Ann"}


def test_a_list_of_numbers_is_read_when_it_was_asked_for_or_is_named() -> None:
    gifts = FORMS["gifts"]

    assert answers("50 and 25", form=gifts, asked="amounts") == {"amounts": [50, 25]}
    assert answers("the amounts are 50, 25 and 10", form=gifts) == {"amounts": [50, 25, 10]}
    assert answers("50 and 25", form=gifts) == {}


def test_a_date_that_could_replace_one_of_two_replaces_neither() -> None:
    held = {"outbound": "2026-12-01", "return_date": "2026-12-05"}

    assert answers("on 3 December", form=FORMS["trip"], held=held) == {}
    assert answers("return on 3 December", form=FORMS["trip"], held=held) == {"return_date": "2026-12-03"}


def test_a_text_is_taken_only_when_it_was_asked_for_or_named() -> None:
    assert answers("we bring a dog") == {}
    assert answers("we bring a dog", asked="notes") == {"notes": "we bring a dog"}
    assert answers("notes: we bring a dog") == {"notes": "we bring a dog"}


def test_a_text_beside_other_answers_is_what_is_left() -> None:
    assert answers("Ann, 4 people", asked="guest.name") == {"guest.name": "Ann", "party_size": 4}


def test_a_value_amidst_the_words_of_a_text_is_part_of_it() -> None:
    assert answers("cake at 8 sharp on Friday", asked="notes") == {"notes": "cake at 8 sharp on Friday"}


def test_a_text_ends_where_something_else_begins() -> None:
    assert answers("My name is Ann Miller and my phone number is 030 1234567") == {
        "guest.name": "Ann Miller",
        "guest.phone": "+49301234567",
    }
    assert answers("my name is Ann, 4 people") == {"guest.name": "Ann", "party_size": 4}


def test_wrong_is_no_value() -> None:
    reading = read("the name is wrong", held=FILLED)

    assert reading.answers == ()
    assert reading.names_field == "guest.name"


def test_to_ask_for_something_is_not_to_want_it() -> None:
    assert answers("do you have a high chair?") == {}


def test_one_is_not_always_a_number() -> None:
    assert answers("one of us is late") == {}


def test_a_choice_that_is_a_number_is_taken_only_when_it_was_asked_for() -> None:
    schema = {"type": "object", "properties": {"floor": {"enum": [1, 2, 3]}}}

    assert answers("I have 2 questions", form=schema) == {}
    assert answers("2", form=schema, asked="floor") == {"floor": 2}


def test_a_yes_or_no_is_never_a_text() -> None:
    assert read("yes", asked="guest.name") == Reading(wish=Wish.YES)


def test_a_question_is_no_answer_to_a_question_for_a_text() -> None:
    assert answers("why do you ask?", asked="guest.name") == {}


@pytest.mark.parametrize(
    "text",
    [
        *("i dont know", "I don't know yet", "um, no idea", "hang on a sec", "one moment please", "I'd rather not say"),
        *("none of your business", "what?", "help", "Id rather not say", "skip", "sorry, I don\u2019t know", "idk"),
    ],
)
@pytest.mark.parametrize("confirming", [True, False])
def test_what_says_nothing_is_no_answer_to_a_question_for_a_text(text: str, confirming: bool) -> None:
    assert read(text, held=FILLED, asked="guest.name", confirming=confirming) == Reading()


@pytest.mark.parametrize("name", ["Will Hope", "Mark Stop", "Helpman", "Moment", "Art Idle", "Noidea", "Maria Wait"])
def test_a_name_that_sounds_like_something_else_stays_a_name(name: str) -> None:
    assert answers(name, asked="guest.name") == {"guest.name": name}


def test_an_answer_to_something_else_is_no_text() -> None:
    assert answers("we'll be 5 actually", held={"party_size": 4}, asked="guest.name") == {"party_size": 5}
    assert answers("we'll be 5", asked="guest.name") == {"party_size": 5}


# --- dates and times


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("today", "2026-11-12"),
        ("tomorrow", "2026-11-13"),
        ("the day after tomorrow", "2026-11-14"),
        ("Thursday", "2026-11-19"),
        ("this Friday", "2026-11-13"),
        ("next Monday", "2026-11-16"),
        ("next Friday", "2026-11-20"),
        ("in two weeks", "2026-11-26"),
        ("1 November", "2027-11-01"),
        ("29 February", "2028-02-29"),
        ("31.12.26", "2026-12-31"),
        ("a week on Tuesday", "2026-11-24"),
        ("a week from Friday", "2026-11-20"),
        ("the 3rd of December", "2026-12-03"),
        ("on the weekend", "2026-11-14"),
        ("next weekend", "2026-11-21"),
        ("tomorow", "2026-11-13"),
        ("tommorow", "2026-11-13"),
        ("next wendesday", "2026-11-18"),
        ("fryday", "2026-11-13"),
    ],
)
def test_a_date_is_the_next_one_that_fits(text: str, date: str) -> None:
    assert answers(text, asked="date") == {"date": date}


def test_a_word_that_is_nearly_a_short_weekday_is_one_only_where_a_date_was_asked_for() -> None:
    assert answers("saterday at 8") == {"date": "2026-11-14", "time": "20:00"}
    assert answers("with a sundae") == {}
    assert answers("Munday", asked="guest.name") == {"guest.name": "Munday"}


@pytest.mark.parametrize("text", ["31 November", "32.13.", "2026-02-30", "30/02/2027"])
def test_a_date_that_does_not_exist_is_none(text: str) -> None:
    assert answers(text, asked="date") == {}


def test_the_region_says_whether_the_month_comes_first() -> None:
    assert answers("03/04/2027", asked="date", region="DE") == {"date": "2027-04-03"}
    assert answers("03/04/2027", asked="date", region="US") == {"date": "2027-03-04"}


def test_today_is_the_day_in_the_time_zone_of_the_pack() -> None:
    late = datetime(2026, 11, 12, 23, 30, tzinfo=ZoneInfo("America/New_York"))

    assert answers("today", asked="date", now=late) == {"date": "2026-11-12"}


def test_an_hour_is_in_the_half_of_the_day_that_is_not_before_the_earliest() -> None:
    early = {"type": "object", "properties": {"time": {"type": "string", "format": "clock-time"}}}

    assert answers("half past seven", asked="time") == {"time": "19:30"}
    assert answers("half past seven", form=early, asked="time") == {"time": "07:30"}
    assert answers("at 3", form=early, asked="time") == {"time": "15:00"}


def test_words_of_the_evening_tell_the_half_of_the_day() -> None:
    early = {"type": "object", "properties": {"time": {"type": "string", "format": "clock-time"}}}

    assert answers("tonight at 8", form=early) == {"time": "20:00"}
    assert answers("at 8", form=early) == {"time": "08:00"}


def test_a_time_with_an_offset_has_that_of_the_time_zone_of_the_pack() -> None:
    schema = {"type": "object", "properties": {"at": {"type": "string", "format": "time"}}}

    assert answers("7pm", form=schema) == {"at": "19:00:00+01:00"}
    assert progress(schema, {"at": "19:00:00+01:00"}).complete


def test_a_time_without_a_day_is_the_next_such_time_where_both_are_wanted() -> None:
    order = FORMS["order"]

    assert answers("9am", form=order, asked="pickup_at") == {"pickup_at": "2026-11-13T09:00:00+01:00"}
    assert answers("noon", form=order, asked="pickup_at") == {"pickup_at": "2026-11-12T12:00:00+01:00"}


def test_a_telephone_number_without_a_country_is_read_as_one_of_the_region() -> None:
    assert answers("0171 1234567", asked="guest.phone") == {"guest.phone": "+491711234567"}
    assert answers("0171 1234567", asked="guest.phone", region=None) == {}


# --- corrections and wishes


def test_a_no_with_a_value_is_a_correction_and_no_refusal() -> None:
    reading = read("no, make it five", held=FILLED, confirming=True)

    assert reading.answers == (Answer("party_size", 5),)
    assert reading.wish is None
    assert reading.is_correction


def test_while_a_summary_is_confirmed_a_yes_answers_that_and_no_field() -> None:
    assert read("yes", held=FILLED, asked="high_chair", confirming=True) == Reading(wish=Wish.YES)


@pytest.mark.parametrize(
    ("text", "asked", "meant"),
    [("Maria", "guest.name", "Maria"), ("9", "time", "21:00"), ("6", "party_size", 6), ("a cake", "notes", "a cake")],
)
def test_a_field_that_was_asked_for_is_answered_also_while_a_summary_is_confirmed(
    text: str, asked: str, meant: Any
) -> None:
    form = {**BOOKING, "properties": {**BOOKING["properties"]}}
    form["properties"]["time"] = {"type": "string", "format": "clock-time", "x-earliest": "12:00"}

    reading = read(text, form=form, held=FILLED, asked=asked, confirming=True)

    assert reading.answers == (Answer(asked, meant),)
    assert reading.is_correction == (asked != "notes")


@pytest.mark.parametrize(
    "text",
    [
        *("cancel", "cancel this", "Cancel it!", "stop", "exit", "quit", "forget it", "forget about it", "never mind"),
        *("nevermind", "nah forget it", "I don't want it anymore", "I don’t want this anymore", "drop it"),
        *("I changed my mind", "no, cancel", "please stop", "ok, never mind then"),
    ],
)
@pytest.mark.parametrize("confirming", [True, False])
@pytest.mark.parametrize("asked", [None, "guest.name", "high_chair", "seating"])
def test_a_form_that_is_not_wanted_any_more_is_dropped(text: str, asked: str | None, confirming: bool) -> None:
    assert read(text, held=FILLED, asked=asked, confirming=confirming) == Reading(wish=Wish.DROP)


@pytest.mark.parametrize(
    "text", ["don't stop", "forget the notes", "stop, make it 5", "cancel the e-mail address", "no"]
)
def test_to_take_something_else_back_drops_no_form(text: str) -> None:
    assert read(text, held=FILLED, confirming=True).wish is not Wish.DROP


def test_a_choice_of_the_form_is_no_wish_to_drop_it() -> None:
    schema = {"type": "object", "properties": {"action": {"enum": ["stop", "start"]}}}

    assert answers("stop", form=schema, asked="action") == {"action": "stop"}
    assert read("stop", form=schema).wish is Wish.DROP


def test_what_is_taken_back_finds_its_field_by_the_value_that_it_holds() -> None:
    trip = FORMS["trip"]

    assert answers("not 2 but 3", form=trip, held={"adults": 1, "children": 2}) == {"children": 3}


def test_a_field_that_is_only_named_is_the_one_to_change() -> None:
    assert read("the time, please", held=FILLED, confirming=True).names_field == "time"


def test_of_two_fields_of_one_name_the_one_asked_for_is_meant_and_else_the_outer_one() -> None:
    name = {"type": "string"}
    schema = {
        "type": "object",
        "properties": {"gift": {"type": "object", "properties": {"name": name}}, "name": name},
    }

    assert answers("my name is Ann", form=schema) == {"name": "Ann"}
    assert answers("the name is Bob", form=schema, asked="gift.name") == {"gift.name": "Bob"}


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("change the recipient name to Bob", "recipient.name"),
        ("change the recipient's name to Bob", "recipient.name"),
        ("change the name of the recipient to Bob", "recipient.name"),
        ("change recipient to Bob", "recipient.name"),
        ("change the name to Bob", "name"),
    ],
)
def test_the_longest_name_says_which_field_is_meant(text: str, field: str) -> None:
    held = {"name": "Ann", "recipient": {"name": "Cy"}}

    assert answers(text, form=FORMS["parcel"], held=held, confirming=True) == {field: "Bob"}


def test_the_name_of_a_group_is_no_field_where_another_is_called_like_it() -> None:
    assert answers("1 guest is vegan", held=FILLED) == {}
    assert answers("change the guest name to Bob", held=FILLED) == {"guest.name": "Bob"}


@pytest.mark.parametrize("text", ["make it 31", "change guests to 31", "no, 31 people"])
def test_a_value_out_of_its_limits_is_read_so_that_it_can_be_refused(text: str) -> None:
    reading = read(text, held=FILLED, confirming=True)

    assert reading.answers == (Answer("party_size", 31),)
    assert [fault.rule for fault in put(BOOKING, FILLED, reading.answers).refused] == ["maximum"]


def test_a_required_answer_cannot_be_skipped() -> None:
    assert answers("skip", asked="party_size") == {}
    assert answers("skip", asked="notes") == {"notes": CLEARED}


# --- any text at all


TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(
        st.sampled_from(
            [word for row in LABELLED for word in row["say"].split()] + ["é", "٣", "7", ",", ".", "?", "\n", "{", "½"]
        ),
        max_size=30,
    ).map(" ".join),
)


def asked_fields() -> Iterator[tuple[str, str | None]]:
    for name, schema in FORMS.items():
        yield name, None
        yield from ((name, field.name) for field in form_of(schema).fields)


@given(TEXTS, st.sampled_from(list(asked_fields())), st.booleans())
def test_any_text_is_read_without_a_failure(text: str, asked: tuple[str, str | None], confirming: bool) -> None:
    form, field = asked

    reading = read(text, form=FORMS[form], asked=field, confirming=confirming)

    names = {each.name for each in form_of(FORMS[form]).fields}
    assert {answer.field for answer in reading.answers} <= names
    assert len({answer.field for answer in reading.answers}) == len(reading.answers)
    assert reading.wish is None or reading.answers == ()


@given(TEXTS, forms_with_values(), st.sampled_from(["first", "second", "first.second", "gone"]))
def test_any_form_can_be_read_for(text: str, form: tuple[dict[str, Any], dict[str, Any]], asked: str) -> None:
    read(text, form=form[0], held=form[1], asked=asked)


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "1",
        " ",
        "one ",
        "at 7 ",
        "a@",
        "a.",
        "+49 ",
        "tomorrow ",
        "not ",
        "is ",
        ", and ",
        "name is ",
        "(",
        "24.12. ",
    ],
)
@pytest.mark.parametrize("asked", [None, "notes", "guest.phone"])
def test_a_long_message_is_read_in_time(piece: str, asked: str | None) -> None:
    text = (piece * 32_000)[:32_000]
    began = time.perf_counter()

    read(text, asked=asked)

    assert time.perf_counter() - began < 2
