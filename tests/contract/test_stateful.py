"""Whatever happens in whatever order, a store agrees with a reference model that fits on two pages."""

import asyncio
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any, TypeVar

import pytest
from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.contract.backends import Backend
from tests.contract.builders import (
    AGENT,
    LEASE_SECONDS,
    RUN_OUT,
    a_session,
    a_unit,
    accept,
    answer,
    asking,
    audit_of,
    claim,
    clock,
    end_as,
    explanation_of,
    feed_of,
    load,
    reset,
    supersede,
    view_of,
)
from tests.scale import SOAKING, rounds
from turnkeeper.errors import LeaseLost, SessionMoved
from turnkeeper.model.checkpoint import Ask
from turnkeeper.model.dialogue import Clarification, Dialogue, Form, IntentLock, Option
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.ids import RunId, Subject, TenantId, UnitId
from turnkeeper.model.lease import Lease
from turnkeeper.model.pack import PackPin
from turnkeeper.model.run import Finish, Run, RunStatus
from turnkeeper.model.session import Session, SessionStatus
from turnkeeper.model.turn import Turn
from turnkeeper.model.unit import PhaseScope, Unit, UnitChanges, UnitStatus
from turnkeeper.ports.runs import Accepted, AgentTerms, Claimed, Committed
from turnkeeper.testing.clock import NOON

T = TypeVar("T")
MOST_SESSIONS = 3

any_one = strategies.integers(min_value=0, max_value=11)
yes_or_no = strategies.booleans()
ends = strategies.sampled_from([RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.TIMED_OUT])
fates = strategies.sampled_from([None, *UnitStatus])
ways = strategies.sampled_from([DoubleText.ROLLBACK, DoubleText.INTERRUPT, DoubleText.MERGE])

texts = strategies.text(strategies.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
values = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers(-(2**53), 2**53) | texts,
    lambda inner: strategies.lists(inner, max_size=2) | strategies.dictionaries(texts, inner, max_size=2),
    max_leaves=3,
)
fields = strategies.dictionaries(strategies.sampled_from(["day", "guest", "für", ""]), values, max_size=3)
locks = strategies.lists(strategies.sampled_from(["day", "guest"]), min_size=1, unique=True).map(
    lambda missing: IntentLock(intent="BOOK", missing=tuple(missing), taken_at=NOON)
)
questions = strategies.builds(
    Clarification,
    question=strategies.just("Which one?"),
    reason=strategies.just("collision"),
    options=strategies.sampled_from([(), (Option(code="A", label="ä"),)]),
    turn=strategies.integers(1, 9),
    text=texts,
)
dialogues = strategies.builds(
    Dialogue,
    intent=strategies.just("BOOK"),
    state=strategies.sampled_from(["DETAILS", "DONE"]),
    context=fields,
    params=fields,
    forms=strategies.dictionaries(
        strategies.just("VOUCHER"), strategies.builds(Form, state=strategies.just("DETAILS"), fields=fields)
    ),
    asked=strategies.sampled_from([None, "day"]),
    lock=strategies.none() | locks,
    clarification=strategies.none() | questions,
)
pins = strategies.sampled_from(
    [(), (PackPin(id="booking", version="1.0.0", hash="abc"),), (PackPin(id="desk", version="2.1.0", hash="def"),)]
)

_tenants = count(1)


@dataclass(eq=False)
class ExpectedRun:
    id: RunId
    says: list[str]
    status: RunStatus
    queue_no: int
    retry_safe: bool = False
    is_retry: bool = False
    asks: list[Ask] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        """What stands in the history of this run before its last text."""
        return self.says + [line for ask in self.asks for line in (ask.question, ask.answer or "")]


