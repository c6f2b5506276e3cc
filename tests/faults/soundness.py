"""What must be true of every database after anything at all has happened to it."""

from typing import Any

from tests.eventually import eventually
from turnkeeper import Settings, Turnkeeper
from turnkeeper.model.knowledge_base import KnowledgeBase
from turnkeeper.model.principal import LOCAL
from turnkeeper.model.run import RunStatus
from turnkeeper.model.unit import PhaseScope, UnitStatus
from turnkeeper.ports.units import UnitView

AFTERWARDS = {"lease_seconds": 0.6, "renew_seconds": 0.2, "sweep_seconds": 0.05, "grace_seconds": 2.0, "pool_size": 8}


async def check_soundness(address: str, told: list[dict[str, Any]]) -> None:
    """Open the database as the next process does, let it tidy up, and look at everything in it."""
    settings = Settings(database=address, **AFTERWARDS)  # type: ignore[arg-type]
    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("counter")(_still_counts)
        keeper.agent("held")(_still_counts)
        keeper.agent("retried")(_still_counts)
        for name in ("failing", "asking", "talking", "patient", "endless", "blocking", "noting", "steps", "author"):
            keeper.agent(name)(_still_counts)
        for session in await keeper.sessions():
            await _check_session(keeper, session.id)
        for base in await keeper.bases.list():
            await _check_base(keeper, base)
        await _check_substrate(keeper)
        await _check_deliveries(keeper)
        await _check_erasure(keeper)
        await _check_told(keeper, told)
        verdict = await keeper.verify_audit()
        assert verdict.holds, verdict.faults


async def _still_counts(turn: Any) -> str:
    turn.state["count"] = turn.state.get("count", 0) + 1
    return f"number {turn.state['count']}"


async def _check_substrate(keeper: Turnkeeper) -> None:
    """A name stands where its history says, and every content behind it is whole; what came out was told."""
    for pointer in await keeper.pointers.list():
        (newest, *_) = await keeper.pointers.history(pointer.id)
        assert (newest.no, newest.new) == (pointer.moves, pointer.manifest)
        for entry in await keeper.manifests.entries(pointer.manifest) if pointer.manifest else ():
            assert await keeper.artifacts.read(entry.sha256) is not None
    for session in await keeper.sessions():
        told = await _feed(keeper, session.id)
        outputs = [type for type, _ in told if type in ("artifact.emitted", "manifest.created", "pointer.moved")]
        assert len(await keeper.substrate.outputs(session.id)) == len(outputs)


async def _check_erasure(keeper: Turnkeeper) -> None:
    """What a receipt names is gone, and what is archived can be read."""
    sessions = {session.id: session for session in await keeper.sessions(limit=500)}
    for receipt in await keeper.erasure.receipts():
        assert sessions.keys().isdisjoint(receipt.erased.sessions)
        for session_id in receipt.erased.sessions:
            assert await keeper._store.runs.list(receipt.tenant, session_id, before=None, limit=1) == []
    for session in sessions.values():
        assert (session.archive is None) == (session.archived_at is None)
        assert session.archive is None or await keeper.artifacts.read(session.archive)


async def _check_deliveries(keeper: Turnkeeper) -> None:
    """What goes out says a turn that is kept, and says it once."""
    deliveries = await keeper.deliveries.list(limit=1000)
    runs = [await keeper.run(delivery.run_id) for delivery in deliveries]
    assert len({run.id for run in runs}) == len(deliveries)
    assert all(run.turn is not None for run in runs)


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
    reset_by = [run_id for type, run_id in await _feed(keeper, session_id) if type == "session.reset"]
    resets = len(reset_by)
    commands = [run for run in runs if run.status is RunStatus.COMPLETED and run.turn is None]
    changed_units = [run for run in commands if run.id not in reset_by]
    # What a client has kept until now has had one turn by then.
    adopted = int(session.from_session_id == "mine")
    taken_over, forked = int(session.from_session_id is not None) - adopted, int(session.fork is not None)
    assert sorted(turns) == list(range(1 + adopted + (session.fork.turn if session.fork else 0), session.turns + 1))
    assert session.revision == session.turns + resets + len(changed_units) + taken_over + forked
    await _check_units(keeper, session_id)
    assert session.epoch.number == 1 + resets
    messages = await keeper.messages(session_id, limit=1000)
    assert [message.seq for message in messages] == list(range(1, len(messages) + 1))
    by_turn: dict[int, list[str]] = {}
    for message in messages:
        by_turn.setdefault(message.turn, []).append(message.role.value)
    assert sorted(by_turn) == list(range(1 - taken_over, session.turns + 1))
    assert all(roles[0] == "user" for roles in by_turn.values())
    if not session.status.is_terminal:
        # Nothing is stuck: the next message works.
        next_one = await keeper.chat("are you there?", session_id=session_id, agent="counter")
        assert next_one.turn == session.turns + 1


async def _check_units(keeper: Turnkeeper, session_id: str) -> None:
    """What is committed can be found, and nothing else; what was superseded names what took its place."""
    session = await keeper.session(session_id)
    listed = {kept.id: kept for _, kept in await keeper.units.list(session_id, all_epochs=True, limit=1000)}
    for kept in listed.values():
        assert kept.superseded_by in listed if kept.status is UnitStatus.SUPERSEDED else True
    committed = {id for id, kept in listed.items() if kept.status is UnitStatus.COMMITTED and kept.unit}
    reachable = {id for id in committed if listed[id].epoch == session.epoch.number}
    words = ["note", "ferry", "harbour"]
    view = UnitView(tenant=session.tenant, session_id=session.id, epoch=session.epoch.number)
    found = await keeper._store.units.search(view, words, scope=PhaseScope.KNOWLEDGE, limit=1000)
    assert {each.unit.id for each in found} == reachable


async def _check_base(keeper: Turnkeeper, base: KnowledgeBase) -> None:
    """Its counts are true."""
    sources, units = await keeper.bases.sources(base.id), await keeper.bases.units(base.id, limit=1000)
    assert (base.sources, base.units) == (len(sources), len(units))
    assert base.units == sum(source.units for source in sources)


async def _check_told(keeper: Turnkeeper, told: list[dict[str, Any]]) -> None:
    """What a caller was told is true for ever."""
    for line in told:
        if line.get("status") == "completed":
            run = await keeper.run(line["run_id"])
            assert (run.status, run.turn or line["turn"]) == (RunStatus.COMPLETED, line["turn"]), line
    seen = [line["run_id"] for line in told if line.get("status") == "completed"]
    assert len(seen) == len(set(seen))


async def _feed(keeper: Turnkeeper, session_id: str) -> list[tuple[str, str | None]]:
    last = await keeper._store.feed.last_no(LOCAL.tenant, session_id)  # type: ignore[arg-type]
    if last == 0:
        return []
    said: list[tuple[str, str | None]] = []
    numbers: list[int] = []
    async for frame in keeper.follow_session(session_id, after=0):
        said.append((frame.type.value, frame.run_id))
        numbers.append(frame.no)
        if frame.no >= last:
            break
    assert numbers == sorted(set(numbers))
    return said
