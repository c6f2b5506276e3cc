"""The agent `symbolic` through the embedded face, with the rules that read messages and a real store."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from turnkeeper import Settings, Turnkeeper
from turnkeeper.errors import TurnkeeperError
from turnkeeper.model.graph import NodeType
from turnkeeper.model.run import RunStatus
from turnkeeper.ports.plugins import PluginKind


class Person:
    """Someone who talks to the agent in one session."""

    def __init__(self, keeper: Turnkeeper) -> None:
        self._keeper = keeper
        self.session_id: str | None = None

    async def says(self, text: str, **chosen: Any) -> str:
        reply = await self._keeper.chat(text, session_id=self.session_id, agent="symbolic", **chosen)
        self.session_id, self.reply = reply.session_id, reply
        return reply.text


@pytest.fixture
def person(keeper: Turnkeeper) -> Person:
    return Person(keeper)


async def test_a_fact_and_then_another_can_both_be_asked_for(person: Person) -> None:
    await person.says("The ferry leaves at noon.")
    await person.says("The museum closes on Mondays.")

    first = await person.says("When does the ferry leave?")
    second = await person.says("When does the museum close?")

    assert first == "The ferry leaves at noon [1]."
    assert second == "The museum closes on Mondays [1]."


async def test_the_same_fact_three_times_is_one_unit(person: Person, keeper: Turnkeeper) -> None:
    said = [await person.says("The gate code is 4711.") for _ in range(3)]

    assert said[0] == "Noted: the gate code is 4711."
    assert said[1] == said[2] == "I have that already: the gate code is 4711."
    assert person.session_id is not None
    assert len(await keeper.units.list(person.session_id)) == 1


async def test_a_corrected_fact_is_answered_as_it_is_now(person: Person) -> None:
    await person.says("The gate code is 4711.")
    corrected = await person.says("The gate code is 1213.")

    answer = await person.says("What is the gate code?")

    assert corrected == "Noted: the gate code is 1213. That replaces what I had: the gate code is 4711."
    assert answer == "The gate code is 1213 [1]."


async def test_premises_of_one_turn_are_used_in_the_next(person: Person) -> None:
    await person.says("Ilo is a heron. All herons are birds.")

    answer = await person.says("Is Ilo a bird?")

    assert answer == "Yes. Ilo is a heron [1]. All herons are birds [2]."


async def test_guidance_holds_from_now_on(person: Person) -> None:
    await person.says("The depot is in Narva.")
    promise = await person.says("From now on, answer in JSON.")

    answer = await person.says("Where is the depot?")

    assert json.loads(promise)["answer"] == "Understood. I will answer in JSON."
    assert json.loads(answer)["answer"] == "The depot is in Narva."


async def test_two_questions_in_one_message_are_answered_in_their_order_and_explained(person: Person) -> None:
    await person.says("The depot is in Narva. We have seven vans.")

    answer = await person.says("How many vans do we have? Where is the depot?")

    assert answer == "You have seven vans [1].\n\nThe depot is in Narva [2]."
    explanation = person.reply.explanation
    assert explanation is not None
    assert explanation.notes is not None
    assert [node.type for node in explanation.notes.nodes].count(NodeType.FRAME) == 3
    assert explanation.plugins[PluginKind.GOAL_SOLVER] == "gs-symbolic"


async def test_what_is_unknown_is_said_plainly_and_the_turn_is_kept(person: Person) -> None:
    answer = await person.says("Who is Oskar?")

    assert answer.startswith("I do not know anything about Oskar.")
    explanation = person.reply.explanation
    assert explanation is not None
    assert (person.reply.status, explanation.answer_status) == (RunStatus.COMPLETED, "no-context")


async def test_an_unknown_plugin_fails_the_turn_and_keeps_nothing(person: Person, keeper: Turnkeeper) -> None:
    await person.says("The depot is in Narva.")

    with pytest.raises(TurnkeeperError) as refused:
        await person.says("The depot is in Riga.", plugins={"gs-plugin": "gs-gone"})

    assert (refused.value.code, refused.value.http_status) == ("plugin_not_found", 422)
    assert await person.says("Where is the depot?") == "The depot is in Narva [1]."


async def test_a_model_that_is_not_there_is_no_reason_to_fail(settings: Settings) -> None:
    with_model = replace(settings, model_url="http://127.0.0.1:9/v1", model_name="small", model_retries=0)
    async with Turnkeeper.open(settings=with_model) as keeper:
        person = Person(keeper)

        answer = await person.says("Who is Oskar?")

    assert answer.startswith("I do not know anything about Oskar.")
    explanation = person.reply.explanation
    assert explanation is not None
    assert explanation.notes is not None
    assert ("gs-llm", "error") in [(node.label, node.status) for node in explanation.notes.nodes]


async def test_what_is_to_be_forgotten_is_forgotten(person: Person, keeper: Turnkeeper) -> None:
    await person.says("My name is Ada. The ferry leaves at noon.")

    said = await person.says("Forget my name.")

    assert said == "Forgotten: Your name is Ada."
    assert "do not know" in await person.says("What is my name?")
    assert await person.says("When does the ferry leave?") == "The ferry leaves at noon [1]."
    assert person.session_id is not None
    first, _ = [kept for _, kept in await keeper.units.list(person.session_id)]
    assert (first.status, first.unit) == ("forgotten", None)


async def test_forgetting_means_what_was_said_last_or_what_was_named(person: Person) -> None:
    await person.says("The ferry leaves at noon.")
    await person.says("The museum closes on Mondays.")

    assert await person.says("Forget that.") == "Forgotten: The museum closes on Mondays."
    assert "nothing to forget" in await person.says("Forget the castle.")
    assert "reset" in await person.says("Forget everything.")
    assert await person.says("When does the ferry leave?") == "The ferry leaves at noon [1]."


async def test_a_response_document_names_units_as_they_are_kept(person: Person) -> None:
    await person.says("Socrates is a human. All humans are mortal. Is Socrates mortal?")

    document = json.dumps(person.reply.explanation.document)

    assert "session::t0001::unit-000" in document
    assert "staged::" not in document


async def test_what_a_message_asks_not_to_remember_is_never_kept(person: Person, keeper: Turnkeeper) -> None:
    said = [await person.says("My password is hunter2. Don't remember it."), await person.says("Who has my password?")]

    assert said[0].startswith("I have remembered nothing of that.")
    assert "hunter2" not in "".join(said)
    assert person.session_id is not None
    assert await keeper.units.list(person.session_id) == []


@pytest.mark.parametrize("ended", ["Forget the bullet points.", "Answer normally.", "No bullet points, please."])
async def test_guidance_ends_when_it_is_taken_back(person: Person, ended: str) -> None:
    await person.says("The depot is in Narva.")
    await person.says("Use bullet points.")
    bullets = await person.says("Where is the depot?")
    await person.says(ended)

    assert bullets == "- The depot is in Narva [1]."
    assert await person.says("Where is the depot?") == "The depot is in Narva [1]."


async def test_what_was_told_before_is_forgotten_when_it_is_said_again_to_be_forgotten(person: Person) -> None:
    await person.says("I like tea.")

    assert await person.says("Forget that I like tea.") == "Forgotten: You like tea."
    assert (await person.says("Do I like tea?")).startswith("I do not know")
