"""The order of the steps, what is staged, and what a failure keeps."""

import asyncio
import contextlib
import logging
import traceback
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from turnkeeper.custody.device import DeviceMemory
from turnkeeper.custody.packing import Packing
from turnkeeper.errors import CarriedStale, LeaseLost, LimitExceeded, OverBudget, StoreUnavailable, TurnkeeperError
from turnkeeper.knowledge.retrieval import search_base
from turnkeeper.ledger.outbox import letters, refusals
from turnkeeper.ledger.output import OutputRules
from turnkeeper.ledger.trace import Trace
from turnkeeper.model.approval import Approval
from turnkeeper.model.binding import ReplyKind
from turnkeeper.model.budget import BudgetLimits, Overdrawn, Resource
from turnkeeper.model.checkpoint import Checkpoint
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.explanation import Detail
from turnkeeper.model.ids import NodeId, RunId
from turnkeeper.model.lease import Lease
from turnkeeper.model.policy import Policy
from turnkeeper.model.reply import Reply
from turnkeeper.model.run import Run, RunError, RunStatus
from turnkeeper.model.session import Custody
from turnkeeper.model.unit import UnitChanges
from turnkeeper.packs.shelf import PackShelf
from turnkeeper.ports.agent import Agents
from turnkeeper.ports.channels import Channels
from turnkeeper.ports.chat_model import ChatModel
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.compiler import Compiler
from turnkeeper.ports.custodian import Custodian
from turnkeeper.ports.custody import mark_of
from turnkeeper.ports.extractor import Extractor
from turnkeeper.ports.runs import CANCEL, Committed, ResumeTerms, RunEnd
from turnkeeper.ports.sender import Sender
from turnkeeper.ports.store import Store
from turnkeeper.ports.telemetry import Telemetry
from turnkeeper.ports.tools import ToolRegistry
from turnkeeper.scope.calling import ToolDesk
from turnkeeper.scope.check import ScopeCheck
from turnkeeper.scope.directory import Directory
from turnkeeper.scope.effective import LiveScopes
from turnkeeper.scope.storage import StorageQuota
from turnkeeper.settings import Settings
from turnkeeper.steps.change_units import ChangeUnits
from turnkeeper.steps.commit import Commit, account_of, explain
from turnkeeper.steps.draft import Step, TurnDraft
from turnkeeper.steps.hand_off import HandOff, RunSuspended
from turnkeeper.steps.hold_intent import HoldIntent
from turnkeeper.steps.intake import TakeIn
from turnkeeper.steps.materialize import TIMEOUT_SECONDS, Materialize
from turnkeeper.steps.open_session import OpenSession
from turnkeeper.steps.reset import Reset
from turnkeeper.substrate.artifacts import ArtifactShelf
from turnkeeper.substrate.of_run import SubstrateDesk

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """All that the engine asks of the world."""

    store: Store
    custodians: Mapping[Custody, Custodian]
    device: DeviceMemory
    packing: Packing
    agents: Agents
    tools: ToolRegistry
    extractor: Extractor
    packs: PackShelf
    channels: Channels
    telemetry: Telemetry
    senders: Mapping[ReplyKind, Sender]
    policy: Policy
    scopes: LiveScopes
    directory: Directory
    compiler: Compiler
    model: ChatModel | None
    clock: Clock
    node: NodeId
    settings: Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class StopWish:
    """Why a run is to stop before its end: cancelled, replaced by another run, handed over, or its lease is lost."""

    how: str
    by: RunId | None = None


HAND_OVER = "hand_over"
LEASE_LOST = "lease_lost"


