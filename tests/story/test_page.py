"""Every sentence of the page "Session, Reset, and Continuity", under its own headings, in its own words.

Each test quotes the sentence that it proves. All of them run for sessions that we keep and for those that the client
keeps, on both stores.
"""

from typing import Any

import pytest

from tests.story.packed import CUSTODIES, Clerk, KeptByTheEngine, Talk, desk, stages_of, told_by
from turnkeeper import Turnkeeper, TurnkeeperError
from turnkeeper.model.dialogue import Dialogue

STICKY = "INTENT_RESOLVE_SKIPPED_STICKY_INTENT"
COLLECTING = "INTENT_RESOLVE_SKIPPED_SCHEMA_COLLECTION"
FORCED = "INTENT_RESOLVE_FORCED"
RESET = "CONVERSATION_RESET"


@pytest.fixture(params=CUSTODIES, ids=lambda custody: custody.__name__)
async def talk(request: pytest.FixtureRequest, keeper: Turnkeeper) -> Talk:
    clerk = Clerk()
    keeper.agent("clerk")(clerk)
    await keeper.packs.push(desk())
    opened: Talk = request.param(keeper, clerk)
    return opened


# --- What is restored per turn


async def test_from_the_conversation_the_session_restores_its_intent_code(talk: Talk) -> None:
    """From ce_conversation, session restores: intent_code"""
    await talk.say("I want to book a table")

    reply = await talk.say("for 4 people")

    assert told_by(reply, "INTENT_RESOLVE_START")["previous_intent"] == "BOOK_TABLE"
    assert reply.intent is not None
    assert reply.intent["code"] == "BOOK_TABLE"


async def test_from_the_conversation_the_session_restores_its_state_code(talk: Talk) -> None:
    """From ce_conversation, session restores: state_code"""
    await talk.say("I want to book a table")

    reply = await talk.say("for 4 people")

    assert told_by(reply, "INTENT_RESOLVE_START")["previous_state"] == "DETAILS"


async def test_from_the_conversation_the_session_restores_its_context(talk: Talk) -> None:
    """From ce_conversation, session restores: context_json"""
    await talk.say("I want to book a table for 4 people")

    reply = await talk.say("on friday")

    assert reply.text == "Booked for 4 on friday."


async def test_from_the_conversation_the_session_restores_its_input_params(talk: Talk) -> None:
    """From ce_conversation, session restores: input_params_json"""
    await talk.say("hello", params={"city": "Narva", "kept": 1})
    await talk.say("hello once more", params={"city": "Tartu"})

    assert talk.clerk.turns[-1].params == {"city": "Tartu", "kept": 1}
    assert (await talk.held()).params == {"city": "Tartu", "kept": 1}


async def test_clarification_is_restored_across_turns(talk: Talk) -> None:
    """session also restores cross-turn values such as clarification"""
    asked = await talk.say("book a voucher")
    held = (await talk.held()).clarification

    answered = await talk.say("the second one")

    assert asked.text == "Did you mean Book a table or Buy a voucher?"
    assert held is not None
    assert [option.code for option in held.options] == ["BOOK_TABLE", "BUY_VOUCHER"]
    assert answered.intent is not None
    assert answered.intent["code"] == "BUY_VOUCHER"
    assert (await talk.held()).clarification is None


async def test_intent_lock_metadata_is_restored_across_turns(talk: Talk) -> None:
    """session also restores cross-turn values such as [...] intent lock metadata."""
    await talk.say("I want to book a table")
    taken_at = (await talk.held()).lock

    reply = await talk.say("well")
    lock = (await talk.held()).lock

    assert told_by(reply, "INTENT_RESOLVE_START")["locked"] is True
    assert told_by(reply, "INTENT_RESOLVE_START")["lock_reason"] == "SCHEMA_INCOMPLETE"
    assert lock == taken_at
    assert lock is not None
    assert lock.missing == ("party_size", "day")


# --- Intent lock lifecycle


