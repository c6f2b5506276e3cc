"""Behaviours of the page about envelopes and run contexts, by their numbers, through the Python face.

What needs a socket is in tests/server, what adapters alone show in tests/unit/channels, and long runs are in
test_long_runs.py. `tests/unit/test_behaviours_listed.py` checks that none is missing.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.eventually import eventually
from tests.story.envelopes import HELPDESK, PHOTO, TRACE, Spy, a_desk, an_envelope, answered
from turnkeeper import Settings, Turnkeeper
from turnkeeper.errors import RateLimited, TurnkeeperError
from turnkeeper.model.compiled import CompiledContext
from turnkeeper.model.ids import TenantId, UserId
from turnkeeper.model.pack import Pack
from turnkeeper.model.policy import Ceilings, Policy, Rate
from turnkeeper.model.principal import LOCAL, Principal, Role
from turnkeeper.model.run_context import RunContext
from turnkeeper.model.safety import SafetyMode
from turnkeeper.model.session_state import Origin, SessionState
from turnkeeper.testing.clock import SteppedClock

Open = Callable[..., Turnkeeper]


@pytest.fixture
def opened(settings: Settings) -> Open:
    def open_it(**given: Any) -> Turnkeeper:
        return Turnkeeper.open(settings=settings, **given)

    return open_it


async def refused(keeper: Turnkeeper, principal: Principal = LOCAL, /, **changes: Any) -> TurnkeeperError:
    with pytest.raises(TurnkeeperError) as caught:
        await answered(keeper, principal, **changes)
    return caught.value


# --- what a run begins with


async def test_behaviour_01_a_run_context_with_all_its_parts_reaches_the_agent(keeper: Turnkeeper) -> None:
    spy = await a_desk(keeper)

    reply = await answered(keeper)

    document = spy.turns[0].context.document()
    required = {"run_id", "trace_id", "session_id", "tenant_id", "user", "agent", "safety_mode", "run_budget"}
    assert len(spy.turns) == 1
    assert required <= document.keys()
    assert document["session_id"] == reply.session_id


async def test_behaviour_02_each_request_has_a_run_context_of_its_own(keeper: Turnkeeper) -> None:
    spy = await a_desk(keeper)

    first = await answered(keeper)
    await answered(keeper, session_id=first.session_id)

    one, two = (turn.context for turn in spy.turns)
    assert one.session_id == two.session_id
    assert one.run_id != two.run_id
    assert one is not two


async def test_behaviour_03_a_run_id_is_made_here_whatever_the_caller_says(keeper: Turnkeeper) -> None:
    spy = await a_desk(keeper)

    await answered(keeper, input__context={"run_id": "run_mine"})

    assert spy.turns[0].context.run_id.startswith("run_")
    assert spy.turns[0].context.run_id != "run_mine"


async def test_behaviour_04_one_trace_id_goes_through_everything(keeper: Turnkeeper) -> None:
    spy = await a_desk(keeper)

    ticket = await keeper.invoke(an_envelope())
    await keeper.reply_to(ticket)

    entries = [entry.body async for entry in keeper.audit_entries() if ticket.run.id in entry.body]
    assert (ticket.run.trace_id, spy.turns[0].context.trace_id, spy.turns[0].compiled.trace_id) == (TRACE,) * 3
    assert entries
    assert all(TRACE in body for body in entries)


async def test_behaviour_05_a_session_id_is_kept_and_one_is_made_where_none_is_given(keeper: Turnkeeper) -> None:
    await a_desk(keeper)

    first = await answered(keeper)
    second = await answered(keeper, session_id=first.session_id)

    assert first.session_id.startswith("sess_")
    assert (second.session_id, second.turn) == (first.session_id, 2)


async def test_behaviour_06_tenant_user_and_agent_are_those_of_the_envelope(keeper: Turnkeeper) -> None:
    spy = await a_desk(keeper)

    await answered(keeper)

    document = spy.turns[0].context.document()
    sent = an_envelope()
    assert document["tenant_id"] == sent["tenant_id"]
    assert document["user"]["user_id"] == "usr_100"
    assert document["agent"]["workload_identity"] == sent["agent"]["workload_identity"]
    assert set(document["user"]["delegation"]["scopes"]) <= set(sent["user"]["delegation"]["scopes"])
    assert [each["kind"] for each in document["agent"]["principal_chain"]] == ["user", "agent"]


async def test_behaviour_07_the_safety_mode_comes_from_policy_whatever_the_caller_says(opened: Open) -> None:
    policy = Policy(everywhere=Ceilings(safety_mode=SafetyMode.LOCAL_WRITE))
    async with opened(policy=policy) as keeper:
        spy = await a_desk(keeper)

        await answered(keeper, user__safety_mode="destructive", input__context={"safety_mode": "destructive"})

    assert spy.turns[0].context.safety_mode is SafetyMode.LOCAL_WRITE


async def test_without_a_policy_a_run_only_reads(keeper: Turnkeeper) -> None:
    spy = await a_desk(keeper)

    await answered(keeper)

    assert spy.turns[0].context.safety_mode is SafetyMode.READ_ONLY


async def test_who_acts_without_leave_of_a_user_never_acts_in_their_name(opened: Open) -> None:
    policy = Policy(everywhere=Ceilings(safety_mode=SafetyMode.DESTRUCTIVE))
    async with opened(policy=policy) as keeper:
        spy = await a_desk(keeper)
        await answered(keeper)
        await answered(keeper, user__delegation=..., input__intent="orders.status")

    assert [turn.context.safety_mode for turn in spy.turns] == [SafetyMode.DESTRUCTIVE, SafetyMode.NETWORK]


async def test_behaviour_08_a_budget_is_clipped_by_the_ceiling_of_the_pack_and_that_is_said(keeper: Turnkeeper) -> None:
    spy = await a_desk(keeper)

    reply = await answered(keeper, runtime__max_tool_calls=10_000)

    assert spy.turns[0].context.budget.most["tool_calls"] == 8
    assert "budget_clipped" in reply.warnings


async def test_an_agent_that_overdraws_its_budget_fails_by_name(keeper: Turnkeeper) -> None:
    await a_desk(keeper)

    @keeper.agent("spendthrift")
    async def spendthrift(turn: Any) -> str:
        turn.context.budget.debit("tool_calls", 6)
        turn.context.budget.debit("tool_calls")
        return "done"

    error = await refused(keeper, agent__agent_id="spendthrift")

    assert (error.code, error.http_status) == ("budget_exceeded", 429)


# --- what is refused before anything runs


@pytest.mark.parametrize(
    "missing",
    ["request_id", "tenant_id", "user", "agent", "context_pack_refs", "input", "mode", "runtime", "trace"],
)
async def test_behaviour_09_10_what_is_required_is_missed_by_name_before_anything_runs(
    keeper: Turnkeeper, missing: str
) -> None:
    spy = await a_desk(keeper)

    error = await refused(keeper, **{missing: ...})

    assert (error.code, error.http_status, error.stage) == ("missing_required_field", 400, "receive")
    assert [each["pointer"] for each in error.details] == [f"/{missing}"]
    assert spy.turns == []


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"mode": "async"}, "/mode"),
        ({"user__delegation__auth_type": "basic"}, "/user/delegation/auth_type"),
        ({"trace__extra": "1"}, "/trace/extra"),
        ({"trace__trace_id": "0" * 32}, "/trace/trace_id"),
        ({"runtime__max_tool_calls": 0}, "/runtime/max_tool_calls"),
        ({"context_pack_refs": []}, "/context_pack_refs"),
        ({"surprise": 1}, "/surprise"),
        ({"input__message": "half \ud800"}, "/input/message"),
        ({"attachments": [{**PHOTO, "sha256": "ABC"}]}, "/attachments/0/sha256"),
    ],
)
async def test_behaviour_11_a_wrong_shape_is_refused_at_its_place(
    keeper: Turnkeeper, changes: dict[str, Any], pointer: str
) -> None:
    spy = await a_desk(keeper)

    error = await refused(keeper, **changes)

    assert (error.code, error.http_status) == ("schema_invalid", 400)
    assert pointer in [each["pointer"] for each in error.details]
    assert spy.turns == []


@pytest.mark.parametrize(
    "ref",
    [
        *("helpdesk", "helpdesk@1.4", "helpdesk@latest", "helpdesk@^1.4.0", "helpdesk@1.4.0-rc.1", "helpdesk@1.4.0+b1"),
        *("a/b@1.0.0", "helpdesk@01.4.0", "helpdesk@1.4.0\n", "helpdesk@1.4.0 ", "@1.0.0"),
    ],
)
async def test_behaviour_12_a_pack_without_its_exact_version_is_refused(keeper: Turnkeeper, ref: str) -> None:
    spy = await a_desk(keeper)

    error = await refused(keeper, context_pack_refs=[ref])

    assert (error.code, error.http_status) == ("pack_unpinned", 400)
    assert spy.turns == []


async def test_behaviour_13_one_unpinned_pack_refuses_the_whole_envelope_and_is_pointed_at(keeper: Turnkeeper) -> None:
    spy = await a_desk(keeper)

    error = await refused(keeper, context_pack_refs=["helpdesk@1.4.0", "tone"])

    assert error.code == "pack_unpinned"
    assert [each["pointer"] for each in error.details] == ["/context_pack_refs/1"]
    assert spy.turns == []


async def test_a_pack_that_is_named_twice_is_refused(keeper: Turnkeeper) -> None:
    await a_desk(keeper)

    error = await refused(keeper, context_pack_refs=["helpdesk@1.4.0", "helpdesk@2.0.0"])

    assert (error.code, error.details[0]["pointer"]) == ("pack_ref_conflict", "/context_pack_refs/1")


async def test_behaviour_14_an_unknown_pack_is_refused_and_a_known_one_is_pinned_with_its_hash(
    keeper: Turnkeeper,
) -> None:
    spy = await a_desk(keeper)

    error = await refused(keeper, context_pack_refs=["nobody@1.0.0"])
    await answered(keeper)

    assert (error.code, error.http_status) == ("pack_not_found", 404)
    (pin,) = spy.turns[0].context.packs
    assert (pin.ref, len(pin.hash)) == ("helpdesk@1.4.0", 64)


async def test_behaviour_15_a_run_goes_through_its_steps_in_order_and_once(keeper: Turnkeeper) -> None:
    await a_desk(keeper)

    reply = await answered(keeper)

    steps = [stage.name for stage in reply.explanation.stages if not stage.is_decision]
    order = ["intake", "open_session", "reset", "hold_intent", "materialize", "hand_off"]
    assert [name for name in steps if name in order] == order


# --- grants and channels


ON_SMS: dict[str, Any] = {
    "input__channel": "sms",
    "input__context": {"channel_signals": {"from_e164": "+4915112345678"}},
}


async def test_behaviour_26_27_the_channel_narrows_what_a_user_may_before_anything_runs(opened: Open) -> None:
    policy = Policy(channels={"sms": Ceilings(grants=frozenset({"orders.read"}))})
    async with opened(policy=policy) as keeper:
        spy = await a_desk(keeper)

        await answered(keeper)
        error = await refused(keeper, **ON_SMS)

    assert (error.code, error.http_status, error.stage) == ("scope_insufficient", 403, "intake")
    assert "orders.return" in str(error.details)
    assert len(spy.turns) == 1


async def test_behaviour_28_a_session_that_changes_its_channel_is_checked_anew_and_stays_usable(opened: Open) -> None:
    policy = Policy(channels={"sms": Ceilings(grants=frozenset({"orders.read"}))})
    async with opened(policy=policy) as keeper:
        await a_desk(keeper)
        first = await answered(keeper)

        error = await refused(keeper, session_id=first.session_id, **ON_SMS)
        third = await answered(keeper, session_id=first.session_id)

    assert error.code == "scope_insufficient"
    assert third.turn == 2


async def test_grants_of_the_token_are_never_widened_by_what_an_envelope_claims(keeper: Turnkeeper) -> None:
    await a_desk(keeper)
    ben = Principal(tenant=LOCAL.tenant, user=UserId("ben"), grants=frozenset({"orders.read"}))

    error = await refused(keeper, ben, user__user_id="ben")

    assert error.code == "scope_insufficient"


async def test_who_is_no_admin_speaks_for_nobody_else(keeper: Turnkeeper) -> None:
    spy = await a_desk(keeper)

    error = await refused(keeper, Principal(tenant=LOCAL.tenant, user=UserId("ben")))

    assert (error.code, error.http_status) == ("user_mismatch", 403)
    assert spy.turns == []


async def test_a_channel_that_an_intent_does_not_accept_is_refused(keeper: Turnkeeper) -> None:
    await a_desk(keeper)

    error = await refused(keeper, input__intent="orders.status", input__channel="api")

    assert (error.code, error.http_status) == ("channel_not_accepted", 403)


async def test_a_channel_that_nobody_has_is_refused_with_those_that_there_are(keeper: Turnkeeper) -> None:
    await a_desk(keeper)

    error = await refused(keeper, input__channel="pigeon")

    assert (error.code, error.http_status, error.stage) == ("channel_unsupported", 400, "normalize")
    assert "app_chat" in error.detail


async def test_an_intent_that_the_pack_lacks_is_refused(keeper: Turnkeeper) -> None:
    await a_desk(keeper)

    error = await refused(keeper, input__intent="orders.eat")

    assert (error.code, error.http_status) == ("intent_unknown", 422)


async def test_an_intent_that_is_declared_is_served_and_one_left_empty_is_found_out(keeper: Turnkeeper) -> None:
    spy = await a_desk(keeper)

    declared = await answered(keeper, input__message="hello")
    found = await answered(keeper, input__intent="", input__message="where is it")

    assert [reply.intent and reply.intent["code"] for reply in (declared, found)] == ["ORDERS_RETURN", "ORDERS_STATUS"]
    assert len(spy.turns) == 2


async def test_an_agent_that_is_retired_is_not_asked(keeper: Turnkeeper) -> None:
    spy = await a_desk(keeper)

    error = await refused(keeper, agent__lifecycle="retired")

    assert (error.code, error.http_status) == ("agent_inactive", 403)
    assert spy.turns == []


# --- the order in which things are looked for


async def test_of_several_faults_the_one_that_is_looked_for_first_is_told(keeper: Turnkeeper) -> None:
    await a_desk(keeper)
    taken = an_envelope(request_id="req_taken")
    await keeper.reply_to(await keeper.invoke(taken))
    faults: list[tuple[str, dict[str, Any]]] = [
        ("tenant_mismatch", {"tenant_id": "other"}),
        ("missing_required_field", {"mode": ...}),
        ("schema_invalid", {"runtime__max_tokens": -1}),
        ("pack_unpinned", {"context_pack_refs": ["helpdesk"]}),
        ("duplicate_request", {"request_id": "req_taken"}),
        ("session_not_found", {"session_id": "sess_nowhere"}),
        ("pack_not_found", {"context_pack_refs": ["nobody@1.0.0"]}),
        ("channel_unsupported", {"input__channel": "pigeon"}),
        ("intent_unknown", {"input__intent": "orders.eat"}),
        ("agent_inactive", {"agent__lifecycle": "retired"}),
    ]

    told = []
    for place in range(len(faults)):
        later: dict[str, Any] = {}
        for _, changes in reversed(faults[place:]):
            later |= changes
        told.append((await refused(keeper, **later)).code)

    assert told == [code for code, _ in faults]


# --- what channels tell reaches the agent


TOKENS = [
    {"text": text, "confidence": confidence, "start_ms": 200 * place, "end_ms": 200 * place + 190}
    for place, (text, confidence) in enumerate(
        [("where", 0.98), ("is", 0.97), ("my", 0.96), ("order", 0.91), ("fifty", 0.58), ("five", 0.83)]
    )
]
SPOKEN = {
    "asr": {
        "final": True,
        "truncated": True,
        "tokens": TOKENS,
        "speaker_turns": [{"speaker": "caller", "start_ms": 0, "end_ms": 1_400, "first_token": 0, "last_token": 5}],
    }
}
MAILED = {
    "sender": "ann@example.org",
    "message_id": "<m2@example.org>",
    "references": ["<m1@example.org>"],
    "parts": [{"name": "kettle.jpg", "media_type": "image/jpeg", "sha256": PHOTO["sha256"]}],
}
TOLD: list[tuple[str, dict[str, Any]]] = [
    ("app_chat", {"typing": {"duration_ms": 4_200}, "user_role_hint": "customer"}),
    ("email", MAILED),
    ("voice", SPOKEN),
    ("api", {"schema_ref": "orders/1", "caller_service": "billing"}),
    ("webhook", {"signature": {"scheme": "v1", "verified": True}, "delivery_attempt": 2}),
    ("sms", {"from_e164": "+4915112345678", "carrier": {"name": "one"}, "segments": 2}),
]


@pytest.mark.parametrize(("channel", "signals"), TOLD, ids=[name for name, _ in TOLD])
async def test_behaviour_16_17_20_21_23_every_signal_of_a_channel_reaches_the_agent(
    keeper: Turnkeeper, channel: str, signals: dict[str, Any]
) -> None:
    spy = await a_desk(keeper)

    await answered(
        keeper,
        input__intent="",
        input__message="hello",
        input__channel=channel,
        input__context={"channel_signals": signals, "order_id": "ord_55"},
        attachments=[PHOTO],
    )

    (event,) = spy.turns[0].events
    told = event.metadata["channel"]
    assert told["name"] == channel
    assert {name: told[name] for name in signals if name != "asr"} == {
        name: value for name, value in signals.items() if name != "asr"
    }
    assert [each.sha256 for each in event.attachments] == [PHOTO["sha256"]]


async def test_behaviour_18_24_25_what_was_heard_badly_is_told_with_how_badly(keeper: Turnkeeper) -> None:
    spy = await a_desk(keeper)

    reply = await answered(
        keeper,
        input__intent="",
        input__channel="voice",
        input__message="where is my order fifty five",
        input__context={"channel_signals": SPOKEN},
    )

    (event,) = spy.turns[0].events
    asr = event.metadata["channel"]["asr"]
    assert event.confidence is not None
    assert 0.58 < event.confidence < 0.98
    assert [token["confidence"] for token in asr["tokens"]] == [token["confidence"] for token in TOKENS]
    assert len(asr["speaker_turns"]) == 1
    assert {"asr_truncated", "asr_low_confidence"} <= set(reply.warnings)


async def test_behaviour_19_a_typed_payload_reaches_the_agent_as_it_was_sent(keeper: Turnkeeper) -> None:
    spy = await a_desk(keeper)
    payload = {"order": {"id": 55, "lines": [1.5, None, True, "ü"]}}

    await answered(
        keeper, input__intent="", input__channel="api", input__message="", input__context={"payload": payload}
    )

    (event,) = spy.turns[0].events
    assert (event.type, event.payload, event.text) == ("structured_request", payload, "")


# --- sessions


async def test_behaviour_29_54_earlier_events_come_before_the_new_one_each_once(opened: Open) -> None:
    compiler = Recording()
    async with opened(compiler=compiler) as keeper:
        await a_desk(keeper)
        reply = await answered(keeper, input__message="turn 1", attachments=[PHOTO])
        for number in (2, 3, 4):
            await answered(keeper, session_id=reply.session_id, input__message=f"turn {number}")

    events = compiler.states[-1].events
    said = [placed.event.text for placed in events if placed.role == "user"]
    assert said == ["turn 1", "turn 2", "turn 3", "turn 4"]
    assert [placed.origin for placed in events] == [Origin.HISTORY] * 6 + [Origin.LIVE]
    assert len({placed.id for placed in events}) == 7
    assert [each.sha256 for each in events[0].event.attachments] == [PHOTO["sha256"]]
    assert events[0].event.metadata["channel"]["typing"] == {"duration_ms": 4200}


async def test_behaviour_30_without_a_session_there_is_no_past(opened: Open) -> None:
    compiler = Recording()
    async with opened(compiler=compiler) as keeper:
        await a_desk(keeper)
        await answered(keeper)
        await answered(keeper)

    assert [placed.origin for placed in compiler.states[-1].events] == [Origin.LIVE]


async def test_behaviour_31_a_session_of_another_tenant_or_user_does_not_exist(keeper: Turnkeeper) -> None:
    spy = await a_desk(keeper)
    mine = await answered(keeper)
    stranger = Principal(tenant=TenantId("globex"), user=UserId("gus"), role=Role.OWNER)

    elsewhere = await refused(keeper, stranger, tenant_id="globex", session_id=mine.session_id)
    other_user = await refused(keeper, user__user_id="usr_200", session_id=mine.session_id)

    assert (elsewhere.code, other_user.code) == ("session_not_found",) * 2
    assert len(spy.turns) == 1


class Recording:
    """A compiler that keeps what it was told, and can be made to fail or to lose the trace."""

    def __init__(self, error: Exception | None = None) -> None:
        self.states: list[SessionState] = []
        self.contexts: list[RunContext] = []
        self.error = error

    def compile(self, state: SessionState, context: RunContext, packs: tuple[Pack, ...]) -> CompiledContext:
        self.states.append(state)
        self.contexts.append(context)
        if self.error is not None:
            raise self.error
        return CompiledContext(trace_id=context.trace_id, task=state.live[0].text, most_tokens=10)


async def test_behaviour_32_the_compiler_is_told_the_session_before_the_agent_is_asked(opened: Open) -> None:
    compiler = Recording()
    async with opened(compiler=compiler) as keeper:
        spy = await a_desk(keeper)
        reply = await answered(keeper, mode="batch")

    (state,) = compiler.states
    assert (state.session_id, state.turn, state.channel, state.locale) == (reply.session_id, 1, "app_chat", "en-GB")
    assert state.classification == "INTERNAL"
    assert spy.turns[0].compiled.task == "I want to send back the blue kettle."


async def test_behaviour_33_a_compiler_that_fails_fails_the_run_which_was_accepted(opened: Open) -> None:
    async with opened(compiler=Recording(ValueError("no"))) as keeper:
        spy = await a_desk(keeper)
        ticket = await keeper.invoke(an_envelope())
        with pytest.raises(TurnkeeperError) as caught:
            await keeper.reply_to(ticket)
        bodies = [entry.body async for entry in keeper.audit_entries() if ticket.run.id in entry.body]

    assert (caught.value.code, caught.value.stage) == ("compile_failed", "materialize")
    assert spy.turns == []
    assert '"outcome":"accepted"' in bodies[0]


async def test_the_compiled_context_stays_within_its_bound(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings, prompt_tokens=40) as keeper:
        spy = await a_desk(keeper)
        reply = await answered(keeper)
        for _ in range(3):
            await answered(keeper, session_id=reply.session_id, input__message="x" * 60)

    compiled = spy.turns[-1].compiled
    assert compiled.tokens <= 40
    assert compiled.dropped
    assert compiled.system == "Be brief."
    assert compiled.messages[-1] == {"role": "user", "content": "x" * 60}


# --- pins


async def test_behaviour_42_43_other_packs_than_those_of_the_first_turn_are_refused(keeper: Turnkeeper) -> None:
    spy = await a_desk(keeper)
    await keeper.packs.push({**HELPDESK, "pack.yaml": HELPDESK["pack.yaml"].replace("1.4.0", "1.5.0")})
    await keeper.packs.push({"pack.yaml": "id: tone\nversion: 0.3.1\nclassification: PUBLIC\n"})
    both = ["helpdesk@1.4.0", "tone@0.3.1"]
    first = await answered(keeper, context_pack_refs=both)

    wrong = [["helpdesk@1.5.0", "tone@0.3.1"], ["helpdesk@1.4.0"], [*both, "helpdesk-2@1.0.0"]]
    codes = [(await refused(keeper, session_id=first.session_id, context_pack_refs=refs)).code for refs in wrong]
    again = await answered(keeper, session_id=first.session_id, context_pack_refs=both[::-1])

    assert codes == ["pack_version_mismatch"] * 3
    assert again.turn == 2
    assert len(spy.turns) == 2


# --- limits


async def test_behaviour_44_a_tenant_that_sends_too_much_is_held_back_and_no_other(settings: Settings) -> None:
    # So slow that nothing comes in while the test runs.
    policy = Policy(rate=Rate(per_second=0.01, burst=5))
    async with Turnkeeper.open(settings=settings, policy=policy) as one:
        for _ in range(5):
            await one.limits.admit(LOCAL.tenant)
        with pytest.raises(TurnkeeperError) as caught:
            await one.limits.admit(LOCAL.tenant)
        await one.limits.admit(TenantId("globex"))

    assert (caught.value.code, caught.value.http_status) == ("rate_limited", 429)
    assert 0 < (caught.value.retry_after_ms or 0) <= 100_000


async def test_a_tenant_that_has_waited_may_send_again(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings, policy=Policy(rate=Rate(per_second=20, burst=1))) as one:
        await one.limits.admit(LOCAL.tenant)

        await eventually(lambda: is_admitted(one))


async def test_two_nodes_share_what_a_tenant_may_send_whatever_their_clocks_say(settings: Settings) -> None:
    policy, early = Policy(rate=Rate(per_second=0.01, burst=40)), SteppedClock()
    early.step(timedelta(days=365).total_seconds())
    async with (
        Turnkeeper.open(settings=settings, clock=SteppedClock(), policy=policy) as one,
        Turnkeeper.open(settings=settings, clock=early, policy=policy) as other,
    ):
        admitted = [await is_admitted((one, other)[number % 2]) for number in range(60)]

    assert sum(admitted) == 40
    assert all(admitted[:40])


async def test_a_node_takes_no_more_in_advance_than_comes_in_soon(settings: Settings) -> None:
    policy, clock = Policy(rate=Rate(per_second=0.01, burst=160)), SteppedClock()
    async with Turnkeeper.open(settings=settings, clock=clock, policy=policy) as one:
        admitted = []
        for _ in range(160):
            admitted.append(await is_admitted(one))
            # What a node holds in advance is for a second, and lost then.
            clock.step(2)

    assert all(admitted)


async def is_admitted(keeper: Turnkeeper) -> bool:
    try:
        await keeper.limits.admit(LOCAL.tenant)
    except RateLimited:
        return False
    return True


async def test_no_more_long_runs_than_allowed_are_taken_in(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings, long_runs=2) as keeper:
        await a_desk(keeper)
        gate = asyncio.Event()

        @keeper.agent("patient")
        async def patient(turn: Any) -> str:
            await gate.wait()
            return "done"

        wanted: dict[str, Any] = {"agent__agent_id": "patient", "mode": "long_running"}
        tickets = [await keeper.invoke(an_envelope(**wanted)) for _ in range(2)]
        error = await refused(keeper, **wanted)
        gate.set()
        for ticket in tickets:
            await keeper.reply_to(ticket)
        await answered(keeper, **wanted)

    assert (error.code, error.http_status, error.retryable) == ("too_many_long_runs", 429, True)


# --- how long a session lives


async def test_behaviour_46_47_a_session_lives_as_long_as_the_highest_class_of_its_packs_lets_it(
    settings: Settings,
) -> None:
    clock = SteppedClock()
    async with Turnkeeper.open(settings=settings, clock=clock, idle_seconds=365 * 86_400) as keeper:
        await a_desk(keeper)
        for name in ("PUBLIC", "CONFIDENTIAL", "RESTRICTED"):
            await keeper.packs.push({"pack.yaml": f"id: {name.lower()}\nversion: 1.0.0\nclassification: {name}\n"})
        plain: dict[str, Any] = {"input__intent": ""}
        public = await answered(keeper, context_pack_refs=["public@1.0.0"], **plain)
        mixed = await answered(keeper, context_pack_refs=["public@1.0.0", "confidential@1.0.0"], **plain)
        secret = await answered(keeper, context_pack_refs=["restricted@1.0.0"], **plain)
        clock.step(timedelta(hours=2).total_seconds())

        gone = await refused(keeper, session_id=secret.session_id, context_pack_refs=["restricted@1.0.0"], **plain)
        held = [await keeper.session(reply.session_id) for reply in (public, mixed)]
        clock.step(timedelta(hours=23).total_seconds())
        later = [(await keeper.session(reply.session_id)).status for reply in (public, mixed)]

    assert (gone.code, gone.http_status) == ("session_expired", 410)
    assert [session.classification for session in held] == ["PUBLIC", "CONFIDENTIAL"]
    assert later == ["active", "expired"]


async def test_a_session_ends_by_its_band_however_busy_it_is(settings: Settings) -> None:
    clock = SteppedClock()
    async with Turnkeeper.open(settings=settings, clock=clock) as keeper:
        await a_desk(keeper)
        await keeper.packs.push({"pack.yaml": "id: secret\nversion: 1.0.0\nclassification: RESTRICTED\n"})
        wanted: dict[str, Any] = {"context_pack_refs": ["secret@1.0.0"], "input__intent": ""}
        first = await answered(keeper, **wanted)
        for _ in range(47):
            clock.step(timedelta(minutes=30).total_seconds())
            await answered(keeper, session_id=first.session_id, **wanted)
        held = await keeper.session(first.session_id)
        clock.step(timedelta(minutes=31).total_seconds())

        error = await refused(keeper, session_id=first.session_id, **wanted)

    assert held.expires_at == held.expires_by == held.created_at + timedelta(days=1)
    assert error.code == "session_expired"


# --- audit


async def test_behaviour_48_49_every_envelope_is_audited_and_no_word_of_a_user_is(keeper: Turnkeeper) -> None:
    await a_desk(keeper)
    before = len([entry async for entry in keeper.audit_entries()])

    await answered(keeper, input__message="marker-in-message", user__delegation__token_ref="marker-in-token")
    await refused(keeper, mode="marker-mode")
    await refused(keeper, input__message="marker-in-message", input__channel="pigeon")
    with pytest.raises(TurnkeeperError):
        await keeper.invoke("not an object")

    bodies = [entry.body async for entry in keeper.audit_entries()][before:]
    assert len(bodies) == 4
    assert "marker-in" not in "".join(bodies)
    assert (await keeper.verify_audit()).holds


# --- what came along


async def test_behaviour_53_a_channel_that_loses_what_was_attached_is_a_fault_of_ours(keeper: Turnkeeper) -> None:
    spy = await a_desk(keeper)
    keeper.add_channel(Forgetful())

    error = await refused(keeper, input__channel="forgetful", attachments=[PHOTO])

    assert (error.code, error.http_status, error.stage) == ("normalization_failed", 500, "normalize")
    assert "art_9" in str(error.details)
    assert spy.turns == []


class Forgetful:
    name = "forgetful"

    def read(self, raw: Any, terms: Any, *, now: float) -> Any:
        raise NotImplementedError

    def normalize(self, said: Any) -> Any:
        from turnkeeper.model.event import Event

        return Event(text=said.message)


async def test_behaviour_55_the_language_reaches_the_agent_and_its_absence_is_said(keeper: Turnkeeper) -> None:
    spy = await a_desk(keeper)

    await answered(keeper)
    reply = await answered(keeper, input__locale=...)

    assert [turn.events[0].locale for turn in spy.turns] == ["en-GB", None]
    assert "locale_missing" in reply.warnings


async def test_behaviour_57_the_same_request_is_answered_once_and_another_under_its_name_is_refused(
    keeper: Turnkeeper,
) -> None:
    spy = await a_desk(keeper)
    document = an_envelope()

    first = await keeper.reply_to(await keeper.invoke(document))
    again = await keeper.reply_to(await keeper.invoke(document))
    error = await refused(keeper, request_id=document["request_id"], input__message="something else")

    assert (first.run_id, first.text) == (again.run_id, again.text)
    assert (error.code, error.http_status) == ("duplicate_request", 409)
    assert len(spy.turns) == 1


async def test_behaviour_58_two_turns_at_once_on_one_session_follow_each_other(keeper: Turnkeeper) -> None:
    spy: Spy = await a_desk(keeper)
    first = await answered(keeper)

    replies = await asyncio.gather(
        *(answered(keeper, session_id=first.session_id, input__message=f"at once {number}") for number in range(4))
    )

    messages = await keeper.messages(first.session_id)
    assert sorted(reply.turn or 0 for reply in replies) == [2, 3, 4, 5]
    assert [message.role for message in messages] == ["user", "assistant"] * 5
    assert len(spy.turns) == 5


async def test_an_envelope_that_is_read_leniently_is_completed_and_that_is_said(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings, envelopes="lenient") as keeper:
        spy = await a_desk(keeper)
        reply = await answered(keeper, trace=..., user__delegation__subject=..., user__delegation__auth_type=...)

    assert "envelope_defaulted" in reply.warnings
    assert len(spy.turns[0].context.trace_id) == 32
    assert spy.turns[0].context.grants == ("orders.read", "orders.return")


async def test_a_limit_that_is_not_known_is_told_back(keeper: Turnkeeper) -> None:
    await a_desk(keeper)

    reply = await answered(keeper, runtime__max_patience=3)

    assert "limit_unknown" in reply.warnings
