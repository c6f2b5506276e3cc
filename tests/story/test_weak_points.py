"""What the original gets wrong with intents and resets, and what ours is accepted by.

The digest numbers the weak points W1 to W22 and the points of acceptance 1 to 10; each has a test here with its number
in its name, or one elsewhere that `ELSEWHERE` names.
"""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.contract.backends import PostgresBackend, SqliteBackend
from tests.guarantees import is_written
from tests.story.packed import CUSTODIES, Clerk, KeptByTheClient, KeptByTheEngine, Talk, desk, stages_of, told_by
from tests.story.scripted_model import Answer, a_model, saying_json
from turnkeeper import Principal, Settings, Turnkeeper, TurnkeeperError
from turnkeeper.model.dialogue import Dialogue
from turnkeeper.model.ids import TenantId, UserId
from turnkeeper.model.principal import Role

ROOT = Path(__file__).parents[2]
RESET = "CONVERSATION_RESET"

ELSEWHERE = {
    "w10": "tests/faults/test_kill.py::test_a_process_killed_at_a_named_write_leaves_nothing_lost_or_half_done",
    "w17": "tests/unit/test_collecting.py",
    "w22": "tests/story/test_page.py",
    "point_1": "tests/story/test_page.py",
    "point_7": "tests/unit/test_collecting_properties.py",
    "point_9": "tests/server/test_streams.py",
}


def test_every_weak_point_and_every_point_of_acceptance_has_its_test() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    numbered = {f"{kind}{number}" for kind, number in re.findall(r"(?<=_)(w|point_)(\d+)_", text)}

    wanted = {f"w{number}" for number in range(1, 23)} | {f"point_{number}" for number in range(1, 11)}

    assert wanted - numbered == ELSEWHERE.keys()
    assert [place for place in ELSEWHERE.values() if not is_written(place, ROOT)] == []


@pytest.fixture
async def clerk(keeper: Turnkeeper) -> Clerk:
    clerk = Clerk()
    keeper.agent("clerk")(clerk)
    await keeper.packs.push(desk())
    return clerk


@pytest.fixture(params=CUSTODIES, ids=lambda custody: custody.__name__)
def talk(request: pytest.FixtureRequest, keeper: Turnkeeper, clerk: Clerk) -> Talk:
    opened: Talk = request.param(keeper, clerk)
    return opened


# --- State leaks


async def test_w1_no_history_and_no_count_of_turns_survives_a_reset(talk: Talk) -> None:
    for text in ("one", "two", "book a voucher"):
        await talk.say(text)

    await talk.say("three", reset=True)
    asked = await talk.say("book a voucher")

    seen = talk.clerk.turns[-1]
    assert (seen.text, seen.history) == ("three", ())
    assert told_by(asked, "CLARIFICATION_ASKED")["attempts"] == 1


async def test_w2_point_4_what_steers_a_turn_acts_once_and_is_never_kept(talk: Talk) -> None:
    steering: dict[str, Any] = {"reset": False, "switch_flow": "yes", " resolve_intent ": 1, "tool_request": "x"}

    await talk.say("I want to book a table", params=steering)
    later = await talk.say("a voucher")

    assert (await talk.held()).params == {"tool_request": "x"}
    assert "INTENT_RESOLVE_SKIPPED_STICKY_INTENT" in stages_of(later)


async def test_w3_the_answers_of_one_form_do_not_satisfy_fields_of_the_same_name_in_another(talk: Talk) -> None:
    await talk.say("I want to book a table on friday")

    reply = await talk.say("switch to a voucher")

    assert reply.intent is not None
    assert reply.intent["missing"] == ["amount", "day"]
    assert (await talk.held()).context == {}


async def test_w3_a_schema_id_in_the_params_changes_no_form(talk: Talk) -> None:
    reply = await talk.say("I want to book a table", params={"schema_id": 2})

    assert reply.intent is not None
    assert reply.intent["missing"] == ["party_size", "day"]


async def test_w4_a_question_that_was_asked_is_closed_by_any_resolution(talk: Talk) -> None:
    await talk.say("book a voucher")

    reply = await talk.say("what are your hours")

    assert reply.text == "We open at noon."
    assert (await talk.held()).clarification is None


