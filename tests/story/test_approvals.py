"""Approvals: a run waits for a person, a session does not, and time decides when nobody does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from turnkeeper import AgentTurn, Principal, Reply, Role, Settings, TenantId, ToolCall, Turnkeeper, UserId
from turnkeeper.errors import ApprovalDecided, ApprovalNotFound, ApprovalOpen, MayNotDecide, ScopeDenied
from turnkeeper.keeping.scoping import Pin
from turnkeeper.model.approval import Approval, ApprovalStatus
from turnkeeper.model.gate import GateKind, GateRule, TimeoutAction
from turnkeeper.model.ids import PointerId
from turnkeeper.model.mount import MountKind
from turnkeeper.model.pointer import Expected
from turnkeeper.model.policy import Policy
from turnkeeper.model.principal import LOCAL
from turnkeeper.model.run import RunStatus
from turnkeeper.testing.clock import SteppedClock

ACME = TenantId("acme")
ADA = Principal(tenant=ACME, user=UserId("ada"), role=Role.ADMIN)
OLGA = Principal(tenant=ACME, user=UserId("olga"), role=Role.OWNER)
BEN = Principal(tenant=ACME, user=UserId("ben"))
GUS = Principal(tenant=TenantId("globex"), user=UserId("gus"), role=Role.OWNER)


class Crm:
    """A world outside that remembers what was written to it."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def serve(self, keeper: Turnkeeper) -> None:
        @keeper.tool("connector.crm.write", safety_mode="read_only")
        async def write(line: str) -> int:
            """Write a line to the customer's file."""
            self.written.append(line)
            return len(self.written)

        @keeper.agent("clerk")
        async def clerk(turn: AgentTurn) -> AsyncIterator[str]:
            yield "Writing. "
            result = await turn.call("connector.crm.write", line=turn.text)
            yield f"{result.status} {result.code or result.data}"


@pytest.fixture
def crm() -> Crm:
    return Crm()


def rule(**changes: object) -> GateRule:
    plain = {"action": "connector.crm.write", "kind": GateKind.APPROVE, "required_role": Role.ADMIN}
    return GateRule(**(plain | changes))  # type: ignore[arg-type]


@asynccontextmanager
async def a_keeper(
    settings: Settings, crm: Crm, *rules: GateRule, clock: SteppedClock | None = None
) -> AsyncIterator[Turnkeeper]:
    async with Turnkeeper.open(settings=settings, policy=Policy(gates=rules), clock=clock) as keeper:
        crm.serve(keeper)
        yield keeper


async def pending(keeper: Turnkeeper, principal: Principal = ADA) -> Approval:
    (approval,) = await keeper.approvals.list(principal=principal, status="pending")
    return approval


async def answered(keeper: Turnkeeper, run_id: str, principal: Principal = BEN) -> Reply:
    run = await keeper.run(run_id, principal=principal)
    async for _ in keeper.follow(run):
        pass
    reply = await keeper.reply_of(await keeper.run(run_id, principal=principal))
    assert reply is not None
    return reply


async def test_nyqst_54_a_gated_action_waits_for_a_person_and_goes_on_when_one_approves(
    settings: Settings, crm: Crm
) -> None:
    async with a_keeper(settings, crm, rule()) as keeper:
        asked = await keeper.chat("Call back", agent="clerk", principal=BEN)
        approval = await pending(keeper)
        assert (asked.status, crm.written) == (RunStatus.WAITING, [])
        assert approval.run_id == asked.run_id
        assert "connector.crm.write" in approval.context["summary"]
        assert "Call back" in approval.context["arguments"]

        decided = await keeper.approvals.decide(approval.id, approve=True, reason="fine", principal=ADA)
        reply = await answered(keeper, asked.run_id)
        said = [(message.role, message.content) for message in await keeper.messages(reply.session_id, principal=BEN)]

    assert said == [("user", "Call back"), ("assistant", "Writing. "), ("assistant", "ok 1")]
    assert (decided.status, decided.decided_by, decided.reason) == (ApprovalStatus.APPROVED, "ada", "fine")
    assert (reply.status, reply.text) == (RunStatus.COMPLETED, "ok 1")
    assert crm.written == ["Call back"]


async def test_a_rejection_is_told_to_the_agent_and_the_run_completes(settings: Settings, crm: Crm) -> None:
    async with a_keeper(settings, crm, rule()) as keeper:
        asked = await keeper.chat("Call back", agent="clerk", principal=BEN)
        await keeper.approvals.decide((await pending(keeper)).id, approve=False, principal=ADA)
        reply = await answered(keeper, asked.run_id)

    assert reply.text == "denied approval_required"
    assert crm.written == []


