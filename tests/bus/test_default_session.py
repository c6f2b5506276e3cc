"""The session `default` belongs to the device: what comes in is merged, what goes out is derived from it."""

from pathlib import Path
from typing import Any

import pytest

from tests.bus.house import House, Meta, Plugin, a_house, a_settings
from turnkeeper.bus import topics
from turnkeeper.bus.orchestrator import Orchestrator
from turnkeeper.bus.rules import STAGES

VECTORS: tuple[tuple[Any, str], ...] = (
    ({"session_id": "default", "site_id": "kitchen"}, "kitchen"),
    ({}, "kitchen"),
    (None, "kitchen"),
    ({"session_id": "default", "site_id": None}, "kitchen"),
    ({"site_id": "hall"}, "hall"),
    ({"session_id": 5}, "hall"),
)


async def test_what_the_store_holds_after_each_way_to_name_it(house: House) -> None:
    for brought, site_id in VECTORS:
        heard = await house.say("say hello", brought)

        assert (heard.session["session_id"], heard.session["site_id"]) == ("default", site_id), brought


async def test_ovos_51_every_way_to_name_it_is_merged_into_the_same_one(house: House) -> None:
    ways: list[dict[str, Any]] = [
        {"session_id": "default", "x_one": 1},
        {"x_two": 2},
        {"session_id": None, "x_three": 3},
        {"session_id": 7, "x_four": 4},
        {"session_id": "", "x_five": 5},
    ]
    for brought in ways:
        await house.say("say hello", brought)
    heard = await house.say("say hello", context={"session": None})

    assert {name: value for name, value in heard.session.items() if name.startswith("x_")} == {
        "x_one": 1,
        "x_two": 2,
        "x_three": 3,
        "x_four": 4,
        "x_five": 5,
    }


async def test_ovos_52_what_goes_out_derives_from_what_it_is_by_then(house: House) -> None:
    place = house.begin("go slow")
    await house.hears("slow.skill:go", place)

    other = await house.say("say hello", {"site_id": "attic"})
    house.skills.release.set()
    both = await house.hears_end(place, count=2)

    assert other.session["site_id"] == "attic"
    ends = [each for each in both.frames if each.type == topics.HANDLED]
    assert [each.context["session"]["site_id"] for each in ends] == ["attic", "attic"]


@pytest.mark.parametrize(
    ("text", "pipeline", "field", "value"),
    [
        ("hello", ["p-upd"], "lang", "de-DE"),
        ("say hello", ["intents"], "site_id", "hall"),
        ("set it", ["intents"], "intent_context", {"mut.skill:k": {"value": "v"}}),
    ],
)
async def test_ovos_53_what_a_round_changes_stays(
    tmp_path: Path, text: str, pipeline: list[str], field: str, value: Any
) -> None:
    def to_the_hall(context: dict[str, Any]) -> None:
        context["session"]["site_id"] = "hall"

    def in_german(session: dict[str, Any]) -> None:
        session["lang"] = "de-DE"

    def prepare(orchestrator: Orchestrator) -> None:
        orchestrator.add_plugin(Plugin("p-upd", in_german))
        orchestrator.add_transformer(Meta("t-meta", to_the_hall))

    async with a_house(a_settings(tmp_path), prepare=prepare) as house:
        await house.say(text, {"pipeline": pipeline})
        heard = await house.say("nothing", {"pipeline": ["intents"]}, lang="en-US")

    assert heard.session[field] == value


async def test_ovos_54_55_what_is_left_out_stays_and_what_is_there_replaces(house: House) -> None:
    await house.say("say hello", {"pipeline": ["stop", "intents"], "site_id": "hall"})
    heard = await house.say("say hello", {"pipeline": ["intents"]})

    assert heard.session["pipeline"] == ["intents"]
    assert heard.session["site_id"] == "hall"

    # An empty list that overrides is the same as none, one that records says that there are none.
    heard = await house.say("nothing", {"pipeline": [], "active_handlers": [], "converse_handlers": []})
    assert heard.session["pipeline"] == ["intents"]
    assert heard.session["active_handlers"] == []