class LiveRun:
    """A run that is being walked through the steps in this process."""

    def __init__(self, run: Run, lease: Lease, checkpoint: Checkpoint | None, deadline: datetime) -> None:
        self.run, self.lease, self.checkpoint, self.deadline = run, lease, checkpoint, deadline
        self.wish: StopWish | None = None
        self.task: asyncio.Task[None] | None = None
        self.queued_behind = 0
        self.unit_changes = UnitChanges()
        self._listeners: list[asyncio.Future[Reply | None]] = []
        self._outcome: tuple[Reply | None, Exception | None] | None = None
        self._may_be_stopped = True

    def stop(self, wish: StopWish) -> None:
        """Ask it to stop; the first wish counts, and a commit that has begun is not stopped."""
        if self._may_be_stopped and self.wish is None and self.task is not None:
            self.wish = wish
            self.task.cancel()

    def begin_commit(self) -> None:
        self._may_be_stopped = False

    async def ended(self) -> Reply | None:
        """Wait for its end without owning it: a caller that goes away does not end it."""
        listener: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
        if self._outcome is not None:
            _tell(listener, *self._outcome)
        else:
            self._listeners.append(listener)
        return await listener

    def end(self, reply: Reply | None = None, error: Exception | None = None) -> None:
        self._outcome = (reply, error)
        for listener in self._listeners:
            _tell(listener, reply, error)


def _tell(listener: "asyncio.Future[Reply | None]", reply: Reply | None, error: Exception | None) -> None:
    if listener.done():
        return
    if error is None:
        listener.set_result(reply)
    else:
        listener.set_exception(error)