async def test_a_session_goes_on_while_one_of_its_runs_waits_for_an_approval(settings: Settings, crm: Crm) -> None:
    async with a_keeper(settings, crm, rule()) as keeper:
        asked = await keeper.chat("Call back", agent="clerk", principal=BEN)
        other = await keeper.chat("And you?", session_id=asked.session_id, agent="echo", principal=BEN)
        await keeper.approvals.decide((await pending(keeper)).id, approve=True, principal=ADA)
        reply = await answered(keeper, asked.run_id)

    assert other.status is RunStatus.COMPLETED
    assert (reply.turn, reply.text) == (2, "ok 1")


async def test_an_approval_survives_the_node_that_asked_for_it(settings: Settings, crm: Crm) -> None:
    async with a_keeper(settings, crm, rule()) as keeper:
        asked = await keeper.chat("Call back", agent="clerk", principal=BEN)

    async with a_keeper(settings, crm, rule()) as later:
        await later.approvals.decide((await pending(later)).id, approve=True, principal=ADA)
        reply = await answered(later, asked.run_id)

    assert (reply.text, crm.written) == ("ok 1", ["Call back"])


async def test_only_the_role_that_is_asked_for_decides_and_a_yes_in_a_message_does_not(
    settings: Settings, crm: Crm
) -> None:
    async with a_keeper(settings, crm, rule()) as keeper:
        asked = await keeper.chat("Call back", agent="clerk", principal=BEN)
        approval = await pending(keeper, BEN)

        with pytest.raises(MayNotDecide):
            await keeper.approvals.decide(approval.id, approve=True, principal=BEN)
        with pytest.raises(ApprovalNotFound):
            await keeper.approvals.decide(approval.id, approve=True, principal=GUS)
        with pytest.raises(ApprovalOpen):
            await keeper.chat("yes", session_id=asked.session_id, answers=asked.run_id, principal=BEN)

        assert (await keeper.run(asked.run_id, principal=BEN)).status is RunStatus.WAITING
        assert await keeper.approvals.list(principal=GUS) == []
    assert crm.written == []


async def test_of_two_who_decide_at_once_the_first_one_counts(settings: Settings, crm: Crm) -> None:
    async with a_keeper(settings, crm, rule()) as keeper, a_keeper(settings, crm, rule()) as other:
        asked = await keeper.chat("Call back", agent="clerk", principal=BEN)
        approval = await pending(keeper)

        outcomes = await asyncio.gather(
            keeper.approvals.decide(approval.id, approve=True, principal=ADA),
            other.approvals.decide(approval.id, approve=False, principal=OLGA),
            keeper.approvals.decide(approval.id, approve=True, principal=OLGA),
            return_exceptions=True,
        )
        reply = await answered(keeper, asked.run_id)
        decided = await keeper.approvals.get(approval.id, principal=ADA)

    assert any(isinstance(outcome, ApprovalDecided) for outcome in outcomes)
    assert (reply.text == "ok 1") == (decided.status is ApprovalStatus.APPROVED)
    assert len(crm.written) == (decided.status is ApprovalStatus.APPROVED)


async def test_nyqst_56_what_nobody_decides_is_decided_by_its_rule(settings: Settings, crm: Crm) -> None:
    clock = SteppedClock()
    expected = {TimeoutAction.BLOCK: "denied approval_required", TimeoutAction.AUTO_APPROVE: "ok 1"}
    for action, text in expected.items():
        async with a_keeper(settings, crm, rule(timeout_action=action, timeout_hours=2), clock=clock) as keeper:
            asked = await keeper.chat("Call back", agent="clerk", principal=BEN)
            assert await keeper.approvals.settle_what_is_due() == 0
            clock.step(2 * 3600)
            await keeper.approvals.settle_what_is_due()
            reply = await answered(keeper, asked.run_id)
        assert reply.text == text


async def test_an_approval_that_is_escalated_waits_for_the_higher_role(settings: Settings, crm: Crm) -> None:
    clock = SteppedClock()
    escalating = rule(timeout_action=TimeoutAction.ESCALATE, timeout_hours=2)
    async with a_keeper(settings, crm, escalating, clock=clock) as keeper:
        asked = await keeper.chat("Call back", agent="clerk", principal=BEN)
        clock.step(2 * 3600)
        await keeper.approvals.settle_what_is_due()
        approval = await pending(keeper)

        with pytest.raises(MayNotDecide):
            await keeper.approvals.decide(approval.id, approve=True, principal=ADA)
        await keeper.approvals.decide(approval.id, approve=True, principal=OLGA)
        reply = await answered(keeper, asked.run_id)

    assert approval.required_role is Role.OWNER
    assert reply.text == "ok 1"