async def test_w5_point_5_of_a_failed_turn_nothing_is_seen_by_the_next(talk: Talk) -> None:
    await talk.say("I want to book a table for 4 people", params={"city": "Narva"})
    before = await talk.held()

    with pytest.raises(TurnkeeperError):
        await talk.say("switch intent: fail with feedback", params={"city": "Tartu"})

    assert await talk.held() == before
    reply = await talk.say("friday")
    assert reply.text == "Booked for 4 on friday."


async def test_w6_a_reset_stands_also_when_the_message_that_came_with_it_fails(
    keeper: Turnkeeper, clerk: Clerk
) -> None:
    talk = KeptByTheEngine(keeper, clerk)
    await talk.say("I want to book a table for 4 people", params={"city": "Narva"})

    with pytest.raises(TurnkeeperError) as failed:
        await talk.say("fail", reset=True, params={"city": "Tartu"})

    assert failed.value.code == "agent_failed"
    assert await talk.held() == Dialogue(params={"city": "Tartu"})
    await talk.say("hello")
    assert clerk.turns[-1].history == ()


# --- Concurrency, durability, idempotency


async def test_w7_point_6_two_devices_filling_one_form_at_once_lose_no_field(
    keeper: Turnkeeper, other_keeper: Turnkeeper, clerk: Clerk
) -> None:
    other_keeper.agent("clerk")(clerk)
    talk = KeptByTheEngine(keeper, clerk)
    await talk.say("I want to book a table")
    session = talk.session_id

    await asyncio.gather(
        keeper.chat("for 4 people", session_id=session),
        other_keeper.chat("friday", session_id=session),
        other_keeper.chat("note: by the window", session_id=session),
    )

    held = await talk.held()
    assert {**held.context, "note": None} == {"party_size": 4, "day": "friday", "note": None}
    assert held.state == "DONE"


async def test_w8_the_same_request_again_collects_nothing_twice_and_is_told_the_same(
    keeper: Turnkeeper, clerk: Clerk
) -> None:
    talk = KeptByTheEngine(keeper, clerk)
    await talk.say("hello")

    first = await talk.say("I want to book a table for 4 people", request_id="req-1")
    again = await talk.say("I want to book a table for 4 people", request_id="req-1")

    assert (again.run_id, again.turn, again.text) == (first.run_id, first.turn, first.text)
    assert again.intent == first.intent


async def test_w9_what_was_answered_is_kept_for_every_node(
    keeper: Turnkeeper, other_keeper: Turnkeeper, clerk: Clerk
) -> None:
    other_keeper.agent("clerk")(clerk)
    talk = KeptByTheEngine(keeper, clerk)
    await talk.say("I want to book a table for 4 people")

    reply = await other_keeper.chat("friday", session_id=talk.session_id)

    assert reply.text == "Booked for 4 on friday."


async def test_w11_a_session_holds_only_so_much(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings, dialogue_bytes=1_000) as keeper:
        session = (await keeper.chat("hello", params={"a": "x" * 600})).session_id

        with pytest.raises(TurnkeeperError) as refused:
            await keeper.chat("hello", session_id=session, params={"b": "x" * 600})

        assert refused.value.code == "dialogue_too_large"
        assert list((await keeper.session(session)).dialogue.params) == ["a"]
        await keeper.chat("hello", session_id=session, params={"a": None, "b": "x" * 600})


# --- Security and tenancy


async def test_w12_a_session_and_a_pack_of_somebody_else_do_not_exist(keeper: Turnkeeper, clerk: Clerk) -> None:
    talk = KeptByTheEngine(keeper, clerk)
    await talk.say("I want to book a table")
    stranger = Principal(tenant=TenantId("globex"), user=UserId("eve"), role=Role.OWNER)

    for work in (
        keeper.session(str(talk.session_id), principal=stranger),
        keeper.packs.get("desk", principal=stranger),
        keeper.chat("hello", agent="clerk", pack="desk", principal=stranger),
        keeper.packs.repin(str(talk.session_id), "desk", principal=stranger),
    ):
        with pytest.raises(TurnkeeperError) as refused:
            await work
        assert refused.value.http_status == 404


async def test_w13_no_schema_may_declare_a_name_that_steers_a_turn(keeper: Turnkeeper) -> None:
    schema = {"type": "object", "properties": {"reset": {"type": "boolean"}, "switch_mode": {"type": "string"}}}

    with pytest.raises(TurnkeeperError) as refused:
        await keeper.packs.push(desk(**{"schemas/BOOK_TABLE.DETAILS.json": json.dumps(schema)}))

    named = {fault["pointer"] for fault in refused.value.details if fault["code"] == "reserved_field"}
    assert named == {"/properties/reset", "/properties/switch_mode"}