class Engine:
    def __init__(self, world: World) -> None:
        self._world = world
        self._runs = world.store.runs
        self.take_in = TakeIn(
            self._runs,
            world.store.sessions,
            world.packs,
            world.store.nodes,
            world.agents,
            world.clock,
            world.node,
            world.settings,
            world.policy,
            world.scopes,
            world.directory,
            world.store.revisions,
        )
        self._turn_steps, self._command_steps = turn_steps(world), command_steps(world)
        self.check = ScopeCheck(world.store.reach, world.policy)
        self._commit = Commit(world.custodians, self._runs, world.clock)

    def deadline_of(self, run: Run) -> datetime:
        return deadline_of(self._world, run)

    async def perform(self, live: LiveRun) -> Reply | None:
        """Walk a run through the steps to its durable end.

        None means that the run has another end than a reply, which the store can tell. Raises StoreUnavailable when
        no end could be made durable: then the lease runs out and whoever takes over calls the run abandoned.
        """
        trace = Trace(keeps_details=self._world.settings.explanation_detail == Detail.FULL)
        trace.note("intake")
        for prior in live.run.input.before:
            trace.note(prior.name, prior.data)
        asks = live.checkpoint.asks if live.checkpoint else ()
        draft = TurnDraft(run=live.run, lease=live.lease, trace=trace, asks=asks, resumed=live.checkpoint)
        try:
            seconds_left = (live.deadline - self._world.clock.now()).total_seconds()
            async with asyncio.timeout(seconds_left) as limit:
                for name, step in self._turn_steps if live.run.input.command is None else self._command_steps:
                    trace.begin(name)
                    with self._span(name, live.run):
                        draft = await step(draft)
                    trace.end()
                    if draft.is_over:
                        break
                    self._hurry(live, draft, limit)
            live.begin_commit()
            trace.begin("commit")
            with self._span("commit", live.run):
                draft = await self._commit(draft)
        except asyncio.CancelledError as error:
            await self._end_stopped(live, draft, error)
        except TimeoutError as error:
            await self._end_overdue(live, draft, error)
        except RunSuspended as suspended:
            return await self._suspend(live, draft, suspended)
        except LeaseLost:
            log.info("lease lost", extra={"run_id": live.run.id})
        except StoreUnavailable as error:
            await self._end_unsure(live, draft, error)
        except (TurnkeeperError, Overdrawn) as raised:
            failed = _over(raised) if isinstance(raised, Overdrawn) else raised
            failure = RunError(
                code=failed.code,
                message=failed.detail,
                stage=failed.stage or trace.step,
                retryable=failed.retryable,
                details=failed.details,
            )
            await self._end(live, draft, RunStatus.FAILED, failure)
        except Exception as error:
            await self._end(live, draft, RunStatus.FAILED, self._crash(draft, error))
        else:
            live.queued_behind, live.unit_changes = draft.queued, draft.unit_changes
            self._tell_of_trace(draft)
            return draft.reply
        return None

    def _span(self, name: str, run: Run) -> AbstractContextManager[object]:
        facts = {"tenant_id": run.tenant, "session_id": run.session_id, "run_id": run.id, "agent": run.agent}
        return self._world.telemetry.span(name, run.trace_id, run.input.trace, facts)

    def _hurry(self, live: LiveRun, draft: TurnDraft, limit: asyncio.Timeout) -> None:
        """A step has found out that the run has less time than was thought."""
        if draft.deadline is not None and draft.deadline < live.deadline:
            left = (draft.deadline - self._world.clock.now()).total_seconds()
            live.deadline = draft.deadline
            limit.reschedule(asyncio.get_running_loop().time() + left)

    def _tell_of_trace(self, draft: TurnDraft) -> None:
        """Whether the trace of the request went through everything that was made for it."""
        wanted = draft.run.trace_id
        seen = {
            draft.context.trace_id if draft.context else wanted,
            draft.compiled.trace_id if draft.compiled else wanted,
        }
        self._world.telemetry.propagated(draft.run.tenant, whole=seen == {wanted})

    async def _end(self, live: LiveRun, draft: TurnDraft, status: RunStatus, error: RunError | None = None) -> None:
        """A durable record of an end that leaves the session as it was, or as a reset left it."""
        live.begin_commit()
        self._tell_of_trace(draft)
        draft.trace.end({"error": error.code} if error else {})
        now = self._world.clock.now()
        explanation = replace(explain(draft, status), at=now, error=error)
        # Where the client keeps the session, a reset stands only if the client is told of it.
        custodian = self._world.custodians[live.run.custody]
        carried = custodian.carried(draft.opened) if draft.has_reset else None
        result = None if carried is None else {"carried": carried}
        told = refusals(live.run, error, at=now, clock=self._world.clock)
        end = RunEnd(
            status=status,
            explanation=explanation,
            at=now,
            error=error,
            result=result,
            deliveries=told,
            account=account_of(draft),
            mark=mark_of(draft.opened) if draft.has_reset else None,
            carried_until=None if carried is None else custodian.kept_until(live.run, now),
        )
        try:
            ended = await self._end_marked(live, end)
        except LeaseLost:
            return
        live.queued_behind = ended.queued

    async def _end_marked(self, live: LiveRun, end: RunEnd) -> Committed:
        try:
            return await self._runs.end(live.lease, end)
        except CarriedStale:
            # The session has gone on from a newer state meanwhile, so nobody is told of the reset of this one.
            return await self._runs.end(live.lease, replace(end, result=None, mark=None, carried_until=None))

    async def _end_overdue(self, live: LiveRun, draft: TurnDraft, error: TimeoutError) -> None:
        if self._world.clock.now() < live.deadline:
            # The agent's own timeout, not ours.
            await self._end(live, draft, RunStatus.FAILED, self._crash(draft, error))
            return
        if (seconds := _own_timeout(draft)) is not None:
            over = LimitExceeded(TIMEOUT_SECONDS, seconds)
            failure = RunError(code=over.code, message=over.detail, stage=draft.trace.step)
            await self._end(live, draft, RunStatus.FAILED, failure)
            return
        late = RunError(
            code="run_timed_out",
            message="The run took too long and was stopped. Nothing of it was kept.",
            stage=draft.trace.step,
            retryable=True,
        )
        await self._end(live, draft, RunStatus.TIMED_OUT, late)

    async def _end_stopped(self, live: LiveRun, draft: TurnDraft, error: asyncio.CancelledError) -> None:
        wish, task = live.wish, live.task
        if wish is None and task is not None and task.cancelling():
            raise error
        if wish is None:
            await self._end(live, draft, RunStatus.FAILED, self._crash(draft, error))
            return
        if task is not None:
            task.uncancel()
        live.begin_commit()
        if wish.how == CANCEL:
            await self._end(live, draft, RunStatus.CANCELLED)
        elif wish.how == HAND_OVER:
            await self._hand_over(live, draft)
        elif wish.how != LEASE_LOST:
            await self._give_way(live, draft, wish)

    async def _hand_over(self, live: LiveRun, draft: TurnDraft) -> None:
        draft.trace.end({"stopped": HAND_OVER})
        now = self._world.clock.now()
        explanation = replace(explain(draft, RunStatus.ABANDONED), at=now)
        new_id = RunId(self._world.clock.new_id("run"))
        with contextlib.suppress(LeaseLost):
            await self._runs.hand_over(
                live.lease,
                at=now,
                new_run_id=new_id,
                explanation=explanation,
                resume=resume_terms(self._world.settings),
            )

    async def _give_way(self, live: LiveRun, draft: TurnDraft, wish: StopWish) -> None:
        assert wish.by is not None, "a run gives way to another one"
        draft.trace.end({"stopped": wish.how})
        now = self._world.clock.now()
        explanation = replace(explain(draft, RunStatus.SUPERSEDED), at=now)
        await self._runs.supersede(live.lease, how=DoubleText(wish.how), by=wish.by, at=now, explanation=explanation)
        live.queued_behind = 1

    async def _end_unsure(self, live: LiveRun, draft: TurnDraft, error: StoreUnavailable) -> None:
        """A write raised, so nobody knows yet whether it is durable.

        Ending the run settles it: either this end is the durable one, or it is refused because the commit was, and
        then the store can tell.
        """
        failure = RunError(code=error.code, message=error.detail, stage=draft.trace.step, retryable=True)
        await self._end(live, draft, RunStatus.FAILED, failure)

    async def _suspend(self, live: LiveRun, draft: TurnDraft, suspended: RunSuspended) -> Reply | None:
        run, checkpoint, wish = live.run, suspended.checkpoint, suspended.wish
        live.begin_commit()
        draft.trace.end({"asked": True})
        now = self._world.clock.now()
        wait_until = now + timedelta(seconds=self._world.settings.answer_seconds)
        approval = None if wish is None else Approval.wished(wish, run.tenant, run.id, run.session_id)
        if wish is not None:
            # Time enough to ask a higher role, and one above that.
            wait_until = max(wait_until, now + 4 * wish.rule.timeout)
        asked = letters(live.run, checkpoint.asks[-1].shown, at=now, clock=self._world.clock)
        try:
            released = await self._runs.suspend(
                live.lease, checkpoint, at=now, wait_until=wait_until, deliveries=asked, approval=approval
            )
        except LeaseLost:
            return None
        live.queued_behind = released.queued
        return Reply(
            session_id=live.run.session_id,
            run_id=live.run.id,
            status=RunStatus.WAITING,
            text=checkpoint.asks[-1].shown,
            explanation=replace(explain(draft, RunStatus.WAITING), at=now),
        )

    def _crash(self, draft: TurnDraft, error: BaseException) -> RunError:
        """The words of an exception may be a user's: only its kind and its place are told."""
        places = traceback.extract_tb(error.__traceback__)
        place = f"{places[-1].filename}:{places[-1].lineno}" if places else "nowhere"
        log.error(
            "agent failed",
            extra={"run_id": draft.run.id, "agent": draft.run.agent, "kind": type(error).__name__, "place": place},
            # Only for whoever develops: with it go the words.
            exc_info=error if log.isEnabledFor(logging.DEBUG) else None,
        )
        if draft.trace.step == "commit":
            return RunError(
                code="internal_error",
                message=f"Keeping the turn failed with {type(error).__name__}. Nothing of it was kept.",
                stage="commit",
            )
        return RunError(
            code="agent_failed",
            message=f"The agent failed with {type(error).__name__}. Nothing of this turn was kept.",
            stage=draft.trace.step,
        )


