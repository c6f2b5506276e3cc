"""What a second look at intents, forms and resets has found: each was wrong once."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.eventually import eventually
from tests.story.packed import Clerk, KeptByTheClient, KeptByTheEngine, desk, stages_of, told_by
from tests.story.scripted_model import a_model, saying_json
from turnkeeper import AgentTurn, Principal, Settings, Turnkeeper, TurnkeeperError
from turnkeeper.model.dialogue import Dialogue
from turnkeeper.model.ids import TenantId, UserId

RESET = "CONVERSATION_RESET"
CONFIRMING = desk()["intents/all.yaml"].replace("[DETAILS, DONE]", "[DETAILS, {code: CONFIRM, confirm: true}, DONE]", 1)


@pytest.fixture
async def clerk(keeper: Turnkeeper) -> Clerk:
    clerk = Clerk()
    keeper.agent("clerk")(clerk)
    return clerk


@pytest.fixture
async def confirming(keeper: Turnkeeper, clerk: Clerk) -> KeptByTheEngine:
    """A booking that waits for a yes."""
    await keeper.packs.push(desk(**{"intents/all.yaml": CONFIRMING}))
    talk = KeptByTheEngine(keeper, clerk)
    await talk.say("I want to book a table for 4 people on friday")
    return talk


@pytest.fixture
async def talk(keeper: Turnkeeper, clerk: Clerk) -> KeptByTheEngine:
    await keeper.packs.push(desk())
    return KeptByTheEngine(keeper, clerk)


async def test_a_yes_to_a_question_back_is_none_to_the_form(confirming: KeptByTheEngine) -> None:
    asked = await confirming.say("hello again")

    answered = await confirming.say("yes")

    assert asked.text == "Did you mean Begin again?"
    assert RESET in stages_of(answered)


async def test_a_no_to_a_question_back_is_no_answer_to_the_form(confirming: KeptByTheEngine) -> None:
    await confirming.say("hello again")

    answered = await confirming.say("no")

    held = await confirming.held()
    assert told_by(answered, "CLARIFICATION_ANSWERED") == {"chosen": None}
    assert (held.state, held.context) == ("CONFIRM", {"party_size": 4, "day": "friday"})
    assert "Shall I go ahead?" in answered.text


async def test_a_force_signal_comes_before_a_correction_and_behind_a_yes(confirming: KeptByTheEngine) -> None:
    forced = await confirming.say("change the day to monday, switch to a voucher")

    assert forced.intent is not None
    assert forced.intent["code"] == "BUY_VOUCHER"
    await confirming.say("switch to book a table")
    confirmed = await confirming.say("yes", params={"switch_intent": True})
    assert confirmed.text == "Booked for 4 on friday."


async def test_a_yes_to_a_form_that_lacks_something_now_asks_for_it(
    keeper: Turnkeeper, confirming: KeptByTheEngine
) -> None:
    required = '"required": ["party_size", "day"]'
    schema = desk()["schemas/BOOK_TABLE.DETAILS.json"].replace(required, '"required": ["note"]')
    await keeper.packs.push(
        desk("1.1.0", **{"intents/all.yaml": CONFIRMING, "schemas/BOOK_TABLE.DETAILS.json": schema})
    )
    await keeper.packs.repin(str(confirming.session_id), "desk@1.1.0")

    reply = await confirming.say("yes")

    assert reply.intent == {"code": "BOOK_TABLE", "state": "DETAILS", "locked": True, "missing": ["note"]}


async def test_a_run_that_was_answered_goes_on_with_what_it_had_understood(talk: KeptByTheEngine) -> None:
    seen: list[AgentTurn] = []

    @talk.keeper.agent("curious")
    async def curious(turn: AgentTurn) -> str:
        stars = await turn.ask("How many stars?")
        seen.append(turn)
        return f"{stars} stars"

    asked = await talk.say("I have feedback for 4 people", params={"city": "Narva"}, agent="curious")
    await talk.say("I want to book a table")

    answered = await talk.say("five", answers=asked.run_id)

    held = await talk.held()
    assert answered.text == "five stars"
    assert seen[0].intent is not None
    assert (seen[0].intent.code, seen[0].intent.hint, seen[0].params) == ("FEEDBACK", "Thank them.", {"city": "Narva"})
    assert (held.intent, held.context) == ("BOOK_TABLE", {})


async def test_a_run_that_was_answered_at_once_keeps_what_it_had_understood(talk: KeptByTheEngine) -> None:
    @talk.keeper.agent("curious")
    async def curious(turn: AgentTurn) -> str:
        return f"{await turn.ask('How many stars?')} stars"

    asked = await talk.say("I have feedback", params={"city": "Narva"}, agent="curious")

    await talk.say("five", answers=asked.run_id)

    held = await talk.held()
    assert (held.intent, held.params) == ("FEEDBACK", {"city": "Narva"})


async def test_what_an_agent_was_answered_may_stand_in_its_state(keeper: Turnkeeper) -> None:
    @keeper.agent("curious")
    async def curious(turn: AgentTurn) -> str:
        turn.state["stars"] = await turn.ask("How many stars?")
        return "Thanks."

    asked = await keeper.chat("hello", agent="curious")

    reply = await keeper.chat("five", session_id=asked.session_id, answers=asked.run_id)

    assert reply.text == "Thanks."


async def test_a_model_cannot_skip_a_form_by_naming_its_last_state(settings: Settings) -> None:
    skipping = saying_json(intent="BOOK_TABLE", confidence=0.95, state="DONE")
    async with (
        a_model(skipping, saying_json(fields={}, cleared=[])) as model,
        Turnkeeper.open(settings=settings, model_url=model.url, model_name="m") as keeper,
    ):
        keeper.agent("clerk")(Clerk())
        await keeper.packs.push(desk(config={"RESOLVER": "model"}))

        reply = await KeptByTheEngine(keeper, Clerk()).say("the usual, please")

        assert reply.intent is not None
        assert (reply.intent["state"], reply.intent["missing"]) == ("DETAILS", ["party_size", "day"])


@pytest.mark.parametrize(
    ("message", "wish"), [("reset", {}), ("hello", {"reset": True}), ("hello", {"params": {"restart": 1}})]
)
async def test_a_wish_to_reset_is_never_merged_into_what_came_before(
    keeper: Turnkeeper, message: str, wish: dict[str, Any]
) -> None:
    has_begun, may_end = asyncio.Event(), asyncio.Event()

    @keeper.agent("slow")
    async def slow(turn: AgentTurn) -> str:
        if "secret" in turn.text:
            has_begun.set()
            await may_end.wait()
        return f"heard {turn.text}, {len(turn.history)} before, {dict(turn.params)}"

    session = (await keeper.create_session(agent="slow")).id
    first = await keeper.submit("secret one", session_id=session, params={"p": 1})
    await has_begun.wait()

    second = await keeper.submit(message, session_id=session, double_text="merge", **wish)

    async def is_decided() -> bool:
        told = await keeper.run(second.run.id), await keeper.run(first.run.id)
        return told[0].merged is not None or not told[1].status.is_open

    await eventually(is_decided)
    may_end.set()
    await keeper.reply_to(first)
    await keeper.reply_to(second)
    after = await keeper.chat("and now", session_id=session)

    assert "secret" not in after.text
    assert "{}" in after.text
    assert (await keeper.session(session)).epoch.number == 2


async def test_a_reset_stands_for_the_client_too_when_its_message_fails(keeper: Turnkeeper, clerk: Clerk) -> None:
    await keeper.packs.push(desk())
    talk = KeptByTheClient(keeper, clerk)
    await talk.say("I want to book a table for 4 people")

    with pytest.raises(TurnkeeperError) as failed:
        await talk.say("fail now", reset=True)
    talk.carried = failed.value.facts["carried"]
    reply = await talk.say("friday")

    assert failed.value.code == "agent_failed"
    assert reply.intent is None
    assert (await talk.held()).context == {}


async def test_a_reset_of_a_session_that_the_client_keeps_is_audited_too(keeper: Turnkeeper, clerk: Clerk) -> None:
    talk = KeptByTheClient(keeper, clerk, None)
    await talk.say("hello")
    before = (await keeper.verify_audit()).entries

    await talk.say("/reset")

    assert (await keeper.verify_audit()).entries == before + 2


async def test_a_done_intent_asks_for_no_grant_and_a_reset_intent_does(keeper: Turnkeeper, clerk: Clerk) -> None:
    intents = desk()["intents/all.yaml"]
    for name, grant in (("Buy a voucher", "buy"), ("Begin again", "wipe")):
        intents = intents.replace(f"  name: {name}", f"  name: {name}\n  grants: [{grant}]")
    await keeper.packs.push(desk(**{"intents/all.yaml": intents}))
    talk = KeptByTheEngine(keeper, clerk)
    buyer = Principal(tenant=TenantId("default"), user=UserId("local"), grants=frozenset({"buy"}))
    nobody = replace(buyer, grants=frozenset())

    done = await talk.say("I want to buy a voucher, amount 30, friday", principal=buyer)
    after = await talk.say("thanks, bye", principal=nobody)
    with pytest.raises(TurnkeeperError) as refused:
        await talk.say("let us begin again", principal=nobody)

    assert done.text == "A voucher over 30."
    assert after.text == "Agent: thanks, bye"
    assert refused.value.code == "scope_insufficient"
    assert (await keeper.session(str(talk.session_id))).epoch.number == 1


async def test_an_intent_is_served_only_on_its_channels(keeper: Turnkeeper, clerk: Clerk) -> None:
    intents = desk()["intents/all.yaml"].replace("  name: Book a table", "  name: Book a table\n  channels: [app_chat]")
    await keeper.packs.push(desk(**{"intents/all.yaml": intents}))
    talk = KeptByTheEngine(keeper, clerk)
    await talk.say("I want to book a table for 4 people")
    before = await talk.held()

    with pytest.raises(TurnkeeperError) as refused:
        await talk.say("friday", channel="sms")

    assert (refused.value.code, refused.value.http_status) == ("channel_not_accepted", 403)
    assert await talk.held() == before


async def test_a_session_has_the_pack_of_its_agent_from_the_beginning(keeper: Turnkeeper) -> None:
    await keeper.packs.push(desk())
    keeper.agent("clerk", pack="desk@1.0.0")(Clerk())

    session = await keeper.create_session(agent="clerk")

    assert [pin.ref for pin in session.packs] == ["desk@1.0.0"]


async def test_pinning_anew_while_the_first_turn_runs_is_what_stays(keeper: Turnkeeper) -> None:
    has_begun, may_end = asyncio.Event(), asyncio.Event()

    @keeper.agent("slow")
    async def slow(turn: AgentTurn) -> str:
        has_begun.set()
        await may_end.wait()
        return "done"

    await keeper.packs.push(desk())
    await keeper.packs.push(desk("2.0.0"))
    session = (await keeper.create_session(agent="slow")).id
    ticket = await keeper.submit("hello", session_id=session, pack="desk@1.0.0")
    await has_begun.wait()

    await keeper.packs.repin(session, "desk@2.0.0")
    may_end.set()
    await keeper.reply_to(ticket)

    assert [pin.ref for pin in (await keeper.session(session)).packs] == ["desk@2.0.0"]


async def test_the_same_request_sent_again_does_not_reset_again(keeper: Turnkeeper) -> None:
    @keeper.agent("late", run_seconds=0.2)
    async def late(turn: AgentTurn) -> str:
        await asyncio.Event().wait()
        return "never"

    session = (await keeper.chat("hello")).session_id
    for _ in range(3):
        with pytest.raises(TurnkeeperError) as failed:
            await keeper.chat("go", session_id=session, agent="late", reset=True, request_id="r1")
        assert failed.value.code == "run_timed_out"
        await keeper.chat("meanwhile", session_id=session, agent="echo")

    assert (await keeper.session(session)).epoch.number == 2


async def test_an_answer_brings_no_params_and_a_reset_command_is_no_answer(keeper: Turnkeeper) -> None:
    @keeper.agent("curious")
    async def curious(turn: AgentTurn) -> str:
        return f"Noted {await turn.ask('How many?')}"

    asked = await keeper.chat("hello", agent="curious")
    with pytest.raises(TurnkeeperError) as refused:
        await keeper.chat("four", session_id=asked.session_id, answers=asked.run_id, params={"reset": True})

    reset = await keeper.chat("reset", session_id=asked.session_id, answers=asked.run_id)

    assert refused.value.details[0]["pointer"] == "/params"
    assert reset.text == "We start afresh."
    assert (await keeper.run(asked.run_id)).status == "cancelled"


async def test_a_pack_sets_the_time_of_a_run(keeper: Turnkeeper) -> None:
    @keeper.agent("late")
    async def late(turn: AgentTurn) -> str:
        await asyncio.Event().wait()
        return "never"

    files = desk()
    await keeper.packs.push({**files, "pack.yaml": files["pack.yaml"] + "ceilings: {run_seconds: 1}\n"})

    with pytest.raises(TurnkeeperError) as failed:
        await keeper.chat("hello", agent="late", pack="desk")

    assert (failed.value.code, failed.value.stage) == ("run_timed_out", "hand_off")


async def test_business_is_no_reset_whatever_a_tenant_wants(keeper: Turnkeeper, talk: KeptByTheEngine) -> None:
    for key, value in (("RESET_INTENT_CODES", "BOOK_TABLE"), ("RESET_REPLY", "x\0y"), ("RESET_REPLY", "\ud800")):
        with pytest.raises(TurnkeeperError) as refused:
            await keeper.packs.override("desk", key, value)
        assert refused.value.code == "envelope_invalid"


@pytest.mark.parametrize("ref", ["\0", "a@1", "a@1.0", "a@01.0.0", "a b", "", "a@1.0.0\n", "a@9999999999.0.0"])
async def test_a_name_that_is_none_names_no_pack(keeper: Turnkeeper, ref: str) -> None:
    with pytest.raises(TurnkeeperError) as refused:
        await keeper.packs.get(ref)

    assert refused.value.code == "pack_not_found"


@pytest.mark.parametrize(
    ("pin", "code"),
    [
        ({"version": "abc"}, "envelope_invalid"),
        ({"version": "1.0"}, "envelope_invalid"),
        ({"id": "\0"}, "envelope_invalid"),
        ({"hash": "0" * 64}, "pack_integrity_error"),
        ({"id": "nobody"}, "pack_not_found"),
    ],
)
async def test_a_carried_pin_that_nobody_gave_out_is_refused(
    keeper: Turnkeeper, clerk: Clerk, pin: dict[str, str], code: str
) -> None:
    await keeper.packs.push(desk())
    talk = KeptByTheClient(keeper, clerk)
    await talk.say("hello")
    assert talk.carried is not None
    carried = {**talk.carried, "packs": [{**talk.carried["packs"][0], **pin}]}

    with pytest.raises(TurnkeeperError) as refused:
        await keeper.chat("hello", session_id="mine", agent="clerk", custody="client", carried=carried)

    assert refused.value.code == code


async def test_a_refused_push_leaves_nothing_behind(keeper: Turnkeeper) -> None:
    await keeper.packs.push(desk(**{"knowledge/one.md": "The depot is in Narva."}))

    with pytest.raises(TurnkeeperError) as refused:
        await keeper.packs.push(desk(**{"knowledge/one.md": "The depot is in Tartu."}))

    assert refused.value.code == "pack_immutable"
    assert len(await keeper.bases.list()) == 1


async def test_what_a_model_cost_is_told_also_of_a_reset(settings: Settings) -> None:
    async with (
        a_model(saying_json(intent="RESET_SESSION", confidence=0.99)) as model,
        Turnkeeper.open(settings=settings, model_url=model.url, model_name="m") as keeper,
    ):
        keeper.agent("clerk")(Clerk())
        await keeper.packs.push(desk(config={"RESOLVER": "model"}))

        reply = await KeptByTheEngine(keeper, Clerk()).say("let it all go")

        assert RESET in stages_of(reply)
        assert reply.explanation.budget["model_calls"] == 1


async def test_one_control_name_in_two_spellings_is_refused(keeper: Turnkeeper) -> None:
    with pytest.raises(TurnkeeperError) as refused:
        await keeper.chat("hello", params={"reset": True, " reset": False})

    assert {fault["pointer"] for fault in refused.value.details} == {"/params/reset", "/params/ reset"}


async def test_a_language_may_be_written_with_an_underscore(keeper: Turnkeeper, clerk: Clerk) -> None:
    intents = desk()["intents/all.yaml"].replace("  name: Book a table", "  name: Book a table\n  locales: [en]")
    await keeper.packs.push(desk(**{"intents/all.yaml": intents}))
    talk = KeptByTheEngine(keeper, clerk)

    reply = await talk.say("I want to book a table", metadata={"locale": "en_GB"})

    assert reply.intent is not None
    assert await talk.held() != Dialogue()


# --- What a new user met


async def test_whoever_does_not_want_a_form_any_more_can_say_so(talk: KeptByTheEngine) -> None:
    await talk.say("I want to buy a voucher")
    await talk.say("switch to book a table")

    dropped = await talk.say("never mind", params={"switch_intent": True})

    held = await talk.held()
    assert told_by(dropped, "INTENT_LOCK_RELEASED") == {"reason": "DROPPED", "intent": "BOOK_TABLE"}
    assert "Book a table" in dropped.text
    assert (held.intent, held.context, held.lock) == ("UNKNOWN", {}, None)


async def test_a_confirmation_can_be_refused_for_good(confirming: KeptByTheEngine) -> None:
    dropped = await confirming.say("cancel")

    assert "Book a table" in dropped.text
    assert (await confirming.held()).intent == "UNKNOWN"


async def test_a_form_that_is_left_for_a_question_is_remembered_aloud(confirming: KeptByTheEngine) -> None:
    asked = await confirming.say("what are your hours")

    back = await confirming.say("switch to book a table")

    assert asked.text.startswith("We open at noon.\n\n")
    assert "switch to Book a table" in asked.text
    assert "Shall I go ahead?" in back.text


async def test_who_is_not_understood_twice_is_told_the_way_out(talk: KeptByTheEngine) -> None:
    await talk.say("I want to book a table")

    replies = [(await talk.say("qwertz uiop")).text for _ in range(3)]
    await talk.say("4")
    understood = await talk.say("qwertz uiop")

    assert ["reset" in text for text in replies] == [False, True, True]
    assert "reset" not in understood.text


async def test_what_surely_means_something_else_is_no_free_text(keeper: Turnkeeper, clerk: Clerk) -> None:
    required = '"required": ["party_size", "day"]'
    schema = desk()["schemas/BOOK_TABLE.DETAILS.json"].replace(required, '"required": ["note"]')
    await keeper.packs.push(desk(**{"schemas/BOOK_TABLE.DETAILS.json": schema}))
    talk = KeptByTheEngine(keeper, clerk)
    await talk.say("I want to book a table")

    reply = await talk.say("start over please")

    assert reply.intent is not None
    assert reply.intent["missing"] == ["note"]


async def test_what_was_read_from_a_message_is_told_by_the_name_of_its_field(talk: KeptByTheEngine) -> None:
    reply = await talk.say("I want to book a table on friday")

    assert told_by(reply, "SCHEMA_STATUS")["kept"] == ["day"]


async def test_a_param_that_a_form_cannot_take_is_told(talk: KeptByTheEngine) -> None:
    reply = await talk.say("I want to book a table", params={"party_size": 99, "day": "friday", "city": "Narva"})

    assert reply.warnings == ("params_not_taken",)
    assert reply.explanation.details["params_not_taken"] == {"fields": ["party_size"]}
    assert reply.intent is not None
    assert reply.intent["missing"] == ["party_size"]


async def test_an_answer_that_is_refused_at_the_confirmation_is_told_why(keeper: Turnkeeper, clerk: Clerk) -> None:
    confirm = '- {intent: BOOK_TABLE, state: CONFIRM, text: "For {party_size}. Shall I?"}\n'
    responses = desk()["responses/all.yaml"] + confirm
    await keeper.packs.push(desk(**{"intents/all.yaml": CONFIRMING, "responses/all.yaml": responses}))
    talk = KeptByTheEngine(keeper, clerk)
    await talk.say("I want to book a table for 4 people on friday")

    reply = await talk.say("make it 31 people")

    assert "20" in reply.text
    assert reply.text.endswith("For 4. Shall I?")


async def test_while_a_field_is_asked_about_anew_a_yes_confirms_nothing(confirming: KeptByTheEngine) -> None:
    asked = await confirming.say("change the day")

    answered = await confirming.say("yes")
    await confirming.say("change the day")
    corrected = await confirming.say("monday")

    assert "day" in asked.text
    assert answered.intent is not None
    assert answered.intent["state"] == "CONFIRM"
    assert "monday" in corrected.text
    assert (await confirming.say("yes")).text == "Booked for 4 on monday."
