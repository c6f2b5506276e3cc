"""kill -9 in the middle of a long run: it goes on in another process, and nothing that was done is done again."""

import asyncio
from pathlib import Path

import pytest

from tests.faults.process import Worker, a_worker
from tests.faults.soundness import check_soundness
from turnkeeper import Settings, Turnkeeper


def done_in(file: Path) -> list[str]:
    return file.read_text().splitlines()


async def start(worker: Worker, settings: Settings, **params: object) -> tuple[str, str]:
    """A session with a long run that has come to where it waits."""
    async with Turnkeeper(settings).looking_in() as keeper:
        await worker.line("ready")
        worker.tell("chat", text="go", agent="steps", mode="long_running", params=params)
        await worker.line("began")
        (session,) = await keeper.sessions()
        (run,) = await keeper.runs(session.id)
        return session.id, run.id


async def test_a_long_run_killed_after_verdict_2_of_4_finishes_in_another_process(address: str, tmp_path: Path) -> None:
    settings, file = Settings(database=address, pool_size=4), tmp_path / "done"
    async with a_worker(address) as first:
        session_id, run_id = await start(first, settings, wait=2, file=str(file))
        before = done_in(file)
        await first.kill()

    async with a_worker(address) as second:
        await second.line("began")
        second.tell("let_go")
        reply = await asyncio.wait_for(second.ask("follow", run_id=run_id), 30)

    async with Turnkeeper(settings).looking_in() as keeper:
        run, documents = await keeper.run(run_id), await keeper.checkpoints(run_id)
        messages = await keeper.messages(session_id)
        frames = [frame async for frame in keeper.follow(run)]
    assert before == [f"0 {run_id}:step-0", f"1 {run_id}:step-1"]
    assert done_in(file) == [f"{number} {run_id}:step-{number}" for number in range(4)]
    assert reply["text"] == messages[-1].content == "did-0 did-1 did-2 did-3 "
    assert [document["verdict"]["step_id"] for document in documents] == ["step-0", "step-1", "step-2", "step-3"]
    resumed = [frame.data for frame in frames if frame.type == "run.resumed"]
    assert [data["from"] for data in resumed] == [documents[1]["checkpoint_id"]]
    assert [data["text"] for data in resumed] == ["did-0 did-1 "]
    assert len(messages) == 2
    await check_soundness(address, [])


@pytest.mark.parametrize("repeatable", [False, True])
async def test_a_long_run_killed_inside_an_effect(address: str, tmp_path: Path, repeatable: bool) -> None:
    settings, file = Settings(database=address, pool_size=4), tmp_path / "done"
    async with a_worker(address) as first:
        _, run_id = await start(first, settings, inside=1, file=str(file), repeatable=repeatable)
        await first.kill()

    async with a_worker(address, NEVER_INSIDE="1") as second:
        await second.line("ready")
        reply = await asyncio.wait_for(second.ask("follow", run_id=run_id), 30)

    async with Turnkeeper(settings).looking_in() as keeper:
        effects = {effect.key: (effect.status.value, effect.attempts) for effect in await keeper.effects(run_id)}
    expected = {
        False: ("did-0 effect_unknown did-2 did-3 ", ("unknown", 1), 1),
        True: ("did-0 did-1 did-2 did-3 ", ("done", 2), 2),
    }[repeatable]
    tried = [line for line in done_in(file) if line == f"1 {run_id}:step-1"]
    assert (reply["text"], effects["step-1"], len(tried)) == expected
    assert [line.split()[0] for line in done_in(file)].count("0") == 1
    assert [effects[f"step-{number}"] for number in (0, 2, 3)] == [("done", 1)] * 3