async def test_an_intent_lock_avoids_drift_while_schema_collection_is_incomplete(talk: Talk) -> None:
    """Intent lock is used for incomplete schema collection to avoid drift."""
    await talk.say("I want to book a table")

    reply = await talk.say("I also have feedback about the opening hours")

    assert reply.intent == {
        "code": "BOOK_TABLE",
        "state": "DETAILS",
        "locked": True,
        "missing": ["party_size", "day"],
    }


async def test_the_lock_is_set_when_required_schema_fields_are_still_missing(talk: Talk) -> None:
    """lock set when required schema fields are still missing"""
    reply = await talk.say("I want to book a table for 4 people")

    assert told_by(reply, "INTENT_LOCK_SET") == {"intent": "BOOK_TABLE", "missing": ["day"]}
    lock = (await talk.held()).lock
    assert lock is not None
    assert (lock.intent, lock.missing) == ("BOOK_TABLE", ("day",))


async def test_no_lock_is_set_when_no_field_is_missing(talk: Talk) -> None:
    reply = await talk.say("I want to book a table for 4 people on friday")

    assert reply.text == "Booked for 4 on friday."
    assert "INTENT_LOCK_SET" not in stages_of(reply)
    assert (await talk.held()).lock is None


async def test_intent_resolver_skip_logic_respects_the_lock(talk: Talk) -> None:
    """intent resolver skip logic respects lock"""
    await talk.keeper.packs.override("desk", "STICKY_INTENT", False)  # type: ignore[attr-defined]
    await talk.say("I want to book a table")

    reply = await talk.say("a voucher")

    assert COLLECTING in stages_of(reply)
    assert not any(stage.startswith("INTENT_CLASSIF") for stage in stages_of(reply))
    assert told_by(reply, COLLECTING)["locked"] is True


async def test_the_lock_is_removed_when_the_schema_is_complete(talk: Talk) -> None:
    """lock removed when schema is complete"""
    await talk.say("I want to book a table for 4 people")

    reply = await talk.say("on friday")

    assert told_by(reply, "INTENT_LOCK_RELEASED") == {"reason": "SCHEMA_COMPLETE", "intent": "BOOK_TABLE"}
    assert (await talk.held()).lock is None
    later = await talk.say("thanks")
    assert told_by(later, "INTENT_RESOLVE_START")["locked"] is False


async def test_the_lock_is_removed_when_the_schema_path_is_absent(keeper: Turnkeeper) -> None:
    """lock removed when [...] schema path is absent"""
    keeper.agent("clerk")(Clerk())
    await keeper.packs.push(desk())
    without = desk("2.0.0")
    del without["schemas/BOOK_TABLE.DETAILS.json"]
    without["responses/all.yaml"] = without["responses/all.yaml"].replace("{party_size} on {day}", "you")
    await keeper.packs.push(without)
    talk = KeptByTheEngine(keeper, Clerk(), "desk@1.0.0")
    await talk.say("I want to book a table")
    assert talk.session_id is not None
    await keeper.packs.repin(talk.session_id, "desk@2.0.0")

    reply = await talk.say("well")

    assert told_by(reply, "INTENT_LOCK_RELEASED")["reason"] == "SCHEMA_ABSENT"
    assert (await talk.held()).lock is None
    later = await talk.say("a voucher")
    assert told_by(later, "INTENT_RESOLVE_START")["locked"] is False


# --- Sticky intent lifecycle (ce_config)


async def test_sticky_intent_keeps_the_intent_stable_while_required_fields_are_missing(talk: Talk) -> None:
    """IntentResolutionStep.STICKY_INTENT applies during active incomplete schema collection to keep intent stable
    while required fields are still missing."""
    await talk.say("I want to book a table")

    replies = [await talk.say(text) for text in ("a voucher", "what are your hours", "I have feedback")]

    assert [reply.intent and reply.intent["code"] for reply in replies] == ["BOOK_TABLE"] * 3


