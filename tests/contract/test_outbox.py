"""What a store promises about what goes out: written with its turn, claimed by one node, settled once."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.contract.backends import Backend
from tests.contract.builders import (
    NODE,
    OTHER_NODE,
    RUN_OUT,
    TENANT,
    a_kept_session,
    a_unit,
    asking,
    audit_of,
    clock,
    end_as,
    explanation_of,
    held,
    load,
    taken_over,
    turn_answering,
)
from turnkeeper.errors import DeliveryNotFound, DeliveryNotOver, LeaseLost, SessionMoved
from turnkeeper.model.ids import BindingId, DeliveryId, NodeId, RunId, SessionId, TenantId
from turnkeeper.model.lease import Lease
from turnkeeper.model.outbound import Delivery, DeliveryStatus, ReplyTo
from turnkeeper.model.run import Run, RunStatus
from turnkeeper.model.session import Session
from turnkeeper.model.unit import UnitChanges
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON

ANN = ReplyTo(
    binding=BindingId("bind_1"),
    channel="email",
    address="ann@example.org",
    thread={"message_id": "<1@example.org>", "references": ["<0@example.org>"]},
)


def letter(run: Run, text: str = "Grüße", **changes: Any) -> Delivery:
    delivery = Delivery(
        tenant=run.tenant,
        id=DeliveryId(clock.new_id("dlv")),
        session_id=run.session_id,
        run_id=run.id,
        to=ANN,
        text=text,
        created_at=NOON,
        due_at=NOON,
    )
    return replace(delivery, **changes)


async def commit_with(store: Store, run: Run, lease: Lease, *letters: Delivery, **changes: Any) -> None:
    loaded = await store.sessions.load(run.tenant, run.session_id, window=20)
    turn = replace(turn_answering(run, loaded, "Hello"), deliveries=letters, units=changes.get("units", UnitChanges()))
    await store.runs.commit(
        turn,
        lease,
        session_id=run.session_id,
        expected_revision=changes.get("expected_revision", loaded.session.revision),
        explanation=explanation_of(run),
    )


async def a_letter(store: Store, session: Session | None = None, **changes: Any) -> Delivery:
    """One that waits to be sent."""
    run, lease = await held(store, "Hi", session or await a_kept_session(store))
    delivery = letter(run, **changes)
    await commit_with(store, run, lease, delivery)
    return delivery


async def claim(store: Store, *, node: NodeId = NODE, lease_seconds: float = 60.0, limit: int = 10) -> list[Delivery]:
    return list(await store.outbox.claim(node=node, at=NOON, lease_seconds=lease_seconds, limit=limit))


async def test_a_letter_is_there_with_the_turn_that_says_it(store: Store) -> None:
    delivery = await a_letter(store)

    assert await store.outbox.get(TENANT, delivery.id) == delivery


async def test_letters_and_units_of_one_turn_are_kept_together(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Hi", session)
    delivery = letter(run)

    await commit_with(store, run, lease, delivery, units=UnitChanges(added=(a_unit("Tea is hot."),)))

    assert await store.outbox.get(TENANT, delivery.id) == delivery
    assert (await load(store, session)).session.turns == 1


async def test_a_turn_that_is_not_kept_leaves_no_letter(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Hi", session)
    frozen, lost, _ = await taken_over(store, await a_kept_session(store))

    with pytest.raises(SessionMoved):
        await commit_with(store, run, lease, letter(run), expected_revision=7)
    with pytest.raises(LeaseLost):
        await commit_with(store, frozen, lost, letter(frozen))
    with pytest.raises(LeaseLost):
        await store.runs.suspend(lost, asking("?"), at=NOON, wait_until=NOON, deliveries=[letter(frozen)])
    with pytest.raises(LeaseLost):
        await store.runs.end(lost, end_as(frozen, RunStatus.COMPLETED, deliveries=(letter(frozen),)))

    assert await backend.execute("SELECT count(*) FROM outbox") == [(0,)]


async def test_a_question_goes_out_with_the_suspension_of_its_run(store: Store) -> None:
    run, lease = await held(store, "Hi", await a_kept_session(store))
    delivery = letter(run, "For how many?")

    await store.runs.suspend(lease, asking("For how many?"), at=NOON, wait_until=NOON, deliveries=[delivery])

    assert await store.outbox.get(TENANT, delivery.id) == delivery


async def test_an_end_without_a_turn_may_say_something_too(store: Store) -> None:
    run, lease = await held(store, "reset", await a_kept_session(store))
    delivery = letter(run, "We start afresh.")

    await store.runs.end(lease, end_as(run, RunStatus.COMPLETED, deliveries=(delivery,)))

    assert await store.outbox.get(TENANT, delivery.id) == delivery


async def test_what_is_due_is_claimed_by_one_node_only(store: Store) -> None:
    delivery = await a_letter(store)

    first, second = await claim(store), await claim(store, node=OTHER_NODE)

    assert first == [replace(delivery, attempts=1)]
    assert second == []
    assert (await store.outbox.get(TENANT, delivery.id)).status is DeliveryStatus.SENDING


async def test_of_many_that_are_due_a_node_takes_as_many_as_it_wants_the_oldest_first(store: Store) -> None:
    later = await a_letter(store, due_at=NOON - timedelta(seconds=1))
    sooner = await a_letter(store, due_at=NOON - timedelta(seconds=2))
    await a_letter(store, due_at=NOON + timedelta(seconds=1))

    first, second, third = await claim(store, limit=1), await claim(store), await claim(store)

    assert [[each.id for each in taken] for taken in (first, second, third)] == [[sooner.id], [later.id], []]


async def test_what_a_node_left_behind_is_claimed_again_and_told_as_such(store: Store) -> None:
    delivery = await a_letter(store)
    await claim(store, lease_seconds=RUN_OUT)

    [again] = await claim(store, node=OTHER_NODE)

    assert (again.id, again.status, again.attempts) == (delivery.id, DeliveryStatus.SENDING, 2)


async def test_only_who_holds_a_letter_says_what_became_of_it(store: Store) -> None:
    await a_letter(store)
    [old] = await claim(store, lease_seconds=RUN_OUT)
    [new] = await claim(store, node=OTHER_NODE)
    sent = replace(new, status=DeliveryStatus.SENT, ended_at=NOON)

    late = await store.outbox.settle(replace(old, status=DeliveryStatus.FAILED, ended_at=NOON), node=NODE)
    right = await store.outbox.settle(sent, node=OTHER_NODE)
    twice = await store.outbox.settle(replace(sent, status=DeliveryStatus.FAILED), node=OTHER_NODE)

    assert (late, right, twice) == (False, True, False)
    assert await store.outbox.get(TENANT, new.id) == sent


async def test_what_waits_for_another_attempt_is_due_at_its_time(store: Store) -> None:
    await a_letter(store)
    [taken] = await claim(store)
    due_at = NOON + timedelta(minutes=1)
    waiting = replace(taken, status=DeliveryStatus.PENDING, due_at=due_at, error="The receiver answered with 503.")

    await store.outbox.settle(waiting, node=NODE)

    assert await claim(store) == []
    [again] = await store.outbox.claim(node=OTHER_NODE, at=due_at, lease_seconds=60, limit=9)
    assert again == replace(waiting, attempts=2)


@pytest.mark.parametrize("status", [DeliveryStatus.FAILED, DeliveryStatus.UNKNOWN])
async def test_what_failed_or_is_unknown_is_sent_once_more_when_asked(store: Store, status: DeliveryStatus) -> None:
    await a_letter(store)
    [taken] = await claim(store)
    await store.outbox.settle(replace(taken, status=status, error="why", ended_at=NOON), node=NODE)
    assert await claim(store) == []

    again = await store.outbox.retry(TENANT, taken.id, at=NOON, audit=audit_of("retry_delivery"))

    assert again == replace(taken, status=DeliveryStatus.PENDING)
    assert [(each.id, each.attempts) for each in await claim(store)] == [(taken.id, 2)]


async def test_what_is_on_its_way_or_has_arrived_is_not_sent_again(store: Store) -> None:
    delivery = await a_letter(store)
    with pytest.raises(DeliveryNotOver, match="pending"):
        await store.outbox.retry(TENANT, delivery.id, at=NOON, audit=audit_of("retry_delivery"))
    [taken] = await claim(store)
    with pytest.raises(DeliveryNotOver, match="sending"):
        await store.outbox.retry(TENANT, delivery.id, at=NOON, audit=audit_of("retry_delivery"))
    await store.outbox.settle(replace(taken, status=DeliveryStatus.SENT, ended_at=NOON), node=NODE)
    with pytest.raises(DeliveryNotOver, match="sent"):
        await store.outbox.retry(TENANT, delivery.id, at=NOON, audit=audit_of("retry_delivery"))


async def test_a_letter_of_another_tenant_does_not_exist(store: Store) -> None:
    delivery = await a_letter(store)
    globex = TenantId("globex")

    with pytest.raises(DeliveryNotFound):
        await store.outbox.get(globex, delivery.id)
    with pytest.raises(DeliveryNotFound):
        await store.outbox.retry(globex, delivery.id, at=NOON, audit=audit_of("retry_delivery", globex))
    assert await store.outbox.list(globex, session_id=None, status=None, before=None, limit=9) == []


async def test_letters_are_listed_newest_first_by_session_and_by_status(store: Store) -> None:
    session = await a_kept_session(store)
    mine = [await a_letter(store, session), await a_letter(store, session)]
    other = await a_letter(store)
    [taken, *_] = await claim(store, limit=1)
    await store.outbox.settle(replace(taken, status=DeliveryStatus.SENT, ended_at=NOON), node=NODE)

    async def ids(
        session_id: SessionId | None = None, status: DeliveryStatus | None = None, before: DeliveryId | None = None
    ) -> list[RunId]:
        found = await store.outbox.list(TENANT, session_id=session_id, status=status, before=before, limit=9)
        return [each.run_id for each in found]

    assert await ids() == [other.run_id, mine[1].run_id, mine[0].run_id]
    assert await ids(session.id) == [mine[1].run_id, mine[0].run_id]
    assert await ids(before=other.id) == [mine[1].run_id, mine[0].run_id]
    assert await ids(status=DeliveryStatus.SENT) == [taken.run_id]
    assert len(await ids(session.id, DeliveryStatus.PENDING)) == 1
