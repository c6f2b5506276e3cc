"""Clients that keep their own session, in conversation with an orchestrator that keeps none."""

from pathlib import Path
from typing import Literal

import pytest

from tests.bus.house import House, a_house, a_settings
from turnkeeper.bus.rules import BusRules
from turnkeeper.client import BusClient, End, FileKeep, SessionKeep, SqliteKeep

Policy = Literal["handled", "latest"]


@pytest.mark.parametrize("adopt", ["handled", "latest"])
async def test_ovos_15_45_47_68_a_question_is_answered_by_a_client_that_was_started_again_in_between(
    house: House, tmp_path: Path, adopt: Policy
) -> None:
    keep: SessionKeep = FileKeep(tmp_path / "session.json") if adopt == "handled" else SqliteKeep(tmp_path / "sessions")
    async with a_client(house, keep, adopt) as client:
        question = await client.say("ask me")
        assert (question.text, question.is_question, question.skill_id) == ("what is your name?", True, "ask.skill")

    async with a_client(house, keep, adopt) as client:
        answer = await client.say("Ann")

        assert answer.text == "hello Ann"
        assert "response_mode" not in client.session


async def test_ovos_70_a_conversation_goes_on_when_every_round_has_another_orchestrator(tmp_path: Path) -> None:
    keep = FileKeep(tmp_path / "session.json")
    async with a_house(a_settings(tmp_path)) as first, a_client(first, keep, "handled") as client:
        assert (await client.say("my name is Ann")).text == "1/1: my name is Ann"
        assert (await client.say("I like tea")).text == "2/2: my name is Ann | I like tea"
    (tmp_path / "elsewhere").mkdir()
    async with a_house(a_settings(tmp_path / "elsewhere")) as second, a_client(second, keep, "handled") as client:
        assert (await client.say("and you?")).text == "3/3: my name is Ann | I like tea | and you?"


async def test_a_client_of_the_default_session_is_remembered_by_the_device(house: House) -> None:
    async with BusClient(house.relay.url) as client:
        assert (await client.say("ask me")).is_question
        assert (await client.say("Ann")).text == "hello Ann"
        assert client.session == {}


async def test_a_client_hears_how_each_round_ended(tmp_path: Path) -> None:
    rules = BusRules(owner_seconds=0.02, handler_seconds=0.05)
    async with (
        a_house(a_settings(tmp_path), rules=rules) as house,
        BusClient(house.relay.url, session_id="k") as client,
    ):
        assert (await client.say("say hello")).end is End.COMPLETED
        failed, late = await client.say("boom"), await client.say("go slow")
        client.change(pipeline=["intents"])
        unmatched = await client.say("gibberish")

    assert (failed.end, failed.error) == (End.FAILED, "RuntimeError: boom")
    assert late.end is End.TIMED_OUT
    assert unmatched.end is End.UNMATCHED


def a_client(house: House, keep: SessionKeep, adopt: Policy) -> BusClient:
    return BusClient(house.relay.url, session_id="kitchen", keep=keep, adopt=adopt)