async def test_when_enabled_re_resolution_is_skipped_only_while_incomplete_collection_is_active(talk: Talk) -> None:
    """when enabled, IntentResolutionStep skips re-resolution only while incomplete schema collection is active"""
    before = await talk.say("what are your hours")
    begun = await talk.say("I want to book a table")
    during = await talk.say("for 4 people")
    complete = await talk.say("friday")
    after = await talk.say("what are your hours")

    assert [STICKY in stages_of(reply) for reply in (before, begun, during, complete, after)] == [
        False,
        False,
        True,
        True,
        False,
    ]
    assert after.text == "We open at noon."


async def test_the_skip_emits_its_audit_stage(talk: Talk) -> None:
    """skip emits audit stage: INTENT_RESOLVE_SKIPPED_STICKY_INTENT"""
    await talk.say("I want to book a table")

    reply = await talk.say("a voucher")

    assert told_by(reply, "INTENT_RESOLVE_SKIPPED_STICKY_INTENT") == {
        "intent": "BOOK_TABLE",
        "state": "DETAILS",
        "sticky_intent": True,
        "reason": "existing intent retained",
    }


async def test_re_resolution_runs_once_schema_collection_is_complete(talk: Talk) -> None:
    """re-resolution runs once schema collection is complete"""
    await talk.say("I want to book a table for 4 people on friday")

    reply = await talk.say("a voucher")

    assert reply.intent is not None
    assert reply.intent["code"] == "BUY_VOUCHER"
    assert "INTENT_RESOLVED_BY_CLASSIFIER" in stages_of(reply)


@pytest.mark.parametrize(("setting", "stage"), [(True, STICKY), (False, COLLECTING)])
async def test_switching_sticky_intent_off_changes_the_recorded_stage_and_nothing_else(
    talk: Talk, setting: bool, stage: str
) -> None:
    """INSERT INTO ce_config [...] VALUES ('IntentResolutionStep', 'STICKY_INTENT', 'true', true)"""
    await talk.say("I want to book a table")
    await talk.keeper.packs.override("desk", "STICKY_INTENT", setting)  # type: ignore[attr-defined]

    reply = await talk.say("a voucher")

    assert stages_of(reply) == ["INTENT_RESOLVE_START", stage, "SCHEMA_EXTRACTION_START", "SCHEMA_STATUS"]
    assert reply.intent is not None
    assert (reply.intent["code"], reply.intent["locked"]) == ("BOOK_TABLE", True)


async def test_the_config_of_a_pack_can_be_switched_off_for_a_tenant_without_a_restart(talk: Talk) -> None:
    """INSERT INTO ce_config (config_type, config_key, config_value, enabled)"""
    packs = talk.keeper.packs  # type: ignore[attr-defined]
    await talk.say("I want to book a table")
    await packs.override("desk", "STICKY_INTENT", False)
    off = await talk.say("well")
    await packs.override("desk", "STICKY_INTENT", False, enabled=False)
    disabled = await talk.say("well")
    await packs.drop_override("desk", "STICKY_INTENT")
    gone = await talk.say("well")

    assert [STICKY in stages_of(reply) for reply in (off, disabled, gone)] == [False, True, True]


# --- Force re-resolution signals


@pytest.mark.parametrize("command", ["reset", "restart", "/reset", "/restart", " Reset ", "/RESTART"])
async def test_reset_commands_leave_a_collection(talk: Talk, command: str) -> None:
    """reset commands: reset, restart, /reset, /restart"""
    await talk.say("I want to book a table")

    reply = await talk.say(command)

    assert stages_of(reply) == [RESET, "INTENT_LOCK_RELEASED"]
    assert told_by(reply, "INTENT_LOCK_RELEASED") == {"reason": "RESET", "intent": "BOOK_TABLE"}
    assert await talk.held() == Dialogue()