@dataclass(eq=False)
class ExpectedSession:
    session: Session
    runs: list[ExpectedRun] = field(default_factory=list)
    history: list[str] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    dialogue: Dialogue = field(default_factory=Dialogue)
    packs: tuple[PackPin, ...] = ()
    known: list[Unit] = field(default_factory=list)
    units: dict[UnitId, UnitStatus] = field(default_factory=dict)
    turns: int = 0
    resets: int = 0
    commands: int = 0
    fence: int = 0
    feed_no: int = 0
    last_queue_no: int = 0
    holder: ExpectedRun | None = None
    held: tuple[Run, Lease] | None = None
    has_run_out: bool = False
    lost: list[tuple[Run, Lease]] = field(default_factory=list)

    @property
    def revision(self) -> int:
        return self.turns + self.resets + self.commands

    def learn(self, changes: UnitChanges) -> None:
        """What is in reach afterwards, and what became of each unit there ever was."""
        self.known = list(changes.applied_to(tuple(self.known)))
        self.units |= {unit.id: UnitStatus.COMMITTED for unit in changes.added}
        self.units |= {old: UnitStatus.SUPERSEDED for old, _ in changes.superseded}
        self.units |= dict.fromkeys(changes.pushed_out, UnitStatus.PUSHED_OUT)
        self.units |= dict.fromkeys(changes.forgotten, UnitStatus.FORGOTTEN)

    def having(self, status: RunStatus) -> list[ExpectedRun]:
        return [run for run in self.runs if run.status is status]

    @property
    def queue(self) -> list[ExpectedRun]:
        return sorted(self.having(RunStatus.QUEUED), key=lambda run: (run.queue_no, run.id))

    def take(self, run: ExpectedRun, real: Run, lease: Lease | None, retry_safe: bool, run_out: bool) -> None:
        assert lease is not None
        self.fence += 1
        run.status, run.retry_safe = RunStatus.RUNNING, retry_safe
        self.holder, self.held, self.has_run_out = run, (real, lease), run_out

    def let_go(self, status: RunStatus, *, raised: bool = False) -> None:
        assert self.holder is not None
        assert self.held is not None
        self.holder.status = status
        self.holder.shown.clear()
        self.lost.append(self.held)
        self.fence += raised
        self.holder = self.held = None


