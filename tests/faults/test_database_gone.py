"""A PostgreSQL server that goes away and comes back."""

import asyncio

import pytest

from tests.postgres import PostgresServer, create_database
from turnkeeper import Reply, Settings, Turnkeeper, TurnkeeperError
from turnkeeper.model.run import RunStatus
from turnkeeper.testing.agents import HeldAgent

# A server that dies in the middle of a handshake leaves the driver's half-open connection to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


async def test_a_database_that_is_gone_is_a_clear_refusal_and_recovery_needs_no_restart() -> None:
    with PostgresServer() as server:
        server.start(durable=True)
        dsn = create_database(server.dsn(), "gone")
        async with Turnkeeper.open(settings=Settings(database=dsn, pool_size=4, grace_seconds=1.0)) as keeper:
            first = await keeper.chat("remember the gate code is 4711")
            await asyncio.to_thread(server.stop, "immediate")

            with pytest.raises(TurnkeeperError) as refused:
                await keeper.chat("what did I say?", session_id=first.session_id)
            with pytest.raises(TurnkeeperError) as not_ready:
                await keeper.ping()
            missing = keeper.unaudited

            await asyncio.to_thread(server.start, durable=True)
            after = await keeper.chat("what did I say?", session_id=first.session_id)

    assert (refused.value.code, refused.value.http_status) == ("store_unavailable", 503)
    assert not_ready.value.code == "store_unavailable"
    assert missing == 1
    assert "4711" in after.text


async def _sent_until_answered(keeper: Turnkeeper, session_id: str) -> Reply:
    """What a good client does: the same request again, as long as the refusal says that it may."""
    while True:
        try:
            return await keeper.chat("hello", session_id=session_id, request_id="req-1")
        except TurnkeeperError as error:
            if not error.retryable:
                raise


async def test_a_commit_that_broke_is_looked_up_before_anyone_is_answered() -> None:
    agent = HeldAgent()
    with PostgresServer() as server:
        server.start(durable=True)
        dsn = create_database(server.dsn(), "broke")
        settings = Settings(database=dsn, pool_size=4, grace_seconds=1.0, lease_seconds=1.0, renew_seconds=0.3)
        async with Turnkeeper.open(settings=settings, sweep_seconds=0.1) as keeper:
            keeper.agent("held")(agent)
            session = await keeper.create_session(agent="held")
            answering = asyncio.create_task(keeper.chat("hello", session_id=session.id, request_id="req-1"))
            await agent.begun.get()
            await asyncio.to_thread(server.stop, "immediate")
            agent.let_go()

            with pytest.raises(TurnkeeperError) as refused:
                await answering
            await asyncio.to_thread(server.start, durable=True)
            again = await _sent_until_answered(keeper, session.id)

            runs = await keeper.runs(session.id)
            turns = (await keeper.session(session.id)).turns
    assert refused.value.code == "store_unavailable"
    assert refused.value.retryable
    assert again.turn == 1
    assert turns == 1
    assert sum(run.status is RunStatus.COMPLETED for run in runs) == 1