def _over(overdrawn: Overdrawn) -> TurnkeeperError:
    """Steps are limited by what a session inherited; all else by its budget."""
    if overdrawn.resource == Resource.STEPS:
        return LimitExceeded("max_steps", overdrawn.limit)
    return OverBudget(overdrawn)


def _own_timeout(draft: TurnDraft) -> float | None:
    """How long the context lets a run go on, where that is what ended it."""
    seconds = draft.scope.context.limits.get(TIMEOUT_SECONDS) if draft.scope else None
    if seconds is None or draft.deadline is None:
        return None
    ends_at = (draft.run.started_at or draft.run.accepted_at) + timedelta(seconds=seconds)
    return seconds if draft.deadline == ends_at else None


def turn_steps(world: World) -> tuple[tuple[str, Step], ...]:
    """What a message goes through, in this order, and then the commit."""
    settings, store = world.settings, world.store
    limits = BudgetLimits(
        model_calls=settings.model_calls,
        depth=settings.frame_depth,
        plugins_per_stage=settings.plugins_per_stage,
        parallel_frames=settings.parallel_frames,
    )
    rules = OutputRules(
        delta_seconds=settings.delta_seconds, delta_bytes=settings.delta_bytes, most_chars=settings.output_chars
    )
    deadline = partial(_deadline_of_draft, world)
    reset = Reset(world.custodians, world.packs, settings.reset_reply)
    return (
        # The lease first, then the load.
        ("open_session", OpenSession(world.custodians, world.packs, world.agents, world.policy.bands, world.scopes)),
        ("reset", reset),  # every trigger ends here
        (
            "hold_intent",
            HoldIntent(world.packs, reset, world.model, world.clock, deadline, limits, settings.dialogue_bytes),
        ),
        (
            "materialize",
            Materialize(
                deadline_of=deadline,
                history_tokens=settings.history_tokens,
                prompt_tokens=settings.prompt_tokens,
                bases=store.bases,
                limits=limits,
                spending=spending(settings),
                packs=world.packs,
                agents=world.agents,
                policy=world.policy,
                compiler=world.compiler,
                definitions=store.definitions,
            ),
        ),
        (
            "hand_off",
            HandOff(
                agents=world.agents,
                custodians=world.custodians,
                feed=store.feed,
                wakes=store.wakes,
                checkpoints=store.checkpoints,
                effects=store.effects,
                clock=world.clock,
                telemetry=world.telemetry,
                rules=rules,
                state_bytes=settings.state_bytes,
                critic_retries=settings.critic_retries,
                desk=tool_desk(world),
                substrate=substrate_desk(world),
            ),
        ),
    )


