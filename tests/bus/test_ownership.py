"""A named session is its client's: what a round begins with is what the message brought, and nothing else."""

import gc
import weakref
from pathlib import Path
from typing import Any

from tests.bus.house import House, Meta, Plugin, a_house, a_settings, only
from turnkeeper.bus import topics
from turnkeeper.bus.orchestrator import Orchestrator
from turnkeeper.bus.plugins import KnownIntent, Match, Utterance
from turnkeeper.bus.relay import Relay
from turnkeeper.bus.rules import BusRules
from turnkeeper.bus.working import Working


async def test_ovos_03_63_nothing_of_a_named_session_is_known_in_its_next_round(house: House) -> None:
    await house.say("set it", {"session_id": "n1", "lang": "fr-FR"}, lang="en-US")

    heard = await house.say("say hello", {"session_id": "n1"})

    session = heard.one(topics.UTTERANCE).context["session"]
    assert session == {"session_id": "n1"}
    dispatched = heard.dispatch.context["session"]
    assert dispatched.keys() == {"session_id", "active_handlers", "converse_handlers"}
    assert [each["skill_id"] for each in dispatched["active_handlers"]] == ["echo.skill"]


async def test_ovos_04_what_came_in_goes_out_on_every_frame(house: House) -> None:
    heard = await house.say("say hello", {"session_id": "n1", "site_id": "x", "pipeline": only("stop")})

    for frame in heard.frames:
        assert frame.context["session"]["site_id"] == "x"
        assert frame.context["session"]["pipeline"] == ["stop", "intents"]


async def test_ovos_05_a_session_changes_at_boundaries_alone(tmp_path: Path) -> None:
    def move(context: dict[str, Any]) -> None:
        context["session"]["site_id"] = "hall"

    async with a_house(a_settings(tmp_path), prepare=lambda each: each.add_transformer(Meta("t", move))) as house:
        heard = await house.say("set it", {"session_id": "n1"})

    changes = []
    for before, after in zip(heard.frames, heard.frames[1:], strict=False):
        one, other = before.context["session"], after.context["session"]
        changed = {name for name in {*one, *other} if one.get(name) != other.get(name)}
        if changed:
            changes.append((after.type, changed))
    assert changes == [
        # The transformer and the match, both of which come before anything is said, and then the handler.
        (topics.MATCHED, {"site_id", "active_handlers", "converse_handlers"}),
        (topics.SPEAK, {"intent_context"}),
    ]


async def test_ovos_06_what_a_round_held_is_gone_with_it(tmp_path: Path, monkeypatch: Any) -> None:
    seen: list[weakref.ref[Working]] = []
    made = Working.__init__

    def watched(self: Working, *args: Any) -> None:
        made(self, *args)
        seen.append(weakref.ref(self))

    monkeypatch.setattr(Working, "__init__", watched)
    async with a_house(a_settings(tmp_path)) as house:
        for number in range(20):
            await house.say("say hello", {"session_id": f"n{number}"})
        await house.settled()
        house.skills.stashed.clear()
        gc.collect()

        assert len(seen) >= 20
        assert [each() for each in seen if each() is not None and each().id != "default"] == []  # type: ignore[union-attr]


async def test_ovos_07_who_stashes_a_session_finds_nothing_of_the_next_round_in_it(house: House) -> None:
    await house.say("say one", {"session_id": "n1", "site_id": "hall"})
    stashed = house.skills.stashed[0]

    stashed["site_id"] = "cellar"
    heard = await house.say("say two", {"session_id": "n1", "lang": "de-DE"}, lang="en-US")

    assert "lang" not in stashed
    assert "site_id" not in heard.session
    assert heard.session["lang"] == "de-DE"


async def test_ovos_08_any_orchestrator_serves_any_round_of_a_named_session(tmp_path: Path) -> None:
    """A question is asked by one, and its answer understood by another that never heard of it."""
    async with a_house(a_settings(tmp_path)) as first:
        asked = await first.say("ask me", {"session_id": "n1"})
    (tmp_path / "other").mkdir()
    async with a_house(a_settings(tmp_path / "other")) as second:
        answered = await second.say("Ada", asked.session)

        assert answered.dispatch.type == "ask.skill:response"
        assert second.skills.answers == ["Ada"]
        assert "response_mode" not in answered.session


