"""What operators see: the audit by its facts, what is counted, and one trace through everything."""

import asyncio
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.story.envelopes import HELPDESK, TRACE, a_desk, an_envelope, answered
from turnkeeper import Settings, Turnkeeper
from turnkeeper.errors import NotAllowed, TurnkeeperError
from turnkeeper.keeping.audit import AuditQuery
from turnkeeper.model.audit import GENESIS, chain_hash
from turnkeeper.model.compiled import CompiledContext
from turnkeeper.model.ids import TraceId, UserId
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.testing.clock import SteppedClock


async def refused(keeper: Turnkeeper, **changes: Any) -> str:
    with pytest.raises(TurnkeeperError) as caught:
        await answered(keeper, **changes)
    return caught.value.code


# --- the audit


async def test_the_audit_of_an_envelope_tells_all_but_what_was_said(keeper: Turnkeeper) -> None:
    await a_desk(keeper)
    reply = await answered(keeper, runtime__max_patience=1)

    (found,) = await keeper.audit.find(AuditQuery(facts={"run_id": reply.run_id}))

    expected = {
        "verb": "invoke",
        "outcome": "accepted",
        "trace_id": TRACE,
        "session_id": reply.session_id,
        "user_id": "usr_100",
        "agent_id": "spy",
        "channel": "app_chat",
        "mode": "batch",
        "intent": "ORDERS_RETURN",
        "context_pack_refs": ["helpdesk@1.4.0"],
        "scopes_effective": ["orders.read", "orders.return"],
        "safety_mode": "read_only",
        "warnings": ["limit_unknown"],
        "acted_by": "local",
        "budget_limits": {"plan_timeout_ms": 15_000, "max_tool_calls": 6, "max_cost_cents": 20.0},
    }
    assert {name: found.facts[name] for name in expected} == expected
    assert len(found.facts["envelope_sha256"]) == 64
    assert found.facts["acceptance_ms"] >= 0


async def test_the_audit_is_sought_by_its_facts_newest_first_in_pages(settings: Settings) -> None:
    clock = SteppedClock()
    async with Turnkeeper.open(settings=settings, clock=clock) as keeper:
        await a_desk(keeper)
        for _ in range(5):
            clock.step(1)
            await refused(keeper, input__channel="pigeon")
        middle = clock.now() - timedelta(seconds=2)
        query = AuditQuery(facts={"outcome": "channel_unsupported"})

        first = await keeper.audit.find(query, limit=3)
        second = await keeper.audit.find(query, limit=3, before=first[-1].id)
        since = await keeper.audit.find(AuditQuery(facts=query.facts, since=middle))
        until = await keeper.audit.find(AuditQuery(facts=query.facts, until=middle))

    moments = [each.at for each in (*first, *second)]
    assert (len(first), len(second)) == (3, 2)
    assert moments == sorted(moments, reverse=True)
    assert (len(since), len(until)) == (3, 2)
    assert {each.facts["stage"] for each in first} == {"normalize"}