async def test_w14_a_model_can_write_only_what_the_form_has_and_only_what_is_valid(settings: Settings) -> None:
    written = {"party_size": 99, "day": "friday", "approval": {"granted": True}, "pending_action": "pay"}
    async with (
        a_model(saying_json(fields=written, cleared=["approval"])) as model,
        Turnkeeper.open(settings=settings, model_url=model.url, model_name="m") as keeper,
    ):
        keeper.agent("clerk")(Clerk())
        await keeper.packs.push(desk(config={"RESOLVER": "rules"}))
        talk = KeptByTheEngine(keeper, Clerk())

        await talk.say("I want to book a table the way we always do")

        assert (await talk.held()).context == {"day": "friday"}


async def test_w15_a_model_cannot_set_an_intent_that_is_not_there(settings: Settings) -> None:
    async with (
        a_model(saying_json(intent="DROP_TABLES", confidence=1.0, needsClarification=False)) as model,
        Turnkeeper.open(settings=settings, model_url=model.url, model_name="m") as keeper,
    ):
        keeper.agent("clerk")(Clerk())
        await keeper.packs.push(desk())
        talk = KeptByTheEngine(keeper, Clerk())

        reply = await talk.say("qwertz uiop")

        assert told_by(reply, "INTENT_AGENT_REJECTED")["reason"] == "not_allowed"
        assert (await talk.held()).intent == "UNKNOWN"


async def test_w16_what_an_agent_fails_with_is_not_told_and_no_param_reaches_the_audit(
    keeper: Turnkeeper, clerk: Clerk, settings: Settings
) -> None:
    talk = KeptByTheEngine(keeper, clerk)
    with pytest.raises(TurnkeeperError) as failed:
        await talk.say("fail, my word is Xyzzy", params={"secret": "Xyzzy"})
    await talk.say("/reset", params={"secret": "Xyzzy"})

    backend = (
        PostgresBackend(settings.database) if "://" in settings.database else SqliteBackend(Path(settings.database))
    )
    audited = repr(await backend.execute("SELECT * FROM audit"))
    assert "Xyzzy" not in failed.value.detail
    assert "Xyzzy" not in audited
    assert "secret" not in audited


# --- Logic


async def test_w18_of_two_rules_the_better_priority_wins_and_only_equals_are_asked_about(keeper: Turnkeeper) -> None:
    keeper.agent("clerk")(Clerk())
    intents = desk()["intents/all.yaml"].replace("pattern: voucher, priority: 10", "pattern: voucher, priority: 5")
    await keeper.packs.push(desk(**{"intents/all.yaml": intents}))
    talk = KeptByTheEngine(keeper, Clerk())

    reply = await talk.say("book a voucher")

    assert reply.intent is not None
    assert reply.intent["code"] == "BUY_VOUCHER"


async def test_w18_a_phrase_is_matched_on_word_boundaries(talk: Talk) -> None:
    await talk.say("I want to book a table")

    reply = await talk.say("I want to change mode of payment for the voucher")

    assert "INTENT_RESOLVE_FORCED" not in stages_of(reply)


async def test_w19_a_pack_that_cannot_be_read_any_more_fails_the_turn_and_says_so(
    keeper: Turnkeeper, clerk: Clerk, settings: Settings
) -> None:
    talk = KeptByTheEngine(keeper, clerk, None)
    await talk.say("hello")

    with pytest.raises(TurnkeeperError) as refused:
        await keeper.chat("hello", agent="clerk", pack="desk@7.0.0")

    assert refused.value.code == "pack_not_found"


async def test_w20_a_model_is_shown_what_was_said_oldest_first(settings: Settings) -> None:
    nothing = saying_json(intent=None, confidence=0.0)
    async with (
        a_model(nothing, nothing, nothing) as model,
        Turnkeeper.open(settings=settings, model_url=model.url, model_name="m") as keeper,
    ):
        keeper.agent("clerk")(Clerk())
        await keeper.packs.push(desk())
        talk = KeptByTheEngine(keeper, Clerk())

        for text in ("first things", "second things", "third things"):
            await talk.say(text)

        shown = json.dumps(model.asked[-1].body)
        assert 0 < shown.index("first things") < shown.index("second things") < shown.index("third things")


