"""A round has one end, on every path that leads there."""

from pathlib import Path

from tests.bus.house import House, Meta, a_house, a_settings, only
from tests.bus.wire import Participant
from turnkeeper.bus import topics
from turnkeeper.bus.message import Message
from turnkeeper.bus.relay import Relay
from turnkeeper.bus.rules import STAGES, BusRules


def called_off(context: dict[str, object]) -> None:
    context |= {"canceled": True, "cancel_reason": "stop_word"}


async def test_a_round_that_completes(house: House) -> None:
    heard = await house.say("say hello", {"session_id": "n1"})

    assert heard.topics == [
        topics.UTTERANCE,
        topics.MATCHED,
        topics.START,
        "echo.skill:say",
        topics.SPEAK,
        topics.COMPLETE,
        topics.HANDLED,
    ]
    assert heard.one(topics.MATCHED).data == {
        "skill_id": "echo.skill",
        "intent_name": "say",
        "lang": "en-US",
        "utterance": "say hello",
        "slots": {"what": "hello"},
        "pipeline_id": "intents",
    }
    assert heard.dispatch.data == {"lang": "en-US", "utterance": "say hello", "slots": {"what": "hello"}}
    assert heard.one(topics.COMPLETE).data == {"skill_id": "echo.skill", "intent_name": "say"}


async def test_a_round_whose_handler_raises(house: House) -> None:
    heard = await house.say("boom", {"session_id": "n1"})

    assert heard.topics == [
        topics.UTTERANCE,
        topics.MATCHED,
        topics.START,
        "boom.skill:go",
        topics.ERROR,
        topics.HANDLED,
    ]
    assert heard.one(topics.ERROR).data == {
        "skill_id": "boom.skill",
        "intent_name": "go",
        "exception": "RuntimeError: boom",
    }


async def test_a_round_whose_handler_takes_too_long(tmp_path: Path) -> None:
    async with a_house(a_settings(tmp_path), rules=BusRules(owner_seconds=0.02, handler_seconds=0.05)) as house:
        heard = await house.say("go slow", {"session_id": "n1"})

    assert heard.topics == [
        topics.UTTERANCE,
        topics.MATCHED,
        topics.START,
        "slow.skill:go",
        topics.ERROR,
        topics.HANDLED,
    ]
    assert heard.one(topics.ERROR).data["exception"] == "timeout: not through after 0.05 seconds"


async def test_a_round_that_nobody_matches(house: House) -> None:
    heard = await house.say("colourless green ideas", {"session_id": "n1", "pipeline": ["intents"]})

    assert heard.topics == [topics.UTTERANCE, topics.UNMATCHED, topics.HANDLED]


async def test_a_round_that_a_transformer_calls_off(tmp_path: Path) -> None:
    off = Meta("t-off", called_off)
    async with a_house(a_settings(tmp_path), prepare=lambda each: each.add_transformer(off)) as house:
        heard = await house.say("say hello", {"session_id": "n1"})

    assert heard.topics == [topics.UTTERANCE, topics.CANCELLED, topics.HANDLED]
    assert heard.one(topics.CANCELLED).data == {"cancel_reason": "stop_word", "cancel_by": "t-off"}


async def test_an_empty_utterance_is_asked_of_nobody(house: House) -> None:
    for said in ([], ["  "], [""]):
        heard = await house.say(said, {"session_id": "n1"})

        assert heard.topics == [topics.UTTERANCE, topics.UNMATCHED, topics.HANDLED]


async def test_a_handler_in_another_process_says_when_it_is_through(house: House) -> None:
    def answers(message: Message) -> list[Message]:
        if message.type != "far.skill:go":
            return []
        changed = {**message.context["session"], "site_id": "moon"}
        return [
            message.forward(topics.SPEAK, {"utterance": "from afar"}).carrying(changed),
            message.forward(topics.DONE, {"name": "far"}),
        ]

    async with Participant(house.relay.url, answers):
        heard = await house.say("far away", {"session_id": "n1", "x_vendor": 7})

    assert heard.spoken == ["from afar"]
    assert heard.topics[-2:] == [topics.COMPLETE, topics.HANDLED]
    assert heard.session["site_id"] == "moon"
    assert heard.session["x_vendor"] == 7