async def test_a_session_in_which_a_run_waits_for_an_approval_does_not_expire(settings: Settings, crm: Crm) -> None:
    clock = SteppedClock()
    hasty = replace(settings, answer_seconds=3600.0)
    async with a_keeper(hasty, crm, rule(timeout_hours=48), clock=clock) as keeper:
        asked = await keeper.chat("Call back", agent="clerk", principal=BEN)
        clock.step(30 * 3600)
        await keeper._dispatch.take_what_is_due()
        await keeper.expire_idle_sessions()
        still = await keeper.session(asked.session_id, principal=BEN)
        await keeper.approvals.decide((await pending(keeper)).id, approve=True, principal=ADA)
        reply = await answered(keeper, asked.run_id)

    assert still.status.value == "active"
    assert reply.text == "ok 1"


@pytest.mark.parametrize("how", ["reset", "close", "cancel"])
async def test_what_ends_a_waiting_run_cancels_its_approval(settings: Settings, crm: Crm, how: str) -> None:
    async with a_keeper(settings, crm, rule()) as keeper:
        asked = await keeper.chat("Call back", agent="clerk", principal=BEN)
        approval = await pending(keeper)
        end = {"reset": keeper.reset, "close": keeper.close_session, "cancel": keeper.cancel}[how]
        await end(asked.run_id if how == "cancel" else asked.session_id, principal=BEN)  # type: ignore[operator]

        with pytest.raises(ApprovalDecided):
            await keeper.approvals.decide(approval.id, approve=True, principal=ADA)
        cancelled = await keeper.approvals.get(approval.id, principal=ADA)

    assert cancelled.status is ApprovalStatus.CANCELLED
    assert crm.written == []


async def test_a_review_lets_the_run_go_on_and_is_looked_at_afterwards(settings: Settings, crm: Crm) -> None:
    async with a_keeper(settings, crm, rule(action="crm.note.add", kind=GateKind.REVIEW)) as keeper:

        @keeper.tool("crm.note.add")
        async def add() -> str:
            return "noted"

        @keeper.agent("noter")
        async def noter(turn: AgentTurn) -> str:
            return str((await turn.call("crm.note.add")).data)

        reply = await keeper.chat("Note", agent="noter", principal=BEN)
        approval = await pending(keeper)
        looked_at = await keeper.approvals.decide(approval.id, approve=False, reason="no", principal=ADA)

    assert (reply.text, reply.status) == ("noted", RunStatus.COMPLETED)
    assert looked_at.status is ApprovalStatus.REJECTED


@pytest.mark.parametrize("how", ["reset", "close"])
async def test_a_review_of_what_is_over_is_asked_for_no_longer(settings: Settings, crm: Crm, how: str) -> None:
    async with a_keeper(settings, crm, rule(action="crm.note.add", kind=GateKind.REVIEW)) as keeper:

        @keeper.tool("crm.note.add")
        async def add() -> str:
            return "noted"

        @keeper.agent("noter")
        async def noter(turn: AgentTurn) -> str:
            return str((await turn.call("crm.note.add")).data)

        reply = await keeper.chat("Note", agent="noter", principal=BEN)
        approval = await pending(keeper)

        await {"reset": keeper.reset, "close": keeper.close_session}[how](reply.session_id, principal=BEN)  # type: ignore[operator]

        assert (await keeper.approvals.get(approval.id, principal=ADA)).status is ApprovalStatus.CANCELLED


async def test_several_gated_calls_of_one_run_are_decided_one_by_one_and_done_once(
    settings: Settings, crm: Crm
) -> None:
    async with a_keeper(settings, crm, rule()) as keeper:

        @keeper.agent("busy")
        async def busy(turn: AgentTurn) -> str:
            one = await turn.call("connector.crm.write", line="one")
            two = await turn.call("connector.crm.write", line="two")
            return f"{one.status} {two.status}"

        asked = await keeper.chat("Both", agent="busy", principal=BEN)
        for _ in range(2):
            approval = await pending(keeper)
            await keeper.approvals.decide(approval.id, approve=True, principal=ADA)
            run = await keeper.run(asked.run_id, principal=BEN)
            async for frame in keeper.follow(run, after=0):
                if frame.type in ("run.completed",) or (
                    frame.type == "approval.requested" and frame.data["approval_id"] != approval.id
                ):
                    break
        reply = await answered(keeper, asked.run_id)

    assert reply.text == "ok ok"
    assert crm.written == ["one", "two"]


