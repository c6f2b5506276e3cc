"""Two real processes on one database."""

import asyncio

from tests.faults.process import a_worker
from tests.faults.soundness import check_soundness


async def test_eight_messages_from_two_processes_become_eight_turns_in_order(address: str) -> None:
    async with a_worker(address) as one, a_worker(address) as two:
        await asyncio.gather(one.line("ready"), two.line("ready"))
        session = (await one.ask("chat", text="hello", agent="counter"))["session_id"]

        answers = await asyncio.gather(
            *(worker.begin("chat", text=f"m{n}", session_id=session) for n in range(4) for worker in (one, two))
        )

        assert sorted(answer["turn"] for answer in answers) == list(range(2, 10))
        assert all(answer["text"] == f"number {answer['turn']}" for answer in answers)
    await check_soundness(address, [])


async def test_a_process_that_is_told_to_close_finishes_or_hands_over_its_runs(address: str) -> None:
    async with a_worker(address, TURNKEEPER_GRACE_SECONDS="0.05") as leaving, a_worker(address) as staying:
        await asyncio.gather(leaving.line("ready"), staying.line("ready"))
        session = (await staying.ask("chat", text="hello", agent="counter"))["session_id"]
        waiting = staying.begin("chat", text="go on", session_id=session, agent="retried", request_id="req-1")
        await staying.line("began")
        await staying.ask("let_go")
        await waiting
        held = leaving.begin("chat", text="hand me over", session_id=session, agent="retried", request_id="req-2")
        await leaving.line("began")

        leaving.begin_close()
        over = await asyncio.wait_for(
            staying.ask("chat", text="hand me over", session_id=session, agent="retried", request_id="req-2"), 30
        )

        assert over["text"] == "[hand me over]"
        assert over["turn"] == 3
        assert (await held)["error"] == "shutting_down"
    await check_soundness(address, [])