async def test_refusals_are_counted_by_their_reason(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SteppedClock()
    async with Turnkeeper.open(settings=settings, clock=clock) as keeper:
        await a_desk(keeper)
        await refused(keeper, input__channel="fax")
        clock.step(25 * 3600)
        for channel in ("pigeon", "drum"):
            clock.step(1)
            await refused(keeper, input__channel=channel)
        await answered(keeper)
        last = clock.now()
        clock.step(1)

        told = await keeper.audit.reasons()
        all_of_them = await keeper.audit.reasons(since=last - timedelta(days=3))
        done = await keeper.audit.find(AuditQuery(facts={"verb": "invoke"}, refused=False))
        monkeypatch.setattr("turnkeeper.keeping.audit.MOST_COUNTED", 2)
        cut = await keeper.audit.reasons()

    (counted,) = told.items
    assert (counted.reason, counted.count, counted.last_at) == ("channel_unsupported", 2, last)
    assert (told.until - told.since, told.is_whole) == (timedelta(days=1), True)
    assert [item.count for item in all_of_them.items] == [3]
    assert {each.facts["outcome"] for each in done} == {"accepted"}
    assert (cut.is_whole, cut.items[0].count, cut.since < last) == (False, 1, True)


async def test_an_export_can_be_verified_without_us(keeper: Turnkeeper) -> None:
    await a_desk(keeper)
    await answered(keeper)

    lines = [json.loads(line) async for line in keeper.audit.export()]

    heads: dict[str, bytes] = {}
    for line in lines:
        before = heads.get(line["chain"], GENESIS)
        heads[line["chain"]] = chain_hash(before, line["tenant"], line["chain"], line["no"], line["body"])
        assert heads[line["chain"]].hex() == line["hash"]
    assert len(lines) >= 2


async def test_only_owner_and_admin_read_the_audit(keeper: Turnkeeper) -> None:
    with pytest.raises(NotAllowed):
        await keeper.audit.find(principal=Principal(tenant=LOCAL.tenant, user=UserId("ben")))


# --- what is counted


async def test_behaviour_50_what_is_counted_agrees_with_what_came(keeper: Turnkeeper) -> None:
    await a_desk(keeper)
    await keeper.packs.push({**HELPDESK, "pack.yaml": HELPDESK["pack.yaml"].replace("1.4.0", "1.5.0")})
    first = await answered(keeper)
    await answered(keeper, session_id=first.session_id)
    await refused(keeper, session_id=first.session_id, context_pack_refs=["helpdesk@1.5.0"])
    await refused(keeper, mode="async")

    tenant, told = LOCAL.tenant, keeper.metrics().decode()

    assert keeper.telemetry.rejected_envelope_rate(tenant, "schema_invalid") == 0.25
    assert keeper.telemetry.rejected_envelope_rate(tenant, "pack_version_mismatch") == 0.25
    assert keeper.telemetry.session_resume_success_rate(tenant) == 0.5
    counts = [line for line in told.splitlines() if line.startswith("turnkeeper_acceptance_duration_ms_count")]
    assert sum(float(line.rsplit(" ", 1)[1]) for line in counts) == 4
    assert 'turnkeeper_session_resume_total{outcome="refused",reason="pack_version_mismatch"' in told
    assert "turnkeeper_trace_context_propagation_rate 1.0" in told
    assert "kettle" not in told


async def test_a_message_that_is_refused_is_counted_with_its_channel(keeper: Turnkeeper) -> None:
    with pytest.raises(TurnkeeperError):
        await keeper.chat("hello", session_id="sess_nowhere", on_missing="error")

    told = keeper.metrics().decode()

    labels = 'channel="app_chat",mode="batch",outcome="rejected",reason="session_not_found"'
    assert f"turnkeeper_envelopes_total{{{labels}" in told


class Slow:
    """A compiler that takes its time."""

    def __init__(self) -> None:
        self.began = asyncio.Event()

    def compile(self, state: Any, context: Any, packs: Any) -> CompiledContext:
        self.began.set()
        total = 0
        for number in range(400_000):
            total += number
        return CompiledContext(trace_id=context.trace_id, most_tokens=total)


async def test_behaviour_51_what_the_compiler_takes_is_no_part_of_acceptance(settings: Settings) -> None:
    compiler = Slow()
    async with Turnkeeper.open(settings=settings, compiler=compiler) as keeper:
        await a_desk(keeper)
        ticket = await keeper.invoke(an_envelope())
        # The caller is told before the compiler has begun: its time cannot be in what was measured.
        was_accepted_first = not compiler.began.is_set()
        await keeper.reply_to(ticket)

    assert was_accepted_first
    assert compiler.began.is_set()


class Careless:
    """A compiler that loses the trace when it is told to."""

    def compile(self, state: Any, context: Any, packs: Any) -> CompiledContext:
        lost = TraceId("f" * 32)
        return CompiledContext(trace_id=lost if "lose" in state.live[0].text else context.trace_id)


async def test_behaviour_52_one_trace_goes_through_every_run_and_a_part_that_loses_it_shows(
    settings: Settings,
) -> None:
    async with Turnkeeper.open(settings=settings, compiler=Careless()) as keeper:
        await a_desk(keeper)
        for number in range(20):
            await answered(keeper, trace__trace_id=f"{number + 1:032x}", input__message="keep it")
        whole = keeper.telemetry.trace_context_propagation_rate()
        await answered(keeper, input__message="lose it")
        broken = keeper.telemetry.trace_context_propagation_rate()

    assert whole == 1.0
    assert broken == 20 / 21


# --- spans


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> Iterator[InMemorySpanExporter]:
    exporter.clear()
    yield exporter
    exporter.clear()


async def test_every_step_is_a_span_under_that_of_the_caller(settings: Settings, spans: InMemorySpanExporter) -> None:
    async with Turnkeeper.open(settings=settings, telemetry="otel") as keeper:
        await a_desk(keeper)
        reply = await answered(keeper)

    finished = [span for span in spans.get_finished_spans() if span.name.startswith("turnkeeper.")]
    names = [span.name.removeprefix("turnkeeper.") for span in sorted(finished, key=lambda span: span.start_time or 0)]
    assert names == [
        *("receive", "normalize", "intake"),
        *("open_session", "reset", "hold_intent", "materialize", "hand_off", "commit"),
    ]
    assert {f"{span.context.trace_id:032x}" for span in finished} == {TRACE}
    assert {f"{span.parent.span_id:016x}" for span in finished if span.parent} == {"b7ad6b7169203331"}
    assert reply.run_id in {(span.attributes or {}).get("turnkeeper.run_id") for span in finished}
    assert "kettle" not in " ".join(span.to_json() for span in finished)


async def test_a_trace_that_the_caller_does_not_sample_stays_unsampled(
    settings: Settings, spans: InMemorySpanExporter
) -> None:
    async with Turnkeeper.open(settings=settings, telemetry="otel") as keeper:
        await a_desk(keeper)
        await answered(keeper, trace__trace_flags="00")

    assert spans.get_finished_spans() == ()