async def test_what_was_done_before_a_policy_became_stricter_is_not_asked_about(settings: Settings, crm: Crm) -> None:
    def serve(keeper: Turnkeeper) -> None:
        @keeper.agent("careful")
        async def careful(turn: AgentTurn) -> str:
            result = await turn.call("crm.line.add")
            return f"{result.data} {await turn.ask('Go on?')}"

        @keeper.tool("crm.line.add")
        async def add() -> int:
            crm.written.append("line")
            return len(crm.written)

    async with Turnkeeper.open(settings=settings) as lax:
        serve(lax)
        asked = await lax.chat("Add", agent="careful")
    async with Turnkeeper.open(settings=settings, policy=Policy(gates=(rule(action="crm.*"),))) as strict:
        serve(strict)
        reply = await strict.chat("yes", session_id=asked.session_id, answers=asked.run_id)

    assert (reply.text, crm.written) == ("1 yes", ["line"])


async def test_a_client_that_keeps_its_session_is_denied_what_needs_a_person(settings: Settings, crm: Crm) -> None:
    async with a_keeper(settings, crm, rule()) as keeper:
        reply = await keeper.chat("Call back", agent="clerk", custody="client")

    assert reply.text == "Writing. denied approval_required"
    assert crm.written == []


async def test_a_review_is_asked_for_once_however_often_the_run_comes_by(settings: Settings, crm: Crm) -> None:
    async with a_keeper(settings, crm, rule(action="crm.note.add", kind=GateKind.REVIEW)) as keeper:

        @keeper.tool("crm.note.add")
        async def add() -> str:
            return "noted"

        @keeper.agent("noter")
        async def noter(turn: AgentTurn) -> str:
            result = await turn.call("crm.note.add")
            return f"{result.data} {await turn.ask('Go on?')}"

        asked = await keeper.chat("Note", agent="noter", principal=BEN)
        await keeper.chat("yes", session_id=asked.session_id, answers=asked.run_id, principal=BEN)

        assert len(await keeper.approvals.list(principal=ADA)) == 1


async def test_inside_a_tool_its_own_action_is_settled_and_every_other_gate_is_closed(settings: Settings) -> None:
    gates = (rule(action="docs.tidy"), rule(action="docs.burn"))
    async with Turnkeeper.open(settings=settings, policy=Policy(gates=gates)) as keeper:

        @keeper.tool("docs.tidy")
        async def tidy(call: ToolCall) -> str:
            await call.check("docs.tidy")
            try:
                await call.check("docs.burn")
            except ScopeDenied as denied:
                return denied.denial.value
            return "burnt"

        @keeper.agent("tidy")
        async def tidying(turn: AgentTurn) -> str:
            return str((await turn.call("docs.tidy")).data)

        asked = await keeper.chat("Tidy up", agent="tidy")
        (approval,) = await keeper.approvals.list(status="pending")
        await keeper.approvals.decide(approval.id, approve=True)
        reply = await answered(keeper, asked.run_id, LOCAL)

    assert reply.text == "approval_required"


async def a_shelf(keeper: Turnkeeper, *names: str, kind: str = "corpus") -> tuple[list[str], list[PointerId]]:
    """Two manifests, and pointers of these names that have stood at the second and stand at the first one."""
    manifests, pointers = [], []
    for text in (b"one", b"two"):
        artifact = await keeper.artifacts.keep(text, media_type="text/plain")
        manifests.append((await keeper.manifests.create({"a.txt": artifact}))[0].sha256)
    for name in names:
        pointers.append((await keeper.pointers.create(name, kind=kind, manifest=manifests[1])).id)
        await keeper.pointers.advance(pointers[-1], manifests[0])
    return manifests, pointers


async def test_what_is_approved_for_one_pointer_says_nothing_of_another(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings) as keeper:
        (_, new), (one, other) = await a_shelf(keeper, "one", "other")
        wanted = [one]

        @keeper.agent("librarian")
        async def librarian(turn: AgentTurn) -> str:
            await turn.substrate.advance(wanted[0], new)
            return "moved"

        pins = [Pin(kind=MountKind.POINTER, id=each) for each in (one, other)]
        session = await keeper.create_session(agent="librarian", pins=pins)
        asked = await keeper.chat("Promote", session_id=session.id)
        (approval,) = await keeper.approvals.list(status="pending")
        assert new in approval.context["arguments"]
        wanted[0] = other
        await keeper.approvals.decide(approval.id, approve=True)
        run = await keeper.run(asked.run_id)
        async for frame in keeper.follow(run, after=0):
            if frame.type == "approval.requested" and frame.data["approval_id"] != approval.id:
                break
        (second,) = await keeper.approvals.list(status="pending")

        assert second.context["resources"] == [{"kind": "pointer", "id": other}]
        assert [(await keeper.pointers.get(each)).manifest != new for each in (one, other)] == [True, True]


