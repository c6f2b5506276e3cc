"""What a store promises about all that goes on in a tenant."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.contract.builders import (
    AGENT,
    NODE,
    OTHER_AGENT,
    TENANT,
    USER,
    a_kept_session,
    a_session,
    accept,
    end_as,
    exchange,
    explanation_of,
    held,
    intake_of,
    load,
    run_saying,
    turn_answering,
    waiting,
)
from turnkeeper.model.ids import RunId, TenantId, UserId, id_made_at
from turnkeeper.model.policy import Rate
from turnkeeper.model.run import Run, RunStatus
from turnkeeper.model.session import Custody, Session
from turnkeeper.model.usage import Span, Spent
from turnkeeper.ports.overview import LIVE, FoundRuns, SoughtRuns
from turnkeeper.ports.runs import AgentTerms
from turnkeeper.ports.store import Store
from turnkeeper.stores import overview as shared
from turnkeeper.testing.clock import NOON

OTHER_TENANT = TenantId("globex")
OTHER_USER = UserId("grace")


async def found(store: Store, limit: int = 10, before: RunId | None = None, **about: object) -> FoundRuns:
    user = about.pop("user", None)
    sought = SoughtRuns(**about)  # type: ignore[arg-type]
    return await store.overview.runs(TENANT, user=user, sought=sought, before=before, limit=limit)  # type: ignore[arg-type]


def ids(runs: FoundRuns) -> list[str]:
    return [run.id for run in runs.runs]


async def failed(store: Store, session: Session) -> Run:
    run, lease = await held(store, "Break", session)
    await store.runs.end(lease, end_as(run, RunStatus.FAILED))
    return run


async def test_runs_of_a_tenant_are_found_newest_first_page_by_page(store: Store) -> None:
    one, other = await a_kept_session(store), await a_kept_session(store)
    kept = [await exchange(store, session, "Hello", "Yes") for session in (one, other, one, other, one)]
    await exchange(store, await a_kept_session(store, tenant=OTHER_TENANT), "Hello", "Yes")

    first = await found(store, limit=3)
    second = await found(store, limit=3, before=first.next)

    assert ids(first) + ids(second) == [run.id for run in reversed(kept)]
    assert (first.next, second.next) == (kept[2].id, None)


async def test_runs_are_found_by_what_is_known_of_them(store: Store) -> None:
    session, other = await a_kept_session(store), await a_kept_session(store, agent=OTHER_AGENT)
    done, broken = await exchange(store, session, "Hello", "Yes"), await failed(store, session)
    theirs = await accept(store, "Hello", other, agents={OTHER_AGENT: AgentTerms()})

    assert ids(await found(store, statuses=frozenset({RunStatus.FAILED}))) == [broken.id]
    assert ids(await found(store, statuses=frozenset({RunStatus.FAILED, RunStatus.COMPLETED}))) == [broken.id, done.id]
    assert ids(await found(store, agent=OTHER_AGENT)) == [theirs.run.id]
    assert ids(await found(store, session_id=other.id)) == [theirs.run.id]
    assert ids(await found(store, since=datetime(1242, 1, 1, tzinfo=UTC), until=datetime(1, 1, 1, tzinfo=UTC))) == []
    assert (
        len(ids(await found(store, since=datetime.min.replace(tzinfo=UTC), until=datetime.max.replace(tzinfo=UTC))))
        == 3
    )
    assert ids(await found(store, since=NOON, until=NOON)) == []
    assert len(ids(await found(store, since=NOON, until=NOON + timedelta(microseconds=1)))) == 3


async def test_users_find_their_own_runs_and_those_in_their_sessions(store: Store) -> None:
    mine, theirs = await a_kept_session(store), await a_kept_session(store, owner=OTHER_USER)
    own = await exchange(store, mine, "Hello", "Yes")
    await exchange(store, theirs, "Hello", "Yes")
    guest = await store.runs.accept(intake_of(run_saying("Hello", mine, user=OTHER_USER), sees_whole_tenant=True))

    assert ids(await found(store, user=USER)) == [guest.run.id, own.id]
    assert len(ids(await found(store, user=OTHER_USER))) == 2


async def test_what_is_live_is_found_however_long_it_has_waited(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "RUNS_WALKED", 1)
    asked = await waiting(store, await a_kept_session(store))
    session = await a_kept_session(store)
    running, _ = await held(store, "Hello", session)
    queued = (await accept(store, "And again", session)).run
    await exchange(store, await a_kept_session(store), "Hello", "Yes")

    live = await found(store, statuses=LIVE)

    assert ids(live) == [queued.id, running.id, asked.id]
    assert live.next is None
    assert ids(await found(store, statuses=frozenset({RunStatus.WAITING}))) == [asked.id]
    assert ids(await found(store, statuses=LIVE, limit=2)) == [queued.id, running.id]


async def test_a_page_looks_at_no_more_runs_than_it_may_and_says_where_to_go_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "RUNS_WALKED", 2)
    session = await a_kept_session(store)
    broken = await failed(store, session)
    others = [await exchange(store, session, "Hello", "Yes") for _ in range(3)]
    sought = frozenset({RunStatus.FAILED})

    first = await found(store, statuses=sought)
    second = await found(store, statuses=sought, before=first.next)

    assert (ids(first), first.next) == ([], others[1].id)
    assert ids(second) == [broken.id]
    assert (await found(store, statuses=sought, before=second.next)).next is None


async def test_the_leases_of_a_tenant_are_told_with_who_holds_them(store: Store) -> None:
    session = await a_kept_session(store)
    await exchange(store, await a_kept_session(store), "Hello", "Yes")
    run, lease = await held(store, "Hello", session)
    await accept(store, "And again", session)
    await held(store, "Hello", await a_kept_session(store, tenant=OTHER_TENANT))

    (told,) = await store.overview.leases(TENANT)

    assert (told.node, told.session_id, told.run_id, told.agent) == (NODE, session.id, run.id, AGENT)
    assert (told.fence, told.expires_at, told.queued) == (lease.fence, lease.expires_at, 1)
    assert told.taken_at < told.expires_at


async def test_the_lease_of_a_session_that_a_client_keeps_names_that_session(store: Store) -> None:
    session = a_session(custody=Custody.CLIENT)
    run, _ = await held(store, "Hello", session)

    (told,) = await store.overview.leases(TENANT)

    assert (told.session_id, told.run_id) == (session.id, run.id)


async def test_usage_is_added_up_by_span_and_agent(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for backend in ("sqlite", "postgres"):
        monkeypatch.setattr(f"turnkeeper.stores.{backend}.overview.RUNS_AT_ONCE", 2)
    day = NOON.replace(hour=0) + timedelta(days=1)
    session = await a_kept_session(store, idle_for_seconds=1_000_000)
    spent_at = [day + timedelta(hours=1), day + timedelta(hours=1, minutes=59, seconds=59), day + timedelta(hours=2)]
    for place, at in enumerate([day - timedelta(microseconds=1), *spent_at, day + timedelta(days=1)]):
        await spending(store, session, at, place, tokens=10.5, tool_calls=2)
    await spending(store, session, day + timedelta(hours=2), 7)

    by_hour = await store.overview.usage(TENANT, by=Span.HOUR, since=day, until=day + timedelta(days=1))
    by_day = await store.overview.usage(TENANT, by=Span.DAY, since=day, until=day + timedelta(days=1))

    two = Spent(runs=2, completed=2, tokens=21.0, tool_calls=4)
    assert [(each.at.hour, each.agent, each.spent) for each in by_hour] == [
        (1, AGENT, two),
        (2, AGENT, Spent(runs=2, completed=2, tokens=10.5, tool_calls=2)),
    ]
    assert [(each.at, each.spent.runs, each.spent.tokens) for each in by_day] == [(day, 4, 31.5)]
    assert await store.overview.usage(OTHER_TENANT, by=Span.DAY, since=day, until=day + timedelta(days=1)) == []


async def test_looking_into_a_bucket_takes_nothing_out_of_it(store: Store) -> None:
    rate = Rate(per_second=0.001, burst=5)
    assert await store.buckets.left(TENANT, rate) == 5

    await store.buckets.take(TENANT, rate, wanted=2)

    assert 3 <= await store.buckets.left(TENANT, rate) < 3.5
    assert 3 <= await store.buckets.left(TENANT, rate) < 3.5
    assert await store.buckets.left(OTHER_TENANT, rate) == 5


async def spending(store: Store, session: Session, at: datetime, place: int, **account: float) -> None:
    """A whole turn at this moment that cost so much."""
    run = run_saying("Hello", session, id=RunId(f"{id_made_at('run', at)}{place}"), accepted_at=at)
    accepted = await store.runs.accept(intake_of(run))
    assert accepted.lease is not None
    loaded = await load(store, session)
    turn = replace(turn_answering(accepted.run, loaded, "Yes"), account=account or None)
    await store.runs.commit(
        turn,
        accepted.lease,
        session_id=session.id,
        expected_revision=loaded.session.revision,
        explanation=explanation_of(run),
    )