async def test_w21_what_a_tenant_wants_otherwise_counts_from_the_next_turn_on_every_node(
    keeper: Turnkeeper, other_keeper: Turnkeeper, clerk: Clerk
) -> None:
    other_keeper.agent("clerk")(clerk)
    talk = KeptByTheEngine(keeper, clerk)
    await talk.say("I want to book a table")

    await other_keeper.packs.override("desk", "STICKY_INTENT", "off")
    reply = await talk.say("well")

    assert "INTENT_RESOLVE_SKIPPED_SCHEMA_COLLECTION" in stages_of(reply)


# --- Points of acceptance that no weak point covers


async def test_point_2_a_sticky_intent_is_left_by_a_force_signal_and_found_again(talk: Talk) -> None:
    await talk.say("I want to book a table for 4 people")
    left = await talk.say("switch to a voucher")

    back = await talk.say("switch to book a table, please")
    done = await talk.say("friday")

    assert left.intent is not None
    assert left.intent["code"] == "BUY_VOUCHER"
    assert back.intent is not None
    assert back.intent["missing"] == ["day"]
    assert done.text == "Booked for 4 on friday."


async def test_point_3_a_bare_reset_asks_nobody_and_answers_what_the_pack_says(settings: Settings) -> None:
    async with (
        a_model(Answer(status=500)) as model,
        Turnkeeper.open(settings=settings, model_url=model.url, model_name="m") as keeper,
    ):
        clerk = Clerk()
        keeper.agent("clerk")(clerk)
        await keeper.packs.push(desk(config={"RESET_REPLY": "Once more, then."}))
        talk = KeptByTheEngine(keeper, clerk)

        reply = await talk.say("restart")

        assert (reply.text, reply.turn, clerk.turns, model.asked) == ("Once more, then.", None, [], [])


async def test_point_3_two_triggers_in_one_request_reset_once(talk: Talk) -> None:
    await talk.say("hello")

    reply = await talk.say("let us begin again", reset=True, params={"restart": True, "conversation_reset": "yes"})

    assert stages_of(reply).count(RESET) == 1
    assert told_by(reply, RESET)["epoch"] == 2
    assert told_by(reply, RESET)["trigger"] == "FLAG"


async def test_point_3_a_run_that_asks_after_its_reset_does_not_reset_again_when_it_is_answered(
    keeper: Turnkeeper,
) -> None:
    @keeper.agent("curious")
    async def curious(turn: Any) -> str:
        return f"{await turn.ask('How many?')} in epoch {turn.context.epoch}"

    first = await keeper.chat("hello", agent="echo")
    asked = await keeper.chat("hello", session_id=first.session_id, agent="curious", reset=True)
    await keeper.chat("meanwhile", session_id=first.session_id, agent="echo")

    answered = await keeper.chat("four", session_id=first.session_id, answers=asked.run_id)

    assert answered.text == "four in epoch 2"
    assert (await keeper.session(first.session_id)).epoch.number == 2


async def test_point_3_a_run_that_asks_after_its_reset_goes_on_with_what_was_kept_since(keeper: Turnkeeper) -> None:
    @keeper.agent("curious")
    async def curious(turn: Any) -> str:
        turn.state["said"] = [*turn.state.get("said", []), turn.text]
        answer = await turn.ask("How many?") if "table" in turn.text else "none"
        return f"{answer} of {turn.state['said']}"

    first = await keeper.chat("hello", agent="curious")
    asked = await keeper.chat("a table", session_id=first.session_id, reset=True)
    await keeper.chat("meanwhile", session_id=first.session_id)

    answered = await keeper.chat("four", session_id=first.session_id, answers=asked.run_id)

    assert answered.text == "four of ['meanwhile', 'a table']"


async def test_point_8_a_question_is_asked_so_often_and_then_no_more(talk: Talk) -> None:
    await talk.say("book a voucher")
    again = await talk.say("qwertz")

    given_up = await talk.say("qwertz")

    assert again.text == "Did you mean Book a table or Buy a voucher?"
    assert given_up.text == "Agent: qwertz"
    assert (await talk.held()).clarification is None


