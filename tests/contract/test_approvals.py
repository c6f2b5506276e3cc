"""What a store promises about approvals."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.contract.backends import Backend, contents
from tests.contract.builders import (
    TENANT,
    a_kept_session,
    answer,
    asking,
    audit_of,
    claim,
    feed_of,
    held,
    reset,
    run_of,
    taken_over,
    types,
)
from turnkeeper.errors import ApprovalDecided, ApprovalNotFound, ApprovalOpen, LeaseLost
from turnkeeper.model.approval import Approval, ApprovalStatus, ApprovalWish, Decision
from turnkeeper.model.checkpoint import AskKind
from turnkeeper.model.gate import GateKind, GateRule
from turnkeeper.model.ids import ApprovalId, TenantId, UserId
from turnkeeper.model.principal import Role
from turnkeeper.model.run import Run, RunStatus
from turnkeeper.model.session import Session
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON

DUE = NOON + timedelta(hours=24)


def an_approval(run: Run, id: str = "appr_1", kind: GateKind = GateKind.APPROVE) -> Approval:
    wish = ApprovalWish(
        id=ApprovalId(id),
        key="crm.write#1",
        action="crm.write",
        rule=GateRule(action="crm.*", kind=kind),
        context={"summary": "May it?", "arguments": '{"line": "é"}'},
        requested_at=NOON,
    )
    return Approval.wished(wish, run.tenant, run.id, run.session_id)


async def waiting_for_approval(store: Store, session: Session, id: str = "appr_1") -> tuple[Run, Approval]:
    run, lease = await held(store, "Write it", session)
    approval = an_approval(run, id)
    plain = asking("May it?")
    asked = replace(
        plain,
        asks=(replace(plain.asks[0], kind=AskKind.APPROVAL, approval_id=approval.id, approval_key="crm.write#1"),),
    )
    await store.runs.suspend(lease, asked, at=NOON, wait_until=NOON + timedelta(days=7), approval=approval)
    return run, approval


def decision(status: ApprovalStatus = ApprovalStatus.APPROVED, id: str = "appr_1") -> Decision:
    return Decision(approval_id=ApprovalId(id), status=status, by=UserId("ada"), at=NOON, reason="fine")


async def test_an_approval_is_kept_with_the_run_that_waits_for_it(store: Store) -> None:
    session = await a_kept_session(store)

    run, approval = await waiting_for_approval(store, session)

    assert await store.approvals.get(TENANT, approval.id) == approval
    assert (await run_of(store, run)).status is RunStatus.WAITING
    assert types(await feed_of(store, session))[-2:] == ["run.waiting", "approval.requested"]


async def test_deciding_it_wakes_the_run_in_the_same_write(store: Store) -> None:
    session = await a_kept_session(store)
    run, approval = await waiting_for_approval(store, session)

    woken = await answer(store, session, run, "approved", decision=decision())

    decided = await store.approvals.get(TENANT, approval.id)
    assert (decided.status, decided.decided_by, decided.reason) == (ApprovalStatus.APPROVED, "ada", "fine")
    assert woken.checkpoint is not None
    assert woken.checkpoint.asks[-1].answer == "approved"
    entries = await feed_of(store, session)
    assert types(entries)[-2:] == ["approval.decided", "run.answered"]
    assert [entry.no for entry in entries] == list(range(1, len(entries) + 1))


async def test_nothing_but_its_decision_answers_such_a_run(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    run, _ = await waiting_for_approval(store, session)
    before = await contents(backend)

    with pytest.raises(ApprovalOpen):
        await answer(store, session, run, "yes")
    with pytest.raises(ApprovalOpen):
        await answer(store, session, run, "yes", decision=decision(id="appr_2"))

    assert await contents(backend) == before


async def test_of_two_decisions_at_once_one_is_kept(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Write it", session)
    await store.approvals.request(lease, an_approval(run, kind=GateKind.REVIEW))

    outcomes = await asyncio.gather(
        store.approvals.decide(TENANT, decision(), audit_of("decide_approval")),
        store.approvals.decide(TENANT, decision(ApprovalStatus.REJECTED), audit_of("decide_approval")),
        return_exceptions=True,
    )

    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Approval", "ApprovalDecided"]


async def test_a_run_that_lost_its_lease_asks_for_nothing(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease, _ = await taken_over(store, session)

    with pytest.raises(LeaseLost):
        await store.approvals.request(lease, an_approval(run, kind=GateKind.REVIEW))

    with pytest.raises(ApprovalNotFound):
        await store.approvals.get(TENANT, ApprovalId("appr_1"))


async def test_an_approval_of_another_tenant_does_not_exist(store: Store) -> None:
    session = await a_kept_session(store)
    _, approval = await waiting_for_approval(store, session)
    globex = TenantId("globex")

    with pytest.raises(ApprovalNotFound):
        await store.approvals.get(globex, approval.id)
    with pytest.raises(ApprovalNotFound):
        await store.approvals.decide(globex, decision(), audit_of("decide_approval"))
    found = await store.approvals.list(globex, owner=None, session_id=None, status=None, before=None, limit=10)
    assert found == []


async def test_approvals_are_listed_newest_first_by_owner_session_and_status(store: Store) -> None:
    session, other = await a_kept_session(store), await a_kept_session(store, id="sess_2", owner="cora")
    await waiting_for_approval(store, session, "appr_1")
    await waiting_for_approval(store, other, "appr_2")

    async def listed(**asked: object) -> list[str]:
        wanted = {"owner": None, "session_id": None, "status": None, "before": None, "limit": 10} | asked
        return [each.id for each in await store.approvals.list(TENANT, **wanted)]  # type: ignore[arg-type]

    assert await listed() == ["appr_2", "appr_1"]
    assert await listed(limit=1) == ["appr_2"]
    assert await listed(before="appr_2") == ["appr_1"]
    assert await listed(owner="cora") == ["appr_2"]
    assert await listed(session_id=session.id) == ["appr_1"]
    assert await listed(status=ApprovalStatus.APPROVED) == []


async def test_one_that_is_due_is_found_and_escalated_once(store: Store) -> None:
    session = await a_kept_session(store)
    _, approval = await waiting_for_approval(store, session)
    higher = replace(approval, required_role=Role.OWNER, due_at=DUE + timedelta(hours=24))

    before = [each async for each in store.approvals.due(at=DUE - timedelta(seconds=1))]
    due = [each async for each in store.approvals.due(at=DUE)]
    escalated = [await store.approvals.escalate(higher, from_due=DUE) for _ in range(2)]

    assert (before, due) == ([], [approval])
    assert escalated == [True, False]
    assert await store.approvals.get(TENANT, approval.id) == higher
    assert types(await feed_of(store, session)).count("approval.requested") == 2


async def test_a_reset_cancels_what_its_waiting_runs_asked_for(store: Store) -> None:
    session = await a_kept_session(store)
    _, approval = await waiting_for_approval(store, session)
    _, lease = await held(store, "again", session)

    await reset(store, session, lease, revision=0)

    assert (await store.approvals.get(TENANT, approval.id)).status is ApprovalStatus.CANCELLED
    with pytest.raises(ApprovalDecided):
        await store.approvals.decide(TENANT, decision(), audit_of("decide_approval"))


async def test_a_session_that_is_awaited_does_not_expire_and_takes_the_decision(store: Store) -> None:
    session = await a_kept_session(store)
    run, _ = await waiting_for_approval(store, session)
    late = NOON + timedelta(days=3)

    still = await store.sessions.expire(TENANT, session.id, at=late, audit=audit_of("expire"))
    late_decision = replace(decision(), at=late)
    woken = await answer(store, session, run, "approved", decision=late_decision)

    assert still.status.value == "active"
    assert woken.run.status is RunStatus.RUNNING or await claim(store, session) is not None
