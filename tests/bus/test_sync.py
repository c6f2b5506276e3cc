"""What somebody says about a session outside of a round: `ovos.session.sync`."""

import pytest

from tests.bus.house import LIFECYCLE, House
from turnkeeper.bus import topics


async def test_ovos_31_33_what_is_synced_replaces_field_by_field(house: House) -> None:
    await house.say("say hello", {"site_id": "hall", "lang": "en-US"})

    ambient = {"session": {"session_id": "default", "site_id": "not this one"}}
    await house.tell(topics.SYNC, {"session": {"lang": "de-DE"}}, ambient)
    heard = await house.say("say hello", lang="en-US")

    assert heard.session["lang"] == "de-DE"
    assert heard.session["site_id"] == "hall"


async def test_ovos_32_a_sync_without_a_session_changes_nothing(house: House) -> None:
    await house.say("say hello", {"site_id": "hall"})
    before = house.default

    for junk in ([1], "x", 5, True):
        await house.tell(topics.SYNC, {"session": junk}, {"session": {"session_id": "default"}})
    place = len(house.person.heard)
    await house.tell(topics.SYNC, {}, {"session": {"session_id": "default", "site_id": "stray"}, "source": "old"})

    told = await house.hears(topics.UPDATE_DEFAULT, place)
    assert told.data["session_data"]["site_id"] == "hall"
    assert told.context["destination"] == "old"
    assert house.default == before


async def test_ovos_34_36_a_sync_is_no_round(house: House) -> None:
    place = len(house.person.heard)

    await house.tell(topics.SYNC, {"session": {"site_id": "hall"}})

    said = [each.type for each in house.person.heard[place:]]
    assert not {*LIFECYCLE, topics.HANDLED} & {*said}
    assert house.default == {"session_id": "default", "site_id": "hall"}


async def test_ovos_30_35_a_handler_syncs_in_the_direction_of_whoever_asked(house: House) -> None:
    heard = await house.say("sync it", {"session_id": "n1"}, context={"source": "sat-1", "destination": "hub"})

    synced = heard.one(topics.SYNC)
    assert {name: value for name, value in synced.context.items() if name != "session"} == {
        name: value for name, value in heard.dispatch.context.items() if name != "session"
    }
    assert (synced.context["source"], synced.context["destination"]) == ("hub", "sat-1")
    assert synced.data == {"session": {"intent_context": {"sync.skill:k": {"value": "v"}}}}
    for topic in (topics.COMPLETE, topics.HANDLED):
        assert heard.one(topic).context["session"]["intent_context"] == {"sync.skill:k": {"value": "v"}}


async def test_ovos_37_38_an_ordinary_conversation_syncs_nothing(house: House) -> None:
    session = {"session_id": "n1"}
    for text in ("say hello", "ask me", "Ada", "who is there", "set it", "boom"):
        heard = await house.say(text, session)
        session = heard.session

    assert house.person.of(topics.SYNC) == []


@pytest.mark.parametrize("id", ["n2", "default"])
async def test_ovos_39_41_a_sync_in_a_round_shows_from_then_on(house: House, id: str) -> None:
    place = house.begin("go slow", {"session_id": id, "site_id": "hall"})
    await house.hears("slow.skill:go", place)

    await house.tell(topics.SYNC, {"session": {"lang": "de-DE"}}, {"session": {"session_id": id}})
    house.skills.release.set()
    heard = await house.hears_end(place)

    assert "lang" not in heard.one(topics.START).context["session"]
    for topic in (topics.COMPLETE, topics.HANDLED):
        assert heard.one(topic).context["session"]["lang"] == "de-DE"
        assert heard.one(topic).context["session"]["site_id"] == "hall"


async def test_what_a_sync_changed_a_handler_that_did_not_know_of_it_does_not_undo(house: House) -> None:
    place = house.begin("go slow", {"session_id": "n2", "lang": "fr-FR"}, lang="en-US")
    await house.hears("slow.skill:go", place)
    await house.tell(topics.SYNC, {"session": {"lang": "de-DE"}}, {"session": {"session_id": "n2"}})

    house.skills.release.set()
    heard = await house.hears_end(place)

    assert heard.spoken == ["at last"]
    assert heard.session["lang"] == "de-DE"


async def test_ovos_40_of_a_named_session_with_no_round_on_nothing_is_remembered(house: House) -> None:
    await house.tell(topics.SYNC, {"session": {"lang": "de-DE"}}, {"session": {"session_id": "n3"}})

    heard = await house.say("say hello", {"session_id": "n3"})

    assert "lang" not in heard.session
    assert house.default == {}


async def test_an_entry_of_the_context_is_merged_alone_and_null_takes_it_away(house: House) -> None:
    context = {"a": {"value": "1"}, "b": {"value": "2"}}
    await house.say("say hello", {"intent_context": context})

    await house.tell(topics.SYNC, {"session": {"intent_context": {"a": None, "c": {"value": "3"}}}})

    assert house.default["intent_context"] == {"b": {"value": "2"}, "c": {"value": "3"}}
