"""What a message wishes of itself: not to be remembered, and how its answer looks."""

from __future__ import annotations

import json

import pytest

from tests.symbolic import Talk
from tests.unit.test_symbolic_verdicts import Reader
from turnkeeper.agents.symbolic.language import speech

PORT = "The port is 80."


def talk() -> Talk:
    return Talk(extractor=Reader())


@pytest.mark.parametrize(
    "message",
    [
        "My password is hunter2. Don't remember it.",
        "My password is hunter2. Do not remember that, please.",
        "The gate code is 4711. Forget it.",
        "The gate code is 4711. Please don't save that.",
        "Do not remember this: the gate code is 4711.",
        "Don't remember that my password is hunter2.",
        "The safe is blue. The gate code is 4711. Forget what I just said.",
    ],
)
async def test_what_is_not_to_be_remembered_is_not_staged_and_that_is_said(message: str) -> None:
    told = await talk().say(message)

    assert told.turn.staged_units == []
    assert told.text == speech().replies["not_kept"]
    assert "4711" not in str(told.document.get("sources"))


async def test_only_what_was_named_is_dropped_from_a_message() -> None:
    told = await talk().say("I like tea. The sky is red. Forget the tea.")

    assert [each.content for each in told.turn.staged_units] == ["The sky is red."]


async def test_a_question_beside_what_is_dropped_is_answered() -> None:
    asked = talk()
    await asked.say(PORT)

    told = await asked.say("The gate code is 4711. Forget it. What is the port?")

    assert told.text == f"{speech().replies['not_kept']}\n\nThe port is 80 [1]."
    assert told.turn.staged_units == []


@pytest.mark.parametrize(
    "message", ["Never store passwords in plain text.", "Don't keep oil near the oven.", "Remember the milk is sour."]
)
async def test_a_rule_about_keeping_things_is_kept(message: str) -> None:
    told = await talk().say(message)

    assert not told.text.startswith(speech().replies["not_kept"])


@pytest.mark.parametrize("message", ["Answer in JSON: what is the port?", "Please answer in JSON. What is the port?"])
async def test_an_order_beside_a_question_holds_for_its_answer_alone(message: str) -> None:
    asked = talk()
    await asked.say(PORT)

    first, second = await asked.say(message), await asked.say("What is the port?")

    assert json.loads(first.text)["answer"] == PORT
    assert second.text == "The port is 80 [1]."


@pytest.mark.parametrize("order", ["Always answer in JSON.", "From now on, answer in JSON."])
async def test_an_order_that_says_so_lasts(order: str) -> None:
    asked = talk()
    await asked.say(PORT)

    await asked.say(f"{order} What is the port?")
    second = await asked.say("What is the port?")

    assert json.loads(second.text)["answer"] == PORT


async def test_an_order_for_the_next_answer_is_refused_plainly() -> None:
    told = await talk().say("For the next answer use JSON.")

    assert told.text == speech().replies["not_next"]


async def test_citations_are_left_out_when_they_are_not_wanted() -> None:
    asked = talk()
    await asked.say(PORT)

    promise = await asked.say("Don't use citations.")

    assert promise.text == speech().replies["will_uncited"]
    assert (await asked.say("What is the port?")).text == PORT


async def test_what_was_forgotten_is_said_in_json_too() -> None:
    asked = talk()
    await asked.say("Answer in JSON.")
    await asked.say(PORT)

    told = json.loads((await asked.say("Forget the port.")).text)

    assert (told["answer"], told["forgotten"]) == (f"Forgotten: {PORT}", [PORT])


async def test_what_leads_to_a_list_is_no_item_of_it() -> None:
    asked = talk()
    await asked.say("Use bullet points.")

    two = await asked.say("The port is 80. The host is big.")
    replaced = await asked.say("The port is 81.")

    assert two.text == "Noted:\n- The port is 80.\n- The host is big."
    assert replaced.text.startswith("Noted: the port is 81.")