async def test_a_pointer_is_moved_once_however_often_the_run_comes_by(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings) as keeper:
        (old, new), (one,) = await a_shelf(keeper, "one", kind="bundle")

        @keeper.agent("librarian")
        async def librarian(turn: AgentTurn) -> str:
            moved = await turn.substrate.advance(one, new, expected=Expected(manifest=old))
            return f"{moved.manifest == new} {await turn.ask('Go on?')}"

        session = await keeper.create_session(agent="librarian", pins=[Pin(kind=MountKind.POINTER, id=one)])
        asked = await keeper.chat("Move", session_id=session.id)
        await keeper.pointers.advance(one, old)
        reply = await keeper.chat("yes", session_id=session.id, answers=asked.run_id)

        assert reply.text == "True yes"
        assert (await keeper.pointers.get(one)).manifest == old


async def test_what_was_approved_and_is_out_of_reach_by_now_is_told_and_the_answer_is_whole(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings) as keeper:
        (_, new), (one,) = await a_shelf(keeper, "one")

        @keeper.agent("librarian")
        async def librarian(turn: AgentTurn) -> AsyncIterator[str]:
            yield "Let me see. "
            try:
                await turn.substrate.advance(one, new)
                yield "moved"
            except ScopeDenied as denied:
                yield f"It came out as {denied.denial.value}."

        pin = Pin(kind=MountKind.POINTER, id=one)
        session = await keeper.create_session(agent="librarian", pins=[pin])
        asked = await keeper.chat("Promote", session_id=session.id)
        await keeper.scoping.unpin(session.id, pin.ref)
        (approval,) = await keeper.approvals.list(status="pending")
        await keeper.approvals.decide(approval.id, approve=True)
        reply = await answered(keeper, asked.run_id, LOCAL)

    assert reply.text == "It came out as out_of_scope."


async def test_an_agent_that_may_only_read_moves_no_pointer(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings) as keeper:
        (_, new), (one,) = await a_shelf(keeper, "one", kind="bundle")

        @keeper.agent("reader", safety_mode="read_only")
        async def reader(turn: AgentTurn) -> str:
            try:
                await turn.substrate.advance(one, new)
            except ScopeDenied as denied:
                return denied.denial.value
            return "moved"

        session = await keeper.create_session(agent="reader", pins=[Pin(kind=MountKind.POINTER, id=one)])

        assert (await keeper.chat("Move", session_id=session.id)).text == "policy_denied"


@pytest.mark.parametrize("template", ["exploratory", "standard"])
async def test_nyqst_54_promoting_a_corpus_waits_for_a_person_unless_the_session_is_exploratory(
    settings: Settings, template: str
) -> None:
    async with Turnkeeper.open(settings=settings) as keeper:
        first, second = [await keeper.artifacts.keep(text, media_type="text/plain") for text in (b"one", b"two")]
        old, _ = await keeper.manifests.create({"a.txt": first})
        new, _ = await keeper.manifests.create({"a.txt": second})
        corpus = await keeper.pointers.create("corpus", kind="corpus", manifest=new.sha256)
        await keeper.pointers.advance(corpus.id, old.sha256)

        @keeper.agent("librarian")
        async def librarian(turn: AgentTurn) -> str:
            moved = await turn.substrate.advance(corpus.id, new.sha256, expected=Expected(manifest=old.sha256))
            return f"moved to {moved.manifest == new.sha256}"

        session = await keeper.create_session(
            agent="librarian", policy=template, pins=[Pin(kind=MountKind.POINTER, id=corpus.id)]
        )
        reply = await keeper.chat("Promote", session_id=session.id)
        if template == "standard":
            assert reply.status is RunStatus.WAITING
            assert (await keeper.pointers.get(corpus.id)).manifest == old.sha256
            (approval,) = await keeper.approvals.list(status="pending")
            assert (approval.action, approval.context["resources"]) == (
                "substrate.pointer.promote",
                [{"kind": "pointer", "id": corpus.id}],
            )
            await keeper.approvals.decide(approval.id, approve=True)
            reply = await answered(keeper, reply.run_id, LOCAL)

    assert (reply.status, reply.text) == (RunStatus.COMPLETED, "moved to True")