async def test_ovos_10_what_plugins_know_travels_with_the_session(tmp_path: Path) -> None:
    """Context, who converses, and the conversation with an agent: all of it survives a restart with the client."""
    settings = a_settings(tmp_path)
    async with a_house(settings) as house:
        first = await house.say("my name is Ada", {"session_id": "n1"})
        second = await house.say("set it", first.session)
    async with a_house(settings) as house:
        third = await house.say("who am I", second.session)

    assert third.spoken == ["2/2: my name is Ada | who am I"]
    assert third.session["intent_context"] == {"mut.skill:k": {"value": "v"}}
    assert [each["skill_id"] for each in third.session["converse_handlers"]] == ["rita", "mut.skill"]


class Counting:
    """A plugin that counts by itself, and forgets the oldest session when there are too many."""

    pipeline_id = "counting"

    def __init__(self, most: int = 8) -> None:
        self.most = most
        self.counts: dict[str, int] = {}

    async def match(self, utterance: Utterance) -> Match | None:
        id = utterance.session["session_id"]
        self.counts[id] = self.counts.pop(id, 0) + 1
        while len(self.counts) > self.most:
            del self.counts[next(iter(self.counts))]
        slots = {"what": str(self.counts[id])}
        return Match(skill_id="echo.skill", intent_name="say", lang="en-US", utterance=utterance.first, slots=slots)

    def intents(self) -> list[KnownIntent]:
        return []


async def test_ovos_11_12_13_14_50_a_plugin_may_keep_its_own_count_and_lose_it(tmp_path: Path) -> None:
    counting = Counting()
    async with a_house(a_settings(tmp_path), prepare=lambda each: each.add_plugin(counting)) as house:
        session = {"session_id": "n1", "pipeline": ["counting"]}
        assert (await house.say("count", session)).spoken == ["1"]
        assert (await house.say("count", session)).spoken == ["2"]

        for number in range(20):
            await house.say("count", {"session_id": f"other-{number}", "pipeline": ["counting"]})
        assert len(counting.counts) == 8

        counting.counts.clear()
        heard = await house.say("count", session)
        assert heard.spoken == ["1"]
        assert heard.topics.count(topics.HANDLED) == 1


async def test_ovos_17_no_id_and_no_session_is_refused(house: House) -> None:
    ids = ("Küche ☕ \u0000 \u202e", "x" * 100_000, "'; drop table runs; --", " ", "DEFAULT")
    for id in ids:
        heard = await house.say("say hello", {"session_id": id})
        assert heard.session["session_id"] == id
        assert heard.spoken == ["hello"]
        assert (await house.say("who is it", {"session_id": id})).spoken == ["1/1: who is it"]

    large = {
        "session_id": "n1",
        "x_blob": "b" * 1_000_000,
        "active_handlers": [{"skill_id": "nobody.skill", "activated_at": 1.0}],
        "response_mode": {"skill_id": "nobody.skill", "expires_at": 9e12},
    }
    heard = await house.say("say hello", large)
    assert heard.spoken == ["hello"]
    assert heard.session["x_blob"] == large["x_blob"]


async def test_ovos_65_nothing_is_asked_for_before_the_first_utterance(house: House) -> None:
    heard = await house.say("say hello", {"session_id": "never-seen"})

    assert heard.topics[0] == topics.UTTERANCE
    assert heard.topics[-1] == topics.HANDLED
    assert heard.spoken == ["hello"]


async def test_ovos_44_every_frame_of_a_round_carries_its_session(house: House) -> None:
    for session in ({"session_id": "n1", "lang": None, "site_id": 5}, None):
        heard = await house.say("ask me", session)

        for frame in heard.frames[1:]:
            carried = frame.context["session"]
            assert carried["session_id"] == ("n1" if session else "default")
            assert None not in carried.values()


async def test_ovos_48_a_session_from_years_ago_is_served_at_once(house: House) -> None:
    old = {
        "session_id": "n1",
        "intent_context": {"old": {"value": "v", "expires_at": 1.0}, "kept": {"value": "v"}},
        "converse_handlers": [{"skill_id": "ask.skill", "activated_at": 1.0}],
        "response_mode": {"skill_id": "ask.skill", "expires_at": 2.0},
    }

    heard = await house.say("say hello", old)

    assert heard.dispatch.type == "echo.skill:say"
    assert heard.session["intent_context"] == {"kept": {"value": "v"}}


async def test_ovos_49_resuming_goes_field_by_field(house: House) -> None:
    first = await house.say("set it", {"session_id": "n1", "site_id": "hall", "x_vendor": [1]})
    without = {name: value for name, value in first.session.items() if name != "intent_context"}

    heard = await house.say("say hello", without)

    assert "intent_context" not in heard.session
    assert heard.session["site_id"] == "hall"
    assert heard.session["x_vendor"] == [1]
    assert [each["skill_id"] for each in heard.session["active_handlers"]] == ["echo.skill", "mut.skill"]


