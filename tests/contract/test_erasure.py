"""What a store promises about erasing: who runs writes nothing more, and nothing of it comes back."""

import asyncio
from contextlib import suppress

import pytest

from tests.contract.backends import TABLES, Backend
from tests.contract.builders import (
    TENANT,
    USER,
    a_kept_session,
    audit_of,
    claim,
    clock,
    commit,
    exchange,
    explanation_of,
    held,
    load,
    turn_answering,
)
from turnkeeper.errors import LeaseLost, SessionMoved, SessionNotFound
from turnkeeper.model.ids import ReceiptId, Subject
from turnkeeper.model.output import Publication
from turnkeeper.model.receipt import ErasureReason, Receipt
from turnkeeper.model.run import RunStatus
from turnkeeper.model.session import Session
from turnkeeper.ports.erasure import Doomed, Named, Terms
from turnkeeper.ports.runs import RunEnd
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON

STAYS = {"leases", "receipts"}
"""The audit of these tests names no session."""
NOTHING_NAMED = Named(ids=frozenset(), hashes=frozenset(), elsewhere=frozenset(), since=NOON)


async def erase(store: Store, session: Session) -> Receipt:
    doomed = Doomed(tenant=TENANT, owner=USER, places=[(session.id, Subject(session.id))])
    terms = Terms(
        receipt_id=ReceiptId(clock.new_id("rcpt")),
        reason=ErasureReason.ASKED,
        threads=0,
        erased_by=USER,
        at=NOON,
        audit=audit_of("erase"),
    )
    receipt, _ = await store.erasure.erase(doomed, NOTHING_NAMED, terms)
    return receipt


async def tables_about(backend: Backend, session: Session) -> set[str]:
    return {
        table
        for table in TABLES
        if any(session.id in str(row) for row in await backend.execute(f"SELECT * FROM {table}"))
    }


async def test_who_held_the_lease_of_an_erased_session_writes_nothing_more(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    await exchange(store, session, "Hello", "Welcome")
    run, lease = await held(store, "Go on", session)
    loaded = await load(store, session)
    end = RunEnd(status=RunStatus.FAILED, at=NOON, explanation=explanation_of(run, RunStatus.FAILED))
    publication = Publication(
        tenant=TENANT, session_id=session.id, emitted={"0" * 64: {}}, published_by=USER, published_at=NOON
    )

    await erase(store, session)

    with pytest.raises(LeaseLost):
        await store.runs.commit(
            turn_answering(run, loaded, "too late"),
            lease,
            session_id=session.id,
            expected_revision=loaded.session.revision,
            explanation=explanation_of(run),
        )
    with pytest.raises(LeaseLost):
        await store.runs.end(lease, end)
    with pytest.raises(LeaseLost):
        await store.effects.begin(lease, run.id, "mail", at=NOON, repeatable=False)
    with pytest.raises(LeaseLost):
        await store.outputs.publish(publication, lease=lease)
    with pytest.raises(SessionNotFound):
        await store.outputs.publish(publication, audit=audit_of("publish"))
    assert store.runs.renew([lease], lease_seconds=60) == [lease]
    assert await claim(store, session) is None
    await store.layouts.save(TENANT, session.id, "{}", at=NOON)
    assert await tables_about(backend, session) == STAYS


async def test_a_turn_that_commits_at_the_same_moment_is_erased_or_lost(store: Store, backend: Backend) -> None:
    sessions = [await a_kept_session(store) for _ in range(8)]
    runs = [await held(store, "Hello", session) for session in sessions]

    async def answer(number: int) -> None:
        with suppress(LeaseLost, SessionMoved, SessionNotFound):
            await commit(store, *runs[number], "Welcome")

    work = [erase(store, session) for session in sessions] + [answer(number) for number in range(8)]
    await asyncio.gather(*work[::2], *work[1::2])

    for session in sessions:
        assert await tables_about(backend, session) == STAYS


async def test_what_is_erased_twice_is_not_found_and_leaves_one_receipt(store: Store) -> None:
    session = await a_kept_session(store)
    receipt = await erase(store, session)

    with pytest.raises(SessionNotFound):
        await erase(store, session)

    assert await store.erasure.receipts(TENANT, before=None, limit=10) == [receipt]
