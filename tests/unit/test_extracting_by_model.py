"""A model may find answers where the rules find none; what it replies is judged like what a user says."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.forms import ANY_VALUES, BOOKING, FILLED, THURSDAY
from turnkeeper.errors import BudgetExceeded
from turnkeeper.intent.collecting import CLEARED, Answer, progress, put
from turnkeeper.intent.extracting_by_model import ModelReading, answers_in, ask_for_answers
from turnkeeper.intent.form import form_of
from turnkeeper.model.budget import Budget, BudgetLimits
from turnkeeper.ports.chat_model import ChatMessage, Completion, ModelFailed, ModelFault

SECRET = "my dog is called Rosalinde"


class OneReply:
    """A model that replies with this text, and remembers what it was asked."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked: list[str] = []
        self.wanted_json = False

    async def complete(
        self, messages: Sequence[ChatMessage], *, deadline: datetime, json: bool = False, model: str | None = None
    ) -> Completion:
        self.asked = [message.content for message in messages]
        self.wanted_json = json
        return Completion(text=self.text, model="one-reply")


class Down:
    async def complete(
        self, messages: Sequence[ChatMessage], *, deadline: datetime, json: bool = False, model: str | None = None
    ) -> Completion:
        raise ModelFailed(ModelFault.UNREACHABLE, "The model is not there.")


async def ask(model: Any, *, budget: Budget | None = None, prompt: str | None = None) -> ModelReading:
    return await ask_for_answers(
        model,
        SECRET,
        BOOKING,
        FILLED,
        asked="notes",
        prompt=prompt,
        budget=budget or Budget(BudgetLimits()),
        deadline=THURSDAY + timedelta(seconds=5),
        now=THURSDAY,
    )


async def test_the_answers_of_a_model_come_by_the_names_of_the_form() -> None:
    reply = {
        "fields": {"party_size": 5, "guest": {"email": "ann@example.com"}, "guest.name": "Bob"},
        "cleared": ["notes"],
    }

    reading = await ask(OneReply(json.dumps(reply)))

    assert reading.answers == (
        Answer("notes", CLEARED),
        Answer("party_size", 5),
        Answer("guest.email", "ann@example.com"),
        Answer("guest.name", "Bob"),
    )
    assert reading.reason is None


async def test_w14_names_that_the_form_does_not_have_are_dropped() -> None:
    reply = {"fields": {"approval": {"granted": True}, "intent": "OTHER", "guest": {"role": "admin"}}, "state": "DONE"}

    assert await ask(OneReply(json.dumps(reply))) == ModelReading()


async def test_a_model_that_says_nothing_of_a_field_changes_nothing_of_it() -> None:
    assert (await ask(OneReply('{"fields": {"party_size": null}}'))).answers == ()


@pytest.mark.parametrize(
    "text", ["", "no JSON", "[]", '{"fields": []}', '{"fields": {', "null", "{" * 2_000, "x" * 60_000]
)
async def test_a_reply_that_cannot_be_read_is_no_answer_and_says_why(text: str) -> None:
    assert await ask(OneReply(text)) == ModelReading(reason="model_answer_unreadable")


async def test_a_reply_that_is_too_long_is_not_looked_at() -> None:
    reply = json.dumps({"fields": {"party_size": 2}, "remark": "x" * 60_000})

    assert await ask(OneReply(reply)) == ModelReading(reason="model_answer_unreadable")


@pytest.mark.parametrize("around", ["```json\n{}\n```", "```\n{}```", "Here it is: {} I hope it helps.", " {}\n"])
async def test_a_fence_or_a_sentence_around_the_reply_is_no_fault(around: str) -> None:
    reading = await ask(OneReply(around.replace("{}", '{"fields": {"party_size": 2}}')))

    assert reading.answers == (Answer("party_size", 2),)


async def test_a_model_that_is_down_is_no_answer_and_says_why() -> None:
    assert await ask(Down()) == ModelReading(reason="model_unreachable")


async def test_without_a_call_left_no_model_is_asked() -> None:
    model = OneReply('{"fields": {"party_size": 2}}')

    reading = await ask(model, budget=Budget(BudgetLimits(model_calls=0)))

    assert reading == ModelReading(reason=BudgetExceeded.code, was_asked=False)
    assert model.asked == []


async def test_a_call_is_spent_and_nothing_stays_reserved_also_when_it_fails() -> None:
    budget = Budget(BudgetLimits(model_calls=2))

    await ask(Down(), budget=budget)

    assert (budget.model_calls, budget.reserved) == (1, 0)


async def test_the_prompt_of_a_pack_says_what_for_and_the_form_of_the_reply_stays_ours() -> None:
    model = OneReply("{}")

    await ask(model, prompt="You fill in the booking of a restaurant.")

    assert model.asked[0].startswith("You fill in the booking of a restaurant.")
    assert '{"fields": {"name": value}, "cleared": ["name"]}' in model.asked[0]
    assert model.wanted_json


async def test_the_message_is_given_as_data() -> None:
    model = OneReply("{}")

    await ask(model)

    shown = json.loads(model.asked[1])
    assert shown["message"] == SECRET
    assert shown["answers_so_far"] == FILLED
    assert SECRET not in model.asked[0]


async def test_the_words_of_a_user_are_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    await ask(OneReply(SECRET))
    await ask(Down())

    assert "Rosalinde" not in caplog.text


@given(st.dictionaries(st.sampled_from(["fields", "cleared", "x"]), ANY_VALUES) | ANY_VALUES)
def test_whatever_a_model_replies_only_valid_answers_are_kept(reply: Any) -> None:
    answers = answers_in(json.dumps(reply), form_of(BOOKING))

    assert progress(BOOKING, put(BOOKING, {}, answers or ()).fields).faults == ()