async def test_a_handler_in_another_process_says_what_it_stumbled_over(house: House) -> None:
    def answers(message: Message) -> list[Message]:
        if message.type != "far.skill:go":
            return []
        # An old framework may lose the utterance id on its way; its session and skill still tell.
        done = message.forward(topics.FAILED, {"name": "far", "exception": "no air"})
        del done.context["utterance_id"]
        return [done]

    async with Participant(house.relay.url, answers):
        heard = await house.say("far away", {"session_id": "n1"})

    assert heard.one(topics.ERROR).data["exception"] == "no air"


async def test_an_utterance_with_a_malformed_carrier_is_rejected_and_ends(tmp_path: Path) -> None:
    async with Relay(port=0) as relay, a_house(a_settings(tmp_path), relay=relay) as house:
        heard = await house.say("say hello", ["no", "object"], context={"utterance_id": "mine"})

        assert heard.topics == [topics.UTTERANCE, topics.REJECTED, topics.HANDLED]
        assert heard.one(topics.REJECTED).data == {"msg_type": topics.UTTERANCE, "reason": "malformed_carrier"}
        assert heard.one(topics.REJECTED).context == {"utterance_id": "mine"}
        assert "session" not in heard.one(topics.HANDLED).context
        assert house.default == {}


async def test_rounds_nest_and_each_has_its_own_end(house: House) -> None:
    outer = house.begin("go slow", {"session_id": "n1"})
    await house.hears("slow.skill:go", outer)

    inner = await house.say("say hello", {"session_id": "n1"})
    house.skills.release.set()
    both = await house.hears_end(outer, count=2)

    ids = [each.utterance_id for each in both.frames if each.type == topics.HANDLED]
    assert len(set(ids)) == 2
    assert inner.one(topics.HANDLED).utterance_id == ids[0]


async def test_a_round_is_a_run_with_an_explanation(house: House) -> None:
    told = []
    for text, stages in (("boom", STAGES), ("say hello", STAGES), ("what was that", STAGES), ("nonsense", only())):
        heard = await house.say(text, {"session_id": "n1", "pipeline": list(stages)})
        run_id = heard.one(topics.HANDLED).data["run_id"]
        run = await house.keeper.run(run_id, principal=house.orchestrator.principal)
        explanation = await house.keeper.explanation(run_id, principal=house.orchestrator.principal)
        assert explanation is not None
        names = [stage.name for stage in explanation.stages]
        told.append((run.agent, run.status.value, run.error.code if run.error else None, "BUS_ASKED" in names))
    assert told == [
        ("bus", "failed", "handler_failed", True),
        ("bus", "completed", None, True),
        ("rita", "completed", None, True),
        ("bus", "failed", "utterance_unmatched", True),
    ]


async def test_rounds_that_are_on_when_their_orchestrator_goes_have_their_end(tmp_path: Path) -> None:
    async with Relay(port=0) as relay, Participant(relay.url) as person:
        async with a_house(a_settings(tmp_path), relay=relay) as house:
            place = house.begin("go slow", {"session_id": "n1"})
            await house.hears("slow.skill:go", place)
            # One that is claimed, and has hardly begun.
            claims = len(house.person.of(topics.CLAIM))
            house.begin("go slow", {"session_id": "n2"})
            await house.person.until(lambda: len(house.person.of(topics.CLAIM)) > claims)
        await person.hears(topics.HANDLED, 2)

    ended = {each.context["session"]["session_id"] for each in person.of(topics.HANDLED)}
    assert ended == {"n1", "n2"}
    assert person.of(topics.ERROR)[0].data["exception"] == "stopped"
    first = [each.type for each in person.heard if each.type in (topics.ERROR, topics.HANDLED)]
    assert first[0] == topics.ERROR