async def test_ovos_56_a_restart_forgets_it(tmp_path: Path) -> None:
    settings = a_settings(tmp_path)
    async with a_house(settings) as house:
        await house.say("my name is Ada", {"site_id": "hall"})
    async with a_house(settings) as house:
        heard = await house.say("who am I")

    assert "site_id" not in heard.session
    assert heard.spoken == ["1/1: who am I"]


async def test_ovos_57_unless_it_is_kept(tmp_path: Path) -> None:
    settings = a_settings(tmp_path, device_memory="kept")
    async with a_house(settings) as house:
        await house.say("my name is Ada", {"site_id": "hall", "x_vendor": [1]})
        await house.say("ask me")
    async with a_house(settings) as house:
        answered = await house.say("Ada")
        heard = await house.say("who am I")
        await house.tell(topics.SYNC, {"session": {"site_id": "attic"}})
    async with a_house(settings) as house:
        after_a_sync = await house.say("say hello")

    assert answered.dispatch.type == "ask.skill:response"
    assert (heard.session["site_id"], heard.session["x_vendor"]) == ("hall", [1])
    assert heard.spoken == ["2/2: my name is Ada | who am I"]
    assert after_a_sync.session["site_id"] == "attic"


async def test_ovos_58_71_a_device_may_send_no_session_and_goes_on_where_it_was(house: House) -> None:
    await house.say("ask me")
    answered = await house.say("Ada")
    again = await house.say("Ada", {})

    assert answered.dispatch.type == "ask.skill:response"
    assert house.skills.answers == ["Ada"]
    assert again.dispatch.type == "rita:answer"


async def test_ovos_60_what_it_has_become_is_told_after_each_of_its_rounds(house: House) -> None:
    place = len(house.person.heard)
    heard = await house.say("say hello", {"site_id": "hall"})
    told = await house.hears(topics.UPDATE_DEFAULT, place)

    assert told.data == {"session_data": heard.session}


async def test_two_rounds_of_the_device_at_once_lose_nothing_of_each_other(house: House) -> None:
    place = house.begin("set it")
    house.begin("sync it")
    house.begin("my name is Ada")
    house.begin("I live in Rome")
    await house.hears_end(place, count=4)

    assert house.default["intent_context"].keys() == {"mut.skill:k", "sync.skill:k"}
    heard = await house.say("what do you know")
    assert heard.spoken == ["3/3: my name is Ada | I live in Rome | what do you know"]


async def test_ovos_46_the_end_carries_what_the_session_was_last(house: House) -> None:
    for text, pipeline in (("say hello", STAGES), ("boom", STAGES), ("set it", STAGES), ("nonsense", ("intents",))):
        heard = await house.say(text, {"pipeline": list(pipeline)})

        assert heard.topics.count(topics.HANDLED) == 1
        assert heard.session == house.default | {"session_id": "default"}


async def test_ovos_67_what_components_say_to_each_other_lands_later(house: House) -> None:
    """It is for whoever keeps the session to take it over: here the device, by a sync."""
    place = house.begin("go slow")
    await house.hears("slow.skill:go", place)
    await house.tell("media.position", {"at": 17}, {"session": {"session_id": "default", "x_at": 17}})
    house.skills.release.set()
    heard = await house.hears_end(place)
    assert "x_at" not in heard.session

    await house.tell(topics.SYNC, {"session": {"x_at": 17}})
    assert (await house.say("say hello")).session["x_at"] == 17


async def test_ovos_72_this_is_all_that_is_said_about_sessions(house: House) -> None:
    for text in ("say hello", "ask me", "Ada", "who is there", "sync it", "nonsense", "boom"):
        await house.say(text)
    await house.tell(topics.SYNC, {})

    about = {each.type for each in house.person.heard if each.type.startswith("ovos.session.")}
    assert about == {topics.SYNC, topics.UPDATE_DEFAULT}


async def test_ovos_28_a_word_beside_a_round_may_count_in_a_later_one(house: House) -> None:
    """Through the client that keeps the session: it may take over what it observes."""
    first = await house.say("say hello", {"session_id": "n1"})
    place = len(house.person.heard)
    await house.tell("timer.rang", {}, {"session": {**first.session, "x_timer": "rang"}})
    observed = await house.hears("timer.rang", place)

    heard = await house.say("say hello", observed.context["session"])

    assert heard.session["x_timer"] == "rang"
