"""What a store promises about turns."""

import pytest

from tests.contract.builders import (
    OTHER_NODE,
    RUN_OUT,
    a_kept_session,
    accept,
    claim,
    commit,
    exchange,
    explanation_of,
    held,
    lines,
    load,
    turn_answering,
)
from turnkeeper.errors import LeaseLost, SessionMoved
from turnkeeper.model.run import RunStatus
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON


async def test_a_committed_turn_is_what_the_next_one_starts_from(store: Store) -> None:
    session = await a_kept_session(store)

    await exchange(store, session, "A table for two", "At what time?", guests=2)

    loaded = await load(store, session)
    assert lines(loaded) == ["A table for two", "At what time?"]
    assert loaded.state == {"guests": 2}
    assert (loaded.session.revision, loaded.session.turns, loaded.session.version) == (1, 1, 1)


async def test_of_two_turns_on_one_revision_only_the_first_is_kept(store: Store) -> None:
    session = await a_kept_session(store)
    stale = await load(store, session)
    await exchange(store, session, "A table for two", "At what time?")
    run, lease = await held(store, "Make it three", session)

    with pytest.raises(SessionMoved):
        await store.runs.commit(
            turn_answering(run, stale, "Three it is"),
            lease,
            session_id=session.id,
            expected_revision=stale.session.revision,
            explanation=explanation_of(run),
        )

    assert lines(await load(store, session)) == ["A table for two", "At what time?"]


async def test_a_run_whose_lease_was_taken_over_may_not_commit(store: Store) -> None:
    session = await a_kept_session(store)
    frozen, lost = await held(store, "First", session, lease_seconds=RUN_OUT)
    await accept(store, "Second", session, node=OTHER_NODE)
    claimed = await claim(store, session, node=OTHER_NODE)
    assert claimed is not None

    with pytest.raises(LeaseLost):
        await commit(store, frozen, lost, "Too late")

    await commit(store, claimed.run, claimed.lease, "In time")
    assert lines(await load(store, session)) == ["Second", "In time"]
    assert (await store.runs.get(frozen.tenant, frozen.id)).status is RunStatus.ABANDONED


async def test_the_history_is_a_window_in_order(store: Store) -> None:
    session = await a_kept_session(store)
    for number in range(5):
        await exchange(store, session, f"question {number}", f"answer {number}")

    loaded = await load(store, session, window=3)

    assert lines(loaded) == ["answer 3", "question 4", "answer 4"]
    assert loaded.history[-1].created_at > NOON
