"""A process that stands still while another one takes over."""

import asyncio

from tests.eventually import eventually
from tests.faults.process import a_worker
from tests.faults.soundness import check_soundness
from turnkeeper import Settings, Turnkeeper
from turnkeeper.model.run import RunStatus

# Renewed rarely, so that the process does not happen to be frozen in the middle of a write.
RARELY = {"TURNKEEPER_LEASE_SECONDS": "1.5", "TURNKEEPER_RENEW_SECONDS": "1.4", "TURNKEEPER_ANCHOR_SECONDS": "3600"}


async def test_a_frozen_worker_whose_lease_was_taken_over_may_not_commit(address: str) -> None:
    settings = Settings(database=address, sweep_seconds=0.05, pool_size=8)
    async with a_worker(address, **RARELY) as worker, Turnkeeper.open(settings=settings) as keeper:
        await worker.line("ready")
        session = await keeper.create_session()
        late = worker.begin("chat", text="late", session_id=session.id, agent="held")
        await worker.line("began")
        worker.freeze()

        in_time = await asyncio.wait_for(keeper.chat("in time", session_id=session.id), 30)
        worker.tell("let_go")
        worker.thaw()
        refused = await asyncio.wait_for(late, 30)

        assert in_time.turn == 1
        assert refused["error"] == "run_abandoned"
        assert (await keeper.messages(session.id))[0].content == "in time"
        runs = await keeper.runs(session.id)
        assert [run.status for run in runs] == [RunStatus.COMPLETED, RunStatus.ABANDONED]
        explanation = await keeper.explanation(runs[1].id)
        assert explanation is not None
        assert explanation.partial
    await check_soundness(address, [])


async def test_a_run_that_may_be_tried_again_is_answered_after_its_node_died(address: str) -> None:
    settings = Settings(database=address, sweep_seconds=0.05, pool_size=8)
    async with Turnkeeper.open(settings=settings) as keeper:

        @keeper.agent("retried", retry_safe=True)
        async def retried(turn: object) -> str:
            return "at the second attempt"

        session = await keeper.create_session(agent="retried")
        async with a_worker(address) as worker:
            await worker.line("ready")
            worker.tell("chat", text="hello", session_id=session.id, request_id="req-1")
            await worker.line("began")
            await worker.kill()

        reply = await asyncio.wait_for(keeper.chat("hello", session_id=session.id, request_id="req-1"), 30)

        assert reply.text == "at the second attempt"
        assert reply.turn == 1
        runs = await keeper.runs(session.id)
        assert {run.status for run in runs} == {RunStatus.COMPLETED, RunStatus.ABANDONED}
        assert [run.retry_of for run in runs if run.status is RunStatus.COMPLETED] == [
            run.id for run in runs if run.status is RunStatus.ABANDONED
        ]


async def test_a_queued_message_of_a_dead_node_runs_elsewhere(address: str) -> None:
    settings = Settings(database=address, sweep_seconds=0.05, pool_size=8)
    async with Turnkeeper.open(settings=settings) as keeper:
        session = await keeper.create_session()
        async with a_worker(address) as worker:
            await worker.line("ready")
            worker.tell("chat", text="first", session_id=session.id, agent="held")
            await worker.line("began")
            worker.tell("chat", text="second", session_id=session.id)

            async def both_are_in() -> bool:
                return len(await keeper.runs(session.id)) == 2

            await eventually(both_are_in)
            await worker.kill()

        async def answered() -> bool:
            return (await keeper.session(session.id)).turns == 1

        await eventually(answered)
        assert (await keeper.messages(session.id))[0].content == "second"


async def test_an_agent_that_blocks_the_event_loop_keeps_its_lease(address: str) -> None:
    settings = Settings(database=address, sweep_seconds=0.05, pool_size=8)
    async with a_worker(address) as worker, Turnkeeper.open(settings=settings) as keeper:
        await worker.line("ready")
        session = await keeper.create_session()
        blocked = worker.begin("chat", text="block", session_id=session.id, agent="blocking")
        await worker.line("began")

        second = await asyncio.wait_for(keeper.chat("second", session_id=session.id), 30)

        assert (await blocked)["turn"] == 1
        assert second.turn == 2