def tool_desk(world: World) -> ToolDesk:
    """What every call of a tool needs."""
    store = world.store
    return ToolDesk(
        tools=world.tools,
        check=ScopeCheck(store.reach, world.policy),
        scopes=world.scopes,
        sessions=store.sessions,
        approvals=store.approvals,
        feed=store.feed,
        wakes=store.wakes,
        clock=world.clock,
        search=partial(search_base, store.units),
    )


def substrate_desk(world: World) -> SubstrateDesk:
    """What every run needs to use artifacts, manifests and pointers."""
    store, settings = world.store, world.settings
    return SubstrateDesk(
        shelf=ArtifactShelf(
            store.artifacts,
            store.blobs,
            world.clock,
            settings.artifact_bytes,
            StorageQuota(world.directory),
        ),
        manifests=store.manifests,
        pointers=store.pointers,
        outputs=store.outputs,
        feed=store.feed,
        wakes=store.wakes,
        clock=world.clock,
        most_entries=settings.manifest_entries,
    )


def spending(settings: Settings) -> Mapping[str, float]:
    """What a run may use of each resource when nobody says otherwise."""
    return {
        Resource.TOKENS: settings.tokens,
        Resource.TOOL_CALLS: settings.tool_calls,
        Resource.COST_CENTS: settings.cost_cents,
    }


def command_steps(world: World) -> tuple[tuple[str, Step], ...]:
    """What a command goes through: no agent is asked."""
    return (
        ("open_session", OpenSession(world.custodians, world.packs, world.agents, world.policy.bands, world.scopes)),
        ("reset", Reset(world.custodians, world.packs, world.settings.reset_reply)),
        ("change_units", ChangeUnits(world.custodians, world.store.units, world.extractor, world.clock)),
    )


def _deadline_of_draft(world: World, draft: TurnDraft) -> datetime:
    return draft.deadline or deadline_of(world, draft.run)


def resume_terms(settings: Settings) -> ResumeTerms:
    return ResumeTerms(takeovers=settings.resumes, long_run_seconds=settings.long_run_seconds)


def deadline_of(world: World, run: Run) -> datetime:
    if run.is_resumed:
        return run.ends_by(world.settings.long_run_seconds)
    agent = world.agents.get(run.agent)
    seconds = agent.policy.run_seconds if agent and agent.policy.run_seconds else world.settings.run_seconds
    return (run.started_at or run.accepted_at) + timedelta(seconds=seconds)
