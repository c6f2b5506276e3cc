"""kill -9 at every durable write, between them, and at random."""

import ast
import asyncio
import functools
import random
from pathlib import Path

import pytest

import turnkeeper.stores.sqlite
from tests.faults.process import a_worker
from tests.faults.soundness import check_soundness
from tests.scale import SOAKING, rounds

MOMENTS = ("begun", "written", "durable")
STORES = ("sqlite", "postgres")
# Not part of what a day writes: asked for by nobody, or written by another process than the one that is stopped.
ELSEWHERE = {"ping"}


# Which part of a day comes to the writes of a file of the store; all others need the whole of it.
PART_OF = {
    "effects": "long runs",
    "checkpoints": "long runs",
    "bases": "bases",
    "histories": "histories",
    "packs": "packs",
    "artifacts": "substrate",
    "collection": "substrate",
    "manifests": "substrate",
    "outputs": "substrate",
    "pointers": "substrate",
    "bindings": "doors",
    "outbox": "doors",
    "approvals": "approvals",
    "layers": "scope",
    "definitions": "scope",
    "contexts": "scope",
    "erasure": "erasure",
    "retention": "erasure",
    "custody": "custody",
    "keys": "keys",
    "answers": "keys",
}


OPERATORS = {
    "erasure",
    "retention",
    "layers",
    "definitions",
    "contexts",
    "bases",
    "histories",
    "packs",
    "artifacts",
    "bindings",
    "approvals",
    "collection",
    "manifests",
    "pointers",
    "custody",
    "keys",
    "answers",
}


@functools.cache
def named_writes() -> dict[str, str]:
    """The durable writes, read from the code of the store, each with the file that it stands in."""
    names: dict[str, str] = {}
    for file in Path(turnkeeper.stores.sqlite.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in ("write", "write_aside")
                and node.args
                and isinstance(node.args[0], ast.Constant)
            ):
                names[str(node.args[0].value)] = file.stem
    return {name: names[name] for name in sorted(names.keys() - ELSEWHERE)}


def stops() -> list[tuple[str, str, str]]:
    """Every write while it is not yet durable, on one store by turns; every second one that runs make also before or
    after that, on the other one. A soak stops everywhere.
    """
    everywhere = [(store, write, moment) for store in STORES for write in named_writes() for moment in MOMENTS]
    return [stop for stop in everywhere if SOAKING or is_worth_it(*stop)]


def is_worth_it(store: str, write: str, moment: str) -> bool:
    turn = sorted(named_writes()).index(write)
    if moment == "written":
        return store == STORES[turn % 2]
    is_of_runs = named_writes()[write] not in OPERATORS and turn // 2 % 2 == 0
    return is_of_runs and (store, moment) == (STORES[(turn + 1) % 2], ("begun", "durable")[turn // 4 % 2])


@pytest.mark.parametrize(("address", "write", "moment"), stops(), indirect=["address"])
async def test_a_process_killed_at_a_named_write_leaves_nothing_lost_or_half_done(
    address: str, write: str, moment: str
) -> None:
    async with a_worker(address, stop_at=f"{write}:{moment}") as worker:
        await worker.line("ready", "stopped_at")
        worker.tell("day", part=PART_OF.get(named_writes()[write]))
        await worker.line("left", "stopped_at")
        worker.begin_close()
        stopped = await worker.line("stopped_at")
        await worker.kill()

    assert stopped == {"stopped_at": f"{write}:{moment}"}
    await check_soundness(address, worker.told)


@pytest.mark.parametrize("seed", range(rounds(quick=3, soak=60)))
async def test_a_process_killed_at_a_random_moment_leaves_nothing_lost_or_half_done(address: str, seed: int) -> None:
    chance = random.Random(seed)
    async with a_worker(address) as worker:
        await worker.line("ready")
        sessions = [(await worker.ask("chat", text="hello", agent="counter"))["session_id"] for _ in range(4)]
        for number in range(40):
            worker.tell("chat", text=f"m{number}", session_id=chance.choice(sessions))
        await asyncio.sleep(chance.uniform(0.0, 0.08))
        await worker.kill()

    answered = [line for line in worker.lines if line.get("tag", 0) > 4]
    told = [{**line, "status": "completed"} for line in answered if "run_id" in line]
    await check_soundness(address, told)
