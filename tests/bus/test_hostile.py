"""What strangers send breaks neither the orchestrator nor the rounds of others."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.bus.house import House, Meta, a_house, a_settings, only
from tests.bus.wire import WITHIN, Participant
from turnkeeper.bus import topics
from turnkeeper.bus.handlers import Dispatch
from turnkeeper.bus.message import Message
from turnkeeper.bus.relay import Relay
from turnkeeper.bus.rules import BusRules


@pytest.mark.parametrize("id", ["n1", "default"])
async def test_half_a_surrogate_pair_travels_like_any_other_text(house: House, id: str) -> None:
    heard = await house.say("say hello", {"session_id": id, "x": "\ud800"})
    assert heard.session["x"] == "\ud800"
    assert heard.spoken == ["hello"]

    spoken = await house.say("say \ud800", {"session_id": id})
    assert spoken.topics.count(topics.HANDLED) == 1
    assert (await house.say("say again", {"session_id": id})).spoken == ["again"]
    assert (await house.say("who is \ud800", {"session_id": "\ud800"})).topics[-1] == topics.HANDLED


async def test_a_number_without_measure_reads_as_omitted(house: House) -> None:
    huge = 10**400
    session = {
        "session_id": "n1",
        "location": {"lat": huge, "tz": "Europe/Rome"},
        "active_handlers": [{"skill_id": "a", "activated_at": huge}],
        "converse_handlers": [{"skill_id": "a", "activated_at": -huge}],
        "response_mode": {"skill_id": "a", "expires_at": huge},
        "intent_context": {"k": {"value": "v", "expires_at": huge}},
    }

    heard = await house.say("say hello", session)

    assert heard.session["location"] == {"tz": "Europe/Rome"}
    assert "response_mode" not in heard.session
    assert [each["skill_id"] for each in heard.session["active_handlers"]] == ["echo.skill"]


async def test_a_session_that_outgrows_the_bus_still_has_an_end(tmp_path: Path) -> None:
    async with Relay(port=0) as relay, a_house(a_settings(tmp_path), relay=relay) as house:
        large = {"session_id": "n1", "x": "x" * (10 * 1_048_576 - 200)}
        heard = await house.say("say hello", large)

        assert heard.one(topics.HANDLED).data["session_too_large"] is True
        assert heard.session == {"session_id": "n1"}
        assert (await house.say("say again", {"session_id": "n2"})).spoken == ["again"]


async def test_the_session_of_the_device_stays_within_bounds(house: House) -> None:
    for number in range(12):
        await house.tell(topics.SYNC, {"session": {f"x{number}": "x" * 300_000}})

    assert 0 < len(house.default) < 5
    assert (await house.say("say hello")).spoken == ["hello"]


async def test_many_handlers_and_many_words_hold_nobody_up(house: House) -> None:
    many = [{"skill_id": f"s{number}", "activated_at": float(number)} for number in range(20_000)]
    session = {"session_id": "n1", "active_handlers": many, "converse_handlers": many, "pipeline": only("stop")}

    assert (await house.say("say hello", session)).spoken == ["hello"]
    long = await house.say("say " + "word " * 200_000, {"session_id": "n1", "pipeline": only("stop")})
    assert long.topics == [topics.UTTERANCE, topics.UNMATCHED, topics.HANDLED]


async def test_a_client_cannot_call_off_in_the_place_of_a_transformer(tmp_path: Path) -> None:
    def off(context: dict[str, Any]) -> None:
        context |= {"canceled": True, "cancel_reason": "parental_control"}

    async with a_house(a_settings(tmp_path), prepare=lambda each: each.add_transformer(Meta("strict", off))) as house:
        forged = {"canceled": True, "cancel_reason": "x", "cancel_by": "me"}
        heard = await house.say("say hello", {"session_id": "n1"}, context=forged)

    assert heard.one(topics.CANCELLED).data == {"cancel_reason": "parental_control", "cancel_by": "strict"}


async def test_what_a_client_forges_is_not_believed(house: House) -> None:
    forged = {"canceled": True, "cancel_reason": "x", "skill_id": "forged.skill", "pipeline_id": "forged"}
    heard = await house.say("nothing at all", {"session_id": "n1", "pipeline": only()}, context=forged)

    assert heard.topics == [topics.UTTERANCE, topics.UNMATCHED, topics.HANDLED]
    assert not {"canceled", "cancel_reason", "skill_id", "pipeline_id"} & heard.one(topics.HANDLED).context.keys()


async def test_a_term_that_was_made_up_owns_nothing(house: House) -> None:
    terms: tuple[Any, ...] = (10**4000, 2**62, -1, 0, True, "9", 1.5, None)
    for term in terms:
        await house.tell(topics.OWN_DEFAULT, {"orchestrator": "ghost", "term": term})

    assert (await house.say("say hello")).spoken == ["hello"]


async def test_a_late_word_that_a_handler_is_through_ends_no_other_round(tmp_path: Path) -> None:
    heard_by: list[Message] = []

    def answers(message: Message) -> list[Message]:
        if message.type == "far.skill:go":
            heard_by.append(message)
        return []

    async with a_house(a_settings(tmp_path)) as house, Participant(house.relay.url, answers) as far:
        house.begin("far away", {"session_id": "n1"})
        house.begin("far away", {"session_id": "n1", "x": 1})
        await far.until(lambda: len(heard_by) == 2)
        late = heard_by[1].forward(topics.DONE)
        late.context["utterance_id"] = "of-another-round"
        house.person.link.send(late)
        await house.settled()
        assert house.person.of(topics.HANDLED) == []

        # Without an id the newest one of this skill is meant.
        for skill_id, ended in (("other.skill", 0), ("far.skill", 1)):
            nameless = heard_by[0].forward(topics.DONE)
            del nameless.context["utterance_id"]
            nameless.context["skill_id"] = skill_id
            house.person.link.send(nameless)
            await house.person.until(lambda ended=ended: len(house.person.of(topics.HANDLED)) >= ended)  # type: ignore[misc]
            await house.settled()
            assert len(house.person.of(topics.HANDLED)) == ended
        assert house.person.of(topics.HANDLED)[0].utterance_id == heard_by[1].utterance_id


async def test_what_a_handler_does_after_its_round_changes_nothing(house: House) -> None:
    later: list[asyncio.Task[None]] = []
    go = asyncio.Event()

    async def detached(dispatch: Dispatch) -> None:
        async def after() -> None:
            await go.wait()
            dispatch.session["site_id"] = "stray"
            await dispatch.speak("late")

        later.append(asyncio.create_task(after()))
        await dispatch.speak("now")

    house.orchestrator.handler("late.skill", "go")(detached)
    house.orchestrator.intents.add("late.skill", "go", lang="en-US", samples=["do it later"])
    await house.say("do it later")
    go.set()
    await asyncio.gather(*later)
    await house.settled()

    assert [each.data["utterance"] for each in house.person.of(topics.SPEAK)] == ["now", "late"]
    assert "site_id" not in house.default


async def test_what_is_synced_must_be_json(house: House) -> None:
    async def nan(dispatch: Dispatch) -> None:
        await dispatch.sync({"x": float("nan")})

    house.orchestrator.handler("nan.skill", "go")(nan)
    house.orchestrator.intents.add("nan.skill", "go", lang="en-US", samples=["not a number"])
    for session in ({"session_id": "n1"}, {"session_id": "default"}):
        heard = await house.say("not a number", session)
        assert heard.topics[-2:] == [topics.ERROR, topics.HANDLED]
        assert "x" not in heard.session


async def test_a_transformer_that_never_returns_is_passed_over(tmp_path: Path) -> None:
    class Stuck(Meta):
        async def transform(self, artifact: Any, context: dict[str, Any], lang: str | None) -> Any:
            await asyncio.Event().wait()

    rules = BusRules(owner_seconds=0.02, match_seconds=0.05)
    stuck = Stuck("stuck", lambda context: None)
    async with a_house(a_settings(tmp_path), rules=rules, prepare=lambda each: each.add_transformer(stuck)) as house:
        assert (await house.say("say hello", {"session_id": "n1"})).spoken == ["hello"]


async def test_every_claimed_utterance_has_its_end_when_an_orchestrator_goes_under_load(tmp_path: Path) -> None:
    async with Relay(port=0) as relay, Participant(relay.url) as person:
        async with a_house(a_settings(tmp_path), relay=relay) as house:
            for number in range(60):
                house.begin(f"say {number}", {"session_id": f"n{number}"})
            await house.person.until(lambda: len(house.person.of(topics.CLAIM)) >= 20)
        async with asyncio.timeout(WITHIN):
            claims = {each.data["utterance_id"] for each in person.of(topics.CLAIM)}
            await person.until(lambda: claims <= {each.utterance_id for each in person.of(topics.HANDLED)})

    ends = [each.utterance_id for each in person.of(topics.HANDLED)]
    assert len(ends) == len(set(ends))