class Conversations(RuleBasedStateMachine):
    """A few sessions of one tenant, and everyone who may do something to them."""

    def __init__(self, backend: Backend) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self._backend = backend
        self._store = backend.store()
        self._tenant = TenantId(f"tenant-{next(_tenants)}")
        self._sessions: list[ExpectedSession] = []
        self._touched: ExpectedSession | None = None
        self._texts = count(1)
        self._run(self._store.database.open())

    def teardown(self) -> None:
        try:
            for one in self._sessions:
                self._agrees(one)
            self._leases_agree()
        finally:
            self._run(self._store.database.close())
            self._runner.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    # --- messages come in

    @precondition(lambda self: len(self._sessions) < MOST_SESSIONS)
    @rule(retry_safe=yes_or_no, run_out=yes_or_no)
    def a_message_brings_its_session(self, retry_safe: bool, run_out: bool) -> None:
        one = ExpectedSession(session=a_session(tenant=self._tenant))
        self._sessions.append(one)
        self._take_in(one, retry_safe, run_out, new_session=one.session)

    @precondition(lambda self: bool(self._sessions))
    @rule(which=any_one, retry_safe=yes_or_no, run_out=yes_or_no)
    def a_message_comes_in(self, which: int, retry_safe: bool, run_out: bool) -> None:
        self._take_in(self._pick(self._sessions, which), retry_safe, run_out)

    @precondition(lambda self: bool(self._any_of(RunStatus.WAITING)))
    @rule(which=any_one, retry_safe=yes_or_no, run_out=yes_or_no)
    def an_answer_comes_in(self, which: int, retry_safe: bool, run_out: bool) -> None:
        one, run = self._pick(self._any_of(RunStatus.WAITING), which)
        text, idle = self._text(), self._is_idle(one)
        real = self._run(self._store.runs.get(self._tenant, run.id))

        accepted = self._run(answer(self._store, one.session, real, text, **_terms(retry_safe, run_out)))

        run.asks[-1] = Ask(said="", question=run.asks[-1].question, answer=text)
        assert accepted.checkpoint is not None
        assert list(accepted.checkpoint.asks) == run.asks
        self._queue(one, run, accepted, retry_safe, run_out, idle)

    def _take_in(self, one: ExpectedSession, retry_safe: bool, run_out: bool, **changes: Any) -> None:
        text, idle = self._text(), self._is_idle(one)

        accepted = self._run(accept(self._store, text, one.session, **_terms(retry_safe, run_out), **changes))

        run = ExpectedRun(accepted.run.id, [text], RunStatus.QUEUED, 0)
        one.runs.append(run)
        self._queue(one, run, accepted, retry_safe, run_out, idle)

    def _queue(
        self, one: ExpectedSession, run: ExpectedRun, accepted: Accepted, retry_safe: bool, run_out: bool, idle: bool
    ) -> None:
        one.last_queue_no += 1
        one.feed_no += 1
        run.queue_no, run.status = one.last_queue_no, RunStatus.QUEUED
        assert accepted.run.queue_no == run.queue_no
        assert (accepted.lease is not None) == idle
        if idle:
            one.take(run, accepted.run, accepted.lease, retry_safe, run_out)
        self._touched = one

    # --- nodes take turns

    @precondition(lambda self: bool(self._sessions))
    @rule(which=any_one, retry_safe=yes_or_no, run_out=yes_or_no)
    def a_node_claims(self, which: int, retry_safe: bool, run_out: bool) -> None:
        one = self._pick(self._sessions, which)
        new_id = RunId(clock.new_id("run"))

        claimed = self._run(claim(self._store, one.session, new_run_id=new_id, **_terms(retry_safe, run_out)))

        if one.holder is not None and not one.has_run_out:
            assert claimed is None
            return
        if one.holder is not None:
            self._abandon(one, one.holder, new_id)
        self._claimed(one, claimed, retry_safe, run_out)

    def _abandon(self, one: ExpectedSession, left: ExpectedRun, new_id: RunId) -> None:
        one.let_go(RunStatus.ABANDONED, raised=True)
        one.feed_no += 1
        if left.retry_safe and not left.is_retry:
            one.runs.append(ExpectedRun(new_id, left.says, RunStatus.QUEUED, left.queue_no, is_retry=True))
            one.feed_no += 1

    def _claimed(self, one: ExpectedSession, claimed: Claimed | None, retry_safe: bool, run_out: bool) -> None:
        if not one.queue:
            assert claimed is None
        else:
            assert claimed is not None
            assert claimed.run.id == one.queue[0].id
            one.take(one.queue[0], claimed.run, claimed.lease, retry_safe, run_out)
        self._touched = one

    @precondition(lambda self: bool(self._held()))
    @rule(which=any_one)
    def a_lease_runs_out(self, which: int) -> None:
        one, _, lease = self._pick(self._held(), which)

        assert self._store.runs.renew([lease], lease_seconds=RUN_OUT) == []

        one.has_run_out = True

    @precondition(lambda self: bool(self._held()))
    @rule(which=any_one)
    def a_lease_is_renewed(self, which: int) -> None:
        one, _, lease = self._pick(self._held(), which)

        assert self._store.runs.renew([lease], lease_seconds=LEASE_SECONDS) == []

        one.has_run_out = False

    # --- runs write, and end

    @precondition(lambda self: bool(self._held()))
    @rule(which=any_one)
    def a_run_shows_something(self, which: int) -> None:
        one, run, lease = self._pick(self._held(), which)
        text = self._text()

        no = self._run(self._store.feed.append_delta(lease, text))

        one.feed_no += 1
        run.shown.append(text)
        assert no == one.feed_no
        self._touched = one

    @precondition(lambda self: bool(self._held()))
    @rule(which=any_one, fate=fates, other=any_one, dialogue=strategies.none() | dialogues, packs=pins)
    def a_run_commits(
        self, which: int, fate: UnitStatus | None, other: int, dialogue: Dialogue | None, packs: tuple[PackPin, ...]
    ) -> None:
        one, run, lease = self._pick(self._held(), which)
        text, changes = self._text(), self._changes(one, fate, other)

        committed = self._run(
            self._commit(one, run, lease, text, units=changes, dialogue=dialogue, packs=packs or None)
        )

        one.learn(changes)
        # A session is pinned once; what comes later changes nothing.
        one.dialogue, one.packs = dialogue or one.dialogue, one.packs or packs
        one.history += [*run.lines, text]
        one.state, one.turns = {"last": text}, one.turns + 1
        one.let_go(RunStatus.COMPLETED)
        self._released(one, committed)
        assert committed.revision == one.revision

    @precondition(lambda self: bool(self._held()))
    @rule(which=any_one, fate=fates, other=any_one)
    def a_command_changes_units(self, which: int, fate: UnitStatus | None, other: int) -> None:
        one, run, lease = self._pick(self._held(), which)
        changes = self._changes(one, fate, other)
        real = self._run(self._store.runs.get(self._tenant, run.id))
        session = self._run(load(self._store, one.session)).session

        end = end_as(real, RunStatus.COMPLETED)
        committed = self._run(self._store.runs.change_units(lease, changes, end, session=session))

        one.learn(changes)
        one.commands += 1
        one.let_go(RunStatus.COMPLETED)
        self._released(one, committed)
        assert committed.revision == one.revision

    @precondition(lambda self: bool(self._sessions))
    @rule(which=any_one)
    def a_session_that_is_not_idle_does_not_expire(self, which: int) -> None:
        one = self._pick(self._sessions, which)

        session = self._run(
            self._store.sessions.expire(self._tenant, one.session.id, at=NOON, audit=audit_of("expire"))
        )

        assert session.status is SessionStatus.ACTIVE
        self._touched = one

    @precondition(lambda self: bool(self._held()))
    @rule(which=any_one)
    def a_commit_on_another_revision_is_refused(self, which: int) -> None:
        one, run, lease = self._pick(self._held(), which)
        stray = {"dialogue": Dialogue(intent="STRAY"), "packs": ()}

        with pytest.raises(SessionMoved):
            self._run(self._commit(one, run, lease, "from another world", ahead=1, **stray))

        self._touched = one

    @precondition(lambda self: bool(self._held()))
    @rule(which=any_one, status=ends)
    def a_run_ends_without_a_turn(self, which: int, status: RunStatus) -> None:
        one, run, lease = self._pick(self._held(), which)
        real = self._run(self._store.runs.get(self._tenant, run.id))

        committed = self._run(self._store.runs.end(lease, end_as(real, status)))

        one.let_go(status)
        self._released(one, committed)

    @precondition(lambda self: bool(self._held()))
    @rule(which=any_one)
    def a_run_asks_and_waits(self, which: int) -> None:
        one, run, lease = self._pick(self._held(), which)
        question = self._text()
        until = NOON + timedelta(days=1)

        committed = self._run(self._store.runs.suspend(lease, asking(question, *run.asks), at=NOON, wait_until=until))

        run.asks.append(Ask(said="", question=question))
        one.let_go(RunStatus.WAITING)
        self._released(one, committed)

    @precondition(lambda self: bool(self._held()))
    @rule(which=any_one, params=fields)
    def a_run_resets_its_session(self, which: int, params: dict[str, Any]) -> None:
        one, _, lease = self._pick(self._held(), which)

        epoch = self._run(reset(self._store, one.session, lease, revision=one.revision, params=params))

        one.feed_no += 1 + len(one.having(RunStatus.WAITING))
        for run in one.having(RunStatus.WAITING):
            run.status = RunStatus.CANCELLED
        one.history, one.state, one.known, one.resets = [], {}, [], one.resets + 1
        one.dialogue = Dialogue(params=params)
        assert epoch.number == one.resets + 1
        self._touched = one

    @precondition(lambda self: any(one.lost for one in self._sessions))
    @rule(which=any_one)
    def a_run_that_lost_its_lease_writes_in_vain(self, which: int) -> None:
        one, (real, lease) = self._pick([(one, lost) for one in self._sessions for lost in one.lost], which)

        with pytest.raises(LeaseLost):
            self._run(self._store.feed.append_delta(lease, "too late"))
        with pytest.raises(LeaseLost):
            self._run(self._store.runs.end(lease, end_as(real, RunStatus.FAILED)))
        with pytest.raises(LeaseLost):
            self._run(reset(self._store, one.session, lease, revision=one.revision))

        assert self._store.runs.renew([lease], lease_seconds=LEASE_SECONDS) == [lease]
        self._touched = one

    # --- runs are stopped

    @precondition(lambda self: any(one.runs for one in self._sessions))
    @rule(which=any_one)
    def a_run_is_cancelled(self, which: int) -> None:
        one, run = self._pick([(one, run) for one in self._sessions for run in one.runs], which)

        self._run(self._store.runs.cancel(self._tenant, run.id, at=NOON))

        if run.status in (RunStatus.QUEUED, RunStatus.WAITING):
            run.status = RunStatus.CANCELLED
            one.feed_no += 1
        self._touched = one

    @precondition(lambda self: any(one.queue for one, _, _ in self._held()))
    @rule(which=any_one, newest=any_one, how=ways)
    def a_newcomer_takes_over(self, which: int, newest: int, how: DoubleText) -> None:
        one, run, lease = self._pick([found for found in self._held() if found[0].queue], which)
        newcomer = self._pick(one.queue, newest)
        real = self._run(self._store.runs.get(self._tenant, newcomer.id))
        too_late = how is DoubleText.MERGE and (run.shown or run.asks or one.queue[0] is not newcomer)

        happened = self._run(supersede(self._store, lease, real, how))

        assert happened == (not too_late)
        self._touched = one
        if too_late:
            return
        if how is DoubleText.MERGE:
            newcomer.says = run.says + newcomer.says
        if how is DoubleText.INTERRUPT:
            one.history += run.lines + (["".join(run.shown)] if run.shown else [])
            one.turns += 1
        one.let_go(RunStatus.SUPERSEDED, raised=True)
        one.feed_no += 1

    # --- what is always true

    @invariant()
    def what_was_touched_agrees(self) -> None:
        if self._touched is not None:
            self._agrees(self._touched)
            self._touched = None

    def _agrees(self, one: ExpectedSession) -> None:
        loaded = self._run(load(self._store, one.session, window=1000))
        runs = self._run(self._store.runs.list(self._tenant, one.session.id, before=None, limit=1000))
        said = [message.content for message in loaded.history]
        assert loaded.session.revision == one.revision
        assert (loaded.session.turns, loaded.session.epoch.number) == (one.turns, one.resets + 1)
        assert (said, loaded.state) == (one.history, one.state)
        assert (loaded.session.dialogue, loaded.session.packs) == (one.dialogue, one.packs)
        assert {run.id: run.status for run in runs} == {run.id: run.status for run in one.runs}
        assert len([run for run in runs if run.status is RunStatus.RUNNING]) <= 1
        self._units_agree(one)
        self._feed_agrees(one)

    def _units_agree(self, one: ExpectedSession) -> None:
        """What is in reach is found in every way there is, and what is not is still told."""
        view, units = view_of(one.session, one.resets + 1), self._store.units
        kept = self._run(units.list(self._tenant, one.session.id, epoch=None, after=0, limit=1000))
        assert {unit.id: unit.status for _, unit in kept} == one.units
        assert self._run(units.newest(view, limit=1000)) == one.known[::-1]
        found = self._run(units.search(view, ["fact"], scope=PhaseScope.KNOWLEDGE, limit=1000))
        assert {each.unit.id for each in found} == {unit.id for unit in one.known}

    def _feed_agrees(self, one: ExpectedSession) -> None:
        """Every number was given once: to an entry that is still there, or to a delta that its run's end names."""
        entries = self._run(feed_of(self._store, one.session, limit=1000))
        numbers = [entry.no for entry in entries]
        gone = {no for entry in entries if "deltas" in entry.data for no in _span(*entry.data["deltas"])}
        assert numbers == sorted(set(numbers))
        assert set(numbers) | gone == set(range(1, one.feed_no + 1))
        assert self._run(self._store.feed.last_no(self._tenant, Subject(one.session.id))) == one.feed_no

    def _leases_agree(self) -> None:
        kept = self._run(
            self._backend.execute(f"SELECT subject, fence, queued FROM leases WHERE tenant = '{self._tenant}'")
        )
        expected = {(str(one.session.id), one.fence, len(one.queue)) for one in self._sessions}
        assert {tuple(row) for row in kept} == expected

    # --- helpers of the rules

    def _changes(self, one: ExpectedSession, fate: UnitStatus | None, other: int) -> UnitChanges:
        """A new unit, and maybe the end of a known one; `committed` keeps nothing at all."""
        unit, old = a_unit(f"This is a fact, {self._text()}."), self._pick(one.known, other) if one.known else None
        match fate:
            case UnitStatus.COMMITTED:
                return UnitChanges()
            case UnitStatus.SUPERSEDED if old:
                return UnitChanges(added=(unit,), superseded=((old.id, unit.id),))
            case UnitStatus.PUSHED_OUT if old:
                return UnitChanges(added=(unit,), pushed_out=(old.id,))
            case UnitStatus.FORGOTTEN if old:
                return UnitChanges(forgotten=(old.id,))
        return UnitChanges(added=(unit,))

    def _commit(
        self,
        one: ExpectedSession,
        run: ExpectedRun,
        lease: Lease,
        text: str,
        ahead: int = 0,
        **kept: Any,
    ) -> Coroutine[Any, Any, Committed]:
        real = self._run(self._store.runs.get(self._tenant, run.id))
        loaded = self._run(load(self._store, one.session))
        turn = Turn.of(
            real,
            loaded.session,
            asks=tuple(run.asks),
            text=text,
            state={"last": text},
            finish=Finish.DONE,
            at=NOON,
            **kept,
        )
        return self._store.runs.commit(
            turn,
            lease,
            session_id=one.session.id,
            expected_revision=loaded.session.revision + ahead,
            explanation=explanation_of(real),
        )

    def _released(self, one: ExpectedSession, committed: Committed) -> None:
        one.feed_no += 1
        assert (committed.queued, committed.feed_no) == (len(one.queue), one.feed_no)
        self._touched = one

    def _is_idle(self, one: ExpectedSession) -> bool:
        return one.holder is None and not one.queue

    def _held(self) -> list[tuple[ExpectedSession, ExpectedRun, Lease]]:
        return [(one, one.holder, one.held[1]) for one in self._sessions if one.holder and one.held]

    def _any_of(self, status: RunStatus) -> list[tuple[ExpectedSession, ExpectedRun]]:
        return [(one, run) for one in self._sessions for run in one.having(status)]

    def _pick(self, among: list[T], which: int) -> T:
        return among[which % len(among)]

    def _text(self) -> str:
        return f"text {next(self._texts)}"


def _terms(retry_safe: bool, run_out: bool) -> dict[str, Any]:
    return {
        "agents": {AGENT: AgentTerms(retry_safe=retry_safe)},
        "lease_seconds": RUN_OUT if run_out else LEASE_SECONDS,
    }


def _span(first: int, last: int) -> Iterator[int]:
    return iter(range(first, last + 1))


def test_sessions_leases_runs_and_epochs_agree_with_the_reference_model(backend: Backend) -> None:
    class Here(Conversations):
        def __init__(self) -> None:
            super().__init__(backend)

    run_state_machine_as_test(
        # On every change the same examples; a soak draws new ones each time.
        Here,
        settings=settings(max_examples=rounds(35, 1000), stateful_step_count=rounds(30, 60), derandomize=not SOAKING),
    )