@pytest.mark.parametrize(
    ("phrase", "value"),
    [
        ("switch to a voucher", "switch to"),
        ("please switch to the voucher", "switch to"),
        ("switch intent, I want a voucher", "switch intent"),
        ("change intent: voucher", "change intent"),
        ("change flow, a voucher please", "change flow"),
        ("change mode to voucher", "change mode"),
    ],
)
async def test_switch_phrases_leave_a_collection(talk: Talk, phrase: str, value: str) -> None:
    """switch phrases: switch to ..., switch intent, change intent/flow/mode"""
    await talk.say("I want to book a table")

    reply = await talk.say(phrase)

    assert told_by(reply, FORCED) == {"signal": "switch_phrase", "value": value}
    assert reply.intent is not None
    assert reply.intent["code"] == "BUY_VOUCHER"
    assert told_by(reply, "INTENT_LOCK_RELEASED") == {"reason": "INTENT_SWITCHED", "intent": "BOOK_TABLE"}


@pytest.mark.parametrize(
    "param", ["force_intent_resolution", "resolve_intent", "switch_intent", "switch_flow", "switch_mode"]
)
async def test_input_params_leave_a_collection_once(talk: Talk, param: str) -> None:
    """input params: force_intent_resolution=true, resolve_intent=true, switch_intent=true, switch_flow=true,
    switch_mode=true"""
    await talk.say("I want to book a table")

    forced = await talk.say("a voucher", params={param: True})
    again = await talk.say("I want to book a table")

    assert told_by(forced, FORCED) == {"signal": "param", "value": param}
    assert forced.intent is not None
    assert forced.intent["code"] == "BUY_VOUCHER"
    assert STICKY in stages_of(again)
    assert (await talk.held()).params == {}


async def test_an_active_clarification_flow_resolves_again(talk: Talk) -> None:
    """active clarification flow"""
    await talk.say("I want to book a table")
    await talk.say("switch to book a voucher")

    reply = await talk.say("the voucher, I mean")

    assert told_by(reply, FORCED)["signal"] == "clarification"
    assert reply.intent is not None
    assert reply.intent["code"] == "BUY_VOUCHER"


async def test_a_force_signal_that_leads_nowhere_keeps_the_lock(talk: Talk) -> None:
    await talk.say("I want to book a table")

    reply = await talk.say("hm", params={"switch_intent": True})

    assert "INTENT_RESOLVE_NO_CHANGE" in stages_of(reply)
    assert "INTENT_LOCK_RELEASED" not in stages_of(reply)
    assert reply.intent is not None
    assert (reply.intent["code"], reply.intent["locked"]) == ("BOOK_TABLE", True)


# --- Reset triggers


async def _busy(talk: Talk) -> None:
    """A session with something of everything in it."""
    await talk.say("hello", params={"city": "Narva"})
    await talk.say("I want to book a table for 4 people")
    await talk.say("switch to a voucher")


async def test_a_request_body_with_reset_true_resets_and_then_handles_the_message(talk: Talk) -> None:
    """request body reset=true"""
    await _busy(talk)

    reply = await talk.say("I want to book a table", reset=True)

    assert told_by(reply, RESET)["trigger"] == "FLAG"
    assert reply.intent is not None
    assert reply.intent["missing"] == ["party_size", "day"]
    held = await talk.held()
    assert (held.context, held.forms, held.params) == ({}, {}, {})


@pytest.mark.parametrize("param", ["reset", "restart", "conversation_reset"])
@pytest.mark.parametrize("value", [True, 1, "true", " YES ", "on"])
async def test_input_params_reset(talk: Talk, param: str, value: Any) -> None:
    """input params reset, restart, conversation_reset"""
    await _busy(talk)

    reply = await talk.say("hello", params={param: value, "city": "Tartu"})

    assert told_by(reply, RESET)["trigger"] == f"INPUT_PARAM:{param}"
    assert await talk.held() == Dialogue(params={"city": "Tartu"})


@pytest.mark.parametrize("command", ["reset", "restart", "/reset", "/restart"])
async def test_text_commands_reset(talk: Talk, command: str) -> None:
    """text commands reset, restart, /reset, /restart"""
    await _busy(talk)

    reply = await talk.say(command)

    assert told_by(reply, RESET)["trigger"] == "USER_TEXT_COMMAND"
    assert await talk.held() == Dialogue()


