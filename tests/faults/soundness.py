"""What must be true of every database after anything at all has happened to it."""

from typing import Any

from tests.eventually import eventually
from turnkeeper import Settings, Turnkeeper
from turnkeeper.keeper import LOCAL
from turnkeeper.model.run import RunStatus

AFTERWARDS = {"lease_seconds": 0.6, "renew_seconds": 0.2, "sweep_seconds": 0.05, "grace_seconds": 2.0, "pool_size": 8}


async def check_soundness(address: str, told: list[dict[str, Any]]) -> None:
    """Open the database as the next process does, let it tidy up, and look at everything in it."""
    settings = Settings(database=address, **AFTERWARDS)  # type: ignore[arg-type]
    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("counter")(_still_counts)
        keeper.agent("held")(_still_counts)
        keeper.agent("retried")(_still_counts)
        for name in ("failing", "asking", "talking", "patient", "endless", "blocking"):
            keeper.agent(name)(_still_counts)
        for session in await keeper.sessions():
            await _check_session(keeper, session.id)
        await _check_told(keeper, told)
        verdict = await keeper.verify_audit()
        assert verdict.holds, verdict.faults


async def _still_counts(turn: Any) -> str:
    turn.state["count"] = turn.state.get("count", 0) + 1
    return f"number {turn.state['count']}"


async def _check_session(keeper: Turnkeeper, session_id: str) -> None:
    async def settled() -> bool:
        runs = await keeper.runs(session_id, limit=500)
        return all(not run.status.is_open or run.status is RunStatus.WAITING for run in runs)

    await eventually(settled)
    runs = await keeper.runs(session_id, limit=500)
    for run in runs:
        # Each end is a durable record, with its Explanation.
        assert run.status is RunStatus.WAITING or await keeper.explanation(run.id) is not None, run
    session = await keeper.session(session_id)
    turns = [run.turn for run in runs if run.turn is not None]
    resets = sum(1 for frame in await _feed(keeper, session_id) if frame == "session.reset")
    assert sorted(turns) == list(range(1, session.turns + 1))
    assert session.revision == session.turns + resets
    assert session.epoch.number == 1 + resets
    messages = await keeper.messages(session_id, limit=1000)
    assert [message.seq for message in messages] == list(range(1, len(messages) + 1))
    by_turn: dict[int, list[str]] = {}
    for message in messages:
        by_turn.setdefault(message.turn, []).append(message.role.value)
    assert sorted(by_turn) == list(range(1, session.turns + 1))
    assert all(roles[0] == "user" for roles in by_turn.values())
    if not session.status.is_terminal:
        # Nothing is stuck: the next message works.
        next_one = await keeper.chat("are you there?", session_id=session_id, agent="counter")
        assert next_one.turn == session.turns + 1


async def _check_told(keeper: Turnkeeper, told: list[dict[str, Any]]) -> None:
    """What a caller was told is true for ever."""
    for line in told:
        if line.get("status") == "completed":
            run = await keeper.run(line["run_id"])
            assert (run.status, run.turn or line["turn"]) == (RunStatus.COMPLETED, line["turn"]), line
    seen = [line["run_id"] for line in told if line.get("status") == "completed"]
    assert len(seen) == len(set(seen))


async def _feed(keeper: Turnkeeper, session_id: str) -> list[str]:
    last = await keeper._store.feed.last_no(LOCAL.tenant, session_id)  # type: ignore[arg-type]
    if last == 0:
        return []
    types: list[str] = []
    numbers: list[int] = []
    async for frame in keeper.follow_session(session_id, after=0):
        types.append(frame.type.value)
        numbers.append(frame.no)
        if frame.no >= last:
            break
    assert numbers == sorted(set(numbers))
    return types