async def test_ovos_64_what_nobody_knows_is_on_every_frame_of_a_round(house: House) -> None:
    vendor = {"deep": [{"er": None, "Ä": 1.5}], "": "empty name"}
    phrases = ("say hello", "set it", "sync it", "boom", "ask me", "who knows", "leave me")
    for name, session in (("n1", {"session_id": "n1"}), ("default", {})):
        for text in phrases:
            heard = await house.say(text, {**session, "x_vendor": vendor, "turnkeeper_like": True})
            for frame in heard.frames:
                assert frame.context["session"]["x_vendor"] == vendor, (name, text, frame.type)
                assert frame.context["session"]["turnkeeper_like"] is True


async def test_ovos_66_a_plugin_obeys_what_the_message_says_now(house: House) -> None:
    asked = await house.say("ask me", {"session_id": "n1"})
    edited = {name: value for name, value in asked.session.items() if name != "response_mode"}

    heard = await house.say("say hello", edited)

    assert heard.dispatch.type == "echo.skill:say"
    assert house.skills.answers == []


async def test_ovos_59_named_continuity_is_the_clients(house: House) -> None:
    await house.say("ask me", {"session_id": "n1"})

    heard = await house.say("Ada", {"session_id": "n1"})

    assert heard.dispatch.type == "rita:answer"
    assert house.skills.answers == []


async def test_ovos_70_each_round_by_another_orchestrator_is_one_conversation(tmp_path: Path) -> None:
    session: dict[str, Any] = {"session_id": "n1"}
    spoken: list[str] = []
    async with Relay(port=0) as relay:
        for number, text in enumerate(("my name is Ada", "ask me", "Ada", "and now")):
            folder = tmp_path / str(number)
            folder.mkdir()
            async with a_house(a_settings(folder), relay=relay) as house:
                heard = await house.say(text, session)
                session, spoken = heard.session, [*spoken, *heard.spoken]

    assert spoken == [
        "1/1: my name is Ada",
        "what is your name?",
        "hello Ada",
        "2/2: my name is Ada | and now",
    ]


async def test_the_ledger_is_not_read_to_serve_a_named_session(tmp_path: Path) -> None:
    settings = a_settings(tmp_path)
    async with a_house(settings) as house:
        first = await house.say("my name is Ada", {"session_id": "n1"})
    for each in tmp_path.glob("house.db*"):
        each.unlink()
    async with a_house(settings) as house:
        second = await house.say("who am I", first.session)

    assert second.spoken == ["2/2: my name is Ada | who am I"]


async def test_ovos_73_what_is_out_of_scope_is_not_asked_for(house: House) -> None:
    """Two clients that share an id race, and neither is told so; nobody signs in, starts or ends a session."""
    place = house.begin("say one", {"session_id": "shared", "site_id": "a"})
    house.begin("say two", {"session_id": "shared", "site_id": "b"})

    both = await house.hears_end(place, count=2)

    ends = [each.context["session"]["site_id"] for each in both.frames if each.type == topics.HANDLED]
    assert sorted(ends) == ["a", "b"]


async def test_ovos_09_the_device_remembers_its_own_session(house: House) -> None:
    await house.say("say hello", {"session_id": "default", "site_id": "kitchen"})

    heard = await house.say("say hello")

    assert heard.session["site_id"] == "kitchen"
    assert heard.session["session_id"] == "default"


async def test_a_plugin_that_fails_again_and_again_is_left_alone(tmp_path: Path) -> None:
    def fail(session: dict[str, Any]) -> None:
        raise RuntimeError("broken")

    broken = Plugin("broken", fail)

    def prepare(orchestrator: Orchestrator) -> None:
        orchestrator.add_plugin(broken)

    async with a_house(a_settings(tmp_path), prepare=prepare) as house:
        for _ in range(8):
            heard = await house.say("say hello", {"session_id": "n1", "pipeline": only("broken")})
            assert heard.spoken == ["hello"]

    assert broken.asked == 5


async def test_more_rounds_at_once_than_there_may_be_end_at_once(tmp_path: Path) -> None:
    async with a_house(a_settings(tmp_path), rules=BusRules(owner_seconds=0.02, rounds=2)) as house:
        place = house.begin("go slow", {"session_id": "n1"})
        house.begin("go slow", {"session_id": "n2"})
        third = await house.say("say hello", {"session_id": "n3"})
        house.skills.release.set()
        await house.hears_end(place, count=3)

    assert [topic for topic in third.topics if topic in (topics.UNMATCHED, topics.HANDLED)] == [
        topics.UNMATCHED,
        topics.HANDLED,
    ]