async def test_point_8_a_question_that_nobody_answers_expires(talk: Talk) -> None:
    await talk.keeper.packs.override("desk", "CLARIFICATION_ATTEMPTS", 50)  # type: ignore[attr-defined]
    await talk.keeper.packs.override("desk", "CLARIFICATION_TURNS", 1)  # type: ignore[attr-defined]
    await talk.say("book a voucher")

    again = await talk.say("qwertz")
    expired = await talk.say("qwertz")

    assert again.text == "Did you mean Book a table or Buy a voucher?"
    assert told_by(expired, "CLARIFICATION_EXPIRED") == {"asked_at_turn": 1, "attempts": 2}
    assert expired.text == "Agent: qwertz"


async def test_point_8_a_question_in_other_words_counts_as_the_same(talk: Talk) -> None:
    texts = [(await talk.say("hello again")).text for _ in range(3)]

    assert texts == ["Did you mean Begin again?", "Did you mean Begin again?", "Agent: hello again"]


async def test_point_8_what_was_said_first_is_acted_upon_when_it_is_clear(talk: Talk) -> None:
    await talk.say("book a voucher on friday")

    await talk.say("the first one")

    held = await talk.held()
    assert (held.intent, held.context) == ("BOOK_TABLE", {"day": "friday"})


async def test_point_8_none_of_the_options_closes_the_question(talk: Talk) -> None:
    await talk.say("book a voucher")

    reply = await talk.say("none of these")

    assert told_by(reply, "CLARIFICATION_ANSWERED") == {"chosen": None}
    assert (await talk.held()).clarification is None


async def test_point_10_without_a_model_everything_works_and_with_one_that_fails_too(settings: Settings) -> None:
    async with (
        a_model(*[Answer(status=400, body=b"{}")] * 8) as model,
        Turnkeeper.open(settings=settings, model_url=model.url, model_name="m") as keeper,
    ):
        keeper.agent("clerk")(Clerk())
        await keeper.packs.push(desk(config={"RESOLVER": "model"}))
        talk = KeptByTheEngine(keeper, Clerk())

        reply = await talk.say("I want to book a table for 4 people on friday")

        assert reply.text == "Booked for 4 on friday."
        assert {"INTENT_AGENT_REJECTED", "INTENT_RESOLVED_BY_CLASSIFIER"} <= set(stages_of(reply))


# --- What we found ourselves


async def test_a_message_that_only_sounds_like_a_reset_is_asked_about_and_loses_nothing(talk: Talk) -> None:
    await talk.say("hello", params={"city": "Narva"})

    asked = await talk.say("hello again")
    kept = await talk.held()
    done = await talk.say("yes")

    assert asked.text == "Did you mean Begin again?"
    assert kept.params == {"city": "Narva"}
    assert told_by(done, RESET)["matched"] == "RESET_SESSION"


async def test_a_form_is_filled_from_the_params_of_its_own_request_and_from_no_earlier_ones(talk: Talk) -> None:
    await talk.say("hello", params={"day": "monday"})
    begun = await talk.say("I want to book a table", params={"note": "by the window", "party_size": 4})

    cleared = await talk.say("clear the note")
    held = await talk.held()

    assert begun.intent is not None
    assert begun.intent["missing"] == ["day"]
    assert cleared.intent is not None
    assert held.context == {"party_size": 4}
    assert held.params == {"day": "monday", "note": "by the window", "party_size": 4}


async def test_coming_back_to_a_form_says_so(talk: Talk) -> None:
    await talk.say("I want to book a table for 4 people")
    await talk.say("switch to a voucher")

    back = await talk.say("switch to book a table")

    assert back.text.startswith("Book a table: let's go on.")


async def test_an_intent_that_is_done_begins_anew_when_it_is_asked_for_again(talk: Talk) -> None:
    await talk.say("I want to book a table for 4 people on friday")

    again = await talk.say("I want to book a table")

    assert again.intent is not None
    assert (again.intent["state"], again.intent["missing"]) == ("DETAILS", ["party_size", "day"])


async def test_a_client_that_asks_for_another_pack_than_it_carries_is_refused(keeper: Turnkeeper, clerk: Clerk) -> None:
    await keeper.packs.push(desk("2.0.0"))
    talk = KeptByTheClient(keeper, clerk, "desk@1.0.0")
    await talk.say("hello")
    talk.pack = "desk@2.0.0"

    with pytest.raises(TurnkeeperError) as refused:
        await talk.say("hello")

    assert refused.value.code == "pack_version_mismatch"