@pytest.mark.parametrize("text", ["reset.", "please reset", "reset it", "resets", "//reset"])
async def test_a_text_that_is_more_than_the_command_resets_nothing(talk: Talk, text: str) -> None:
    await _busy(talk)

    reply = await talk.say(text)

    assert RESET not in stages_of(reply)
    assert (await talk.held()).intent == "BUY_VOUCHER"


async def test_an_intent_based_reset_is_configured_by_code(talk: Talk) -> None:
    """intent-based reset via ResetResolvedIntentStep (ce_config) [...] 'RESET_INTENT_CODES',
    'RESET_SESSION,START_OVER'"""
    packs = talk.keeper.packs  # type: ignore[attr-defined]
    await talk.say("hello", params={"city": "Narva"})
    before = await talk.say("start over")
    await packs.override("desk", "RESET_INTENT_CODES", "RESET_SESSION,START_OVER")

    after = await talk.say("start over, please")

    assert RESET not in stages_of(before)
    assert told_by(after, RESET)["trigger"] == "INTENT_RESOLVED_RESET"
    assert told_by(after, RESET)["matched"] == "START_OVER"
    assert after.text == "We start afresh."
    assert await talk.held() == Dialogue()


async def test_the_default_reset_intent_is_reset_session(talk: Talk) -> None:
    await talk.say("I want to book a table for 4 people on friday")

    reply = await talk.say("let us begin again")

    assert told_by(reply, RESET)["matched"] == "RESET_SESSION"


async def test_a_reset_intent_leaves_a_collection_when_it_is_forced(talk: Talk) -> None:
    await talk.say("I want to book a table")

    held = await talk.say("let us begin again")
    forced = await talk.say("let us begin again", params={"resolve_intent": True})

    assert RESET not in stages_of(held)
    assert RESET in stages_of(forced)


# --- Practical advice


async def test_conversation_reset_stages_can_be_audited(talk: Talk) -> None:
    """Audit CONVERSATION_RESET stages in pre-production tests"""
    await _busy(talk)

    reply = await talk.say("/reset")

    told = told_by(reply, RESET)
    assert told["epoch"] == 2
    assert told["cleared"] == {
        "intent": "BUY_VOUCHER",
        "state": "DETAILS",
        "fields": [],
        "forms": ["BOOK_TABLE"],
        "params": 1,
        "locked": True,
        "clarification": False,
        "preferences": False,
        "turns": 3,
        "messages": 6,
    }


async def test_a_business_intent_is_not_mixed_with_reset_intents_by_accident() -> None:
    """Avoid mixing business intents with reset intents; Keep reset intent names explicit and reserved"""
    from turnkeeper.packs.reading import read_pack

    pack, faults = read_pack(desk(config={"RESET_INTENT_CODES": ["BOOK_TABLE"]}))

    assert pack is not None
    assert [fault.is_warning for fault in faults if fault.code == "reset_intent"] != []


async def test_multi_turn_state_does_not_leak_from_the_existing_conversation_context(talk: Talk) -> None:
    """If reset logic is custom-coded only in controller, multi-turn state may still leak from existing conversation
    context. Use pipeline reset steps, not ad-hoc request branching."""
    await _busy(talk)
    await talk.say("/reset")

    await talk.say("hello")

    seen = talk.clerk.turns[-1]
    assert (seen.history, dict(seen.state), seen.params) == ((), {"said": "hello"}, {})
    assert seen.intent is not None
    assert (seen.intent.code, seen.intent.fields, seen.intent.missing) == ("UNKNOWN", {}, ())


async def test_a_control_param_that_says_neither_yes_nor_no_is_refused_and_changes_nothing(talk: Talk) -> None:
    await _busy(talk)
    before = await talk.held()

    with pytest.raises(TurnkeeperError) as refused:
        await talk.say("hello", params={"reset": "maybe"})

    assert refused.value.code == "envelope_invalid"
    assert refused.value.details[0]["pointer"] == "/params/reset"
    assert await talk.held() == before
