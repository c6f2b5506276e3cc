"""Sessions, runs and turns for tests that speak of what a store keeps."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.checkpoint import Ask, Checkpoint
from turnkeeper.model.dialogue import Dialogue
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.epoch import Epoch
from turnkeeper.model.event import Event
from turnkeeper.model.explanation import Explanation, Stage
from turnkeeper.model.feed import FeedEntry
from turnkeeper.model.ids import (
    AgentId,
    KnowledgeBaseId,
    NodeId,
    RunId,
    SessionId,
    Subject,
    TenantId,
    TraceId,
    UnitId,
    UserId,
)
from turnkeeper.model.lease import Lease
from turnkeeper.model.names import content_hash
from turnkeeper.model.pack import PackPin
from turnkeeper.model.run import Finish, Run, RunInput, RunStatus
from turnkeeper.model.session import Conversation, Session, SessionStatus, SettingsChange
from turnkeeper.model.turn import Turn
from turnkeeper.model.unit import Unit, UnitChanges, UnitRole
from turnkeeper.ports.runs import Accepted, AgentTerms, Claimed, Committed, Intake, ResetWish, RunEnd
from turnkeeper.ports.store import Store
from turnkeeper.ports.units import UnitView
from turnkeeper.testing.clock import NOON, SteppedClock

NODE = NodeId("node_one")
OTHER_NODE = NodeId("node_two")
TENANT = TenantId("acme")
USER = UserId("ada")
AGENT = AgentId("concierge")
OTHER_AGENT = AgentId("porter")
TERMS = {AGENT: AgentTerms()}
RETRY_SAFE = {AGENT: AgentTerms(retry_safe=True)}
LEASE_SECONDS = 60.0
RUN_OUT = -1.0
"""A lease of this many seconds has run out before it begins."""

clock = SteppedClock()


def a_session(**changes: Any) -> Session:
    session = Session(
        tenant=TENANT,
        id=SessionId(clock.new_id("sess")),
        owner=USER,
        agent=AGENT,
        epoch=Epoch(number=1, started_at=NOON, first_seq=1),
        idle_for_seconds=86_400,
        created_at=NOON,
        last_active_at=NOON,
    )
    return replace(session, **changes)


def audit_of(verb: str = "chat", tenant: TenantId = TENANT, outcome: str = "accepted") -> AuditFacts:
    return AuditFacts(tenant=tenant, at=NOON, verb=verb, outcome=outcome, facts={"user": USER})


async def a_kept_session(store: Store, **changes: Any) -> Session:
    session = a_session(**changes)
    await store.sessions.create(session, audit_of("create", session.tenant))
    return session


def run_saying(text: str, session: Session, **changes: Any) -> Run:
    run = Run(
        tenant=session.tenant,
        id=RunId(clock.new_id("run")),
        session_id=session.id,
        custody=session.custody,
        agent=session.agent,
        user=session.owner,
        status=RunStatus.QUEUED,
        queue_no=0,
        feed_no=0,
        trace_id=TraceId("0" * 32),
        input=RunInput(events=(Event(text=text),)),
        accepted_at=NOON,
        wait_until=NOON + timedelta(seconds=60),
    )
    return replace(run, **changes)


def intake_of(run: Run, **changes: Any) -> Intake:
    intake = Intake(
        run=run,
        agent=None,
        sees_whole_tenant=False,
        audit=audit_of(tenant=run.tenant),
        node=NODE,
        agents=TERMS,
        lease_seconds=LEASE_SECONDS,
        queue_limit=32,
    )
    return replace(intake, **changes)


async def accept(store: Store, text: str, session: Session, **changes: Any) -> Accepted:
    return await store.runs.accept(intake_of(run_saying(text, session), **changes))


async def held(store: Store, text: str, session: Session, **changes: Any) -> tuple[Run, Lease]:
    """A message that is being answered."""
    accepted = await accept(store, text, session, **changes)
    assert accepted.lease is not None, "the session is busy"
    return accepted.run, accepted.lease


async def claim(store: Store, session: Session, **changes: Any) -> Claimed | None:
    asked: dict[str, Any] = {
        "node": NODE,
        "agents": TERMS,
        "lease_seconds": LEASE_SECONDS,
        "at": NOON,
        "new_run_id": RunId(clock.new_id("run")),
    }
    return await store.runs.claim(session.tenant, Subject(session.id), **(asked | changes))


def explanation_of(run: Run, status: RunStatus = RunStatus.COMPLETED) -> Explanation:
    stages = (Stage(name="open_session", began_us=0, took_us=5),)
    return Explanation(run_id=run.id, session_id=run.session_id, status=status, at=NOON, stages=stages)


def turn_answering(run: Run, loaded: Conversation, text: str, state: Mapping[str, Any] | None = None) -> Turn:
    return Turn.of(
        run, loaded.session, asks=(), text=text, state=state or {}, finish=Finish.DONE, at=NOON + timedelta(seconds=1)
    )


def a_unit(claim: str, *, topic: str = "port", **changes: Any) -> Unit:
    """A unit as it is kept: with its hash, in the first turn unless it is said otherwise."""
    unit = Unit(
        id=UnitId(clock.new_id("unit")),
        source_id="session",
        chunk_id="session::t0001",
        role=UnitRole.DESCRIPTION,
        topic=topic,
        claim=claim,
    )
    unit = replace(unit, **changes)
    return replace(unit, hash=content_hash(unit))


async def knowing(store: Store, session: Session, *units: Unit, **changes: Any) -> Run:
    """One whole turn that keeps these units, or changes others."""
    run, lease = await held(store, "Remember this", session)
    loaded = await store.sessions.load(run.tenant, run.session_id, window=20)
    turn = replace(turn_answering(run, loaded, "Noted"), units=UnitChanges(added=units, **changes))
    await store.runs.commit(
        turn,
        lease,
        session_id=run.session_id,
        expected_revision=loaded.session.revision,
        explanation=explanation_of(run),
    )
    return run


async def holding(store: Store, session: Session, dialogue: Dialogue, *pins: PackPin) -> Run:
    """One whole turn after which the session holds this about its intent."""
    run, lease = await held(store, "A table for four", session)
    loaded = await load(store, session)
    turn = replace(turn_answering(run, loaded, "When?"), dialogue=dialogue, packs=pins or None, intent=dialogue.told)
    await store.runs.commit(
        turn,
        lease,
        session_id=run.session_id,
        expected_revision=loaded.session.revision,
        explanation=explanation_of(run),
    )
    return run


def view_of(session: Session, epoch: int = 1, **bases: int) -> UnitView:
    mounted = tuple((KnowledgeBaseId(id), revision) for id, revision in bases.items())
    return UnitView(tenant=session.tenant, session_id=session.id, epoch=epoch, bases=mounted)


async def load(store: Store, session: Session, window: int = 20) -> Conversation:
    return await store.sessions.load(session.tenant, session.id, window=window)


async def commit(store: Store, run: Run, lease: Lease, text: str, state: Mapping[str, Any] | None = None) -> Committed:
    loaded = await store.sessions.load(run.tenant, run.session_id, window=20)
    return await store.runs.commit(
        turn_answering(run, loaded, text, state),
        lease,
        session_id=run.session_id,
        expected_revision=loaded.session.revision,
        explanation=explanation_of(run),
    )


async def exchange(store: Store, session: Session, asked: str, answered: str, **state: Any) -> Run:
    """One whole turn."""
    run, lease = await held(store, asked, session)
    await commit(store, run, lease, answered, state)
    return run


def end_as(run: Run, status: RunStatus, **changes: Any) -> RunEnd:
    return replace(RunEnd(status=status, explanation=explanation_of(run, status), at=NOON), **changes)


async def taken_over(store: Store, session: Session) -> tuple[Run, Lease, Claimed]:
    """A run whose node stood still for so long that another node has taken the session, and what that node runs."""
    frozen, lost = await held(store, "First", session, lease_seconds=RUN_OUT)
    await accept(store, "Second", session, node=OTHER_NODE)
    claimed = await claim(store, session, node=OTHER_NODE)
    assert claimed is not None, "nothing was taken over"
    return frozen, lost, claimed


def asking(question: str, *before: Ask, said: str = "") -> Checkpoint:
    return Checkpoint(asks=(*before, Ask(said=said, question=question)))


async def waiting(store: Store, session: Session, question: str = "For how many?") -> Run:
    """A run that has asked something and waits for its answer."""
    run, lease = await held(store, "A table, please", session)
    await store.runs.suspend(lease, asking(question), at=NOON, wait_until=NOON + timedelta(days=1))
    return run


async def answer(store: Store, session: Session, run: Run, text: str, **changes: Any) -> Accepted:
    return await accept(store, text, session, answers=run.id, answer_text=text, **changes)


async def reset(
    store: Store, session: Session, lease: Lease, revision: int = 0, params: Mapping[str, Any] | None = None
) -> Epoch:
    wish = ResetWish(
        session_id=session.id,
        expected_revision=revision,
        trigger="COMMAND",
        at=NOON,
        params=params or {},
        audit=audit_of("reset", outcome="cleared"),
    )
    return await store.runs.reset(lease, wish)


async def supersede(
    store: Store, lease: Lease, by: Run, how: DoubleText, explanation: Explanation | None = None
) -> bool:
    return await store.runs.supersede(lease, how=how, by=by.id, at=NOON, explanation=explanation)


async def close_session(store: Store, session: Session) -> Session:
    return await store.sessions.change(
        session.tenant,
        session.id,
        SettingsChange(status=SessionStatus.CLOSED, reason="asked"),
        at=NOON,
        expected_version=None,
        audit=audit_of("close", session.tenant),
    )


async def run_of(store: Store, run: Run) -> Run:
    """The run as it is now."""
    return await store.runs.get(run.tenant, run.id)


async def explained(store: Store, run: Run) -> Explanation:
    explanation = await store.explanations.get(run)
    assert explanation is not None, "the run is not at an end"
    return explanation


async def feed_of(store: Store, session: Session, after: int = 0, limit: int = 100) -> list[FeedEntry]:
    return list(await store.feed.read(session.tenant, Subject(session.id), after=after, limit=limit))


def types(entries: Sequence[FeedEntry]) -> list[str]:
    return [entry.type.value for entry in entries]


def lines(loaded: Conversation) -> list[str]:
    return [message.content for message in loaded.history]
