"""What we ask of a database about runs: taking them in, taking turns, and how they end.

Every method that writes as the holder of a lease compares its fence in its own transaction and raises LeaseLost.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from turnkeeper.model.approval import Approval, Decision
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.checkpoint import Checkpoint
from turnkeeper.model.dialogue import Dialogue
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.epoch import Epoch
from turnkeeper.model.explanation import Explanation
from turnkeeper.model.ids import AgentId, NodeId, RunId, SessionId, Subject, TenantId, UserId
from turnkeeper.model.lease import Lease
from turnkeeper.model.outbound import Delivery
from turnkeeper.model.run import Run, RunError, RunStatus
from turnkeeper.model.session import Session
from turnkeeper.model.turn import Turn
from turnkeeper.model.unit import UnitChanges
from turnkeeper.ports.custody import DeviceFields, RevisionMark

CANCEL = "cancel"
"""The wish to stop a run for nothing else; the others are the ways of double texting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTerms:
    """What a store must know of an agent to queue for it."""

    double_text: DoubleText = DoubleText.ENQUEUE
    retry_safe: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeTerms:
    """How often a long run goes on without a new checkpoint after its node is gone, and how long it may take in all."""

    takeovers: int = 3
    long_run_seconds: float = 14_400.0


DEFAULT_TERMS = ResumeTerms()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestKey:
    """The name a caller gave to a request, and the hash of what was asked under it.

    `user` is who holds the token, where that is not the user that the run is for.
    """

    key: str
    body_hash: bytes
    user: UserId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """What a tenant may have at most; None is no limit. `month` is what its runs are counted under."""

    month: str
    runs: int | None = None
    sessions: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """One message or command on its way into the queue.

    `run` is as it would be queued; the store fills in its numbers, and the session's agent where `agent` is None.
    With `new_session` the session is created in the same write. `long_runs` is how many long runs
    the tenant may have; 0 is no limit. An answer that is a `decision` decides the approval that its run waits for in
    the same write; to such a run nothing else is an answer.
    """

    run: Run
    agent: AgentId | None
    sees_whole_tenant: bool
    audit: AuditFacts
    node: NodeId
    agents: Mapping[AgentId, AgentTerms]
    lease_seconds: float
    queue_limit: int
    double_text: DoubleText | None = None
    new_session: Session | None = None
    request: RequestKey | None = None
    answers: RunId | None = None
    answer_text: str = ""
    decision: Decision | None = None
    long_runs: int = 0
    quotas: Quotas | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The Run as it is now: running under `lease`, or queued. `attached` says that the request was known already."""

    run: Run
    lease: Lease | None = None
    checkpoint: Checkpoint | None = None
    attached: bool = False
    double_text: DoubleText = DoubleText.ENQUEUE


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A queued Run that is now ours to run, and the answers it was given if it had been waiting."""

    run: Run
    lease: Lease
    checkpoint: Checkpoint | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """How a run ends without a Turn. `deliveries` carry out what it says all the same.

    `account` is what it spent and what it was bound to. With a `mark` it ends only if nothing newer is remembered,
    and with `device` a device finds its session in this state again. `carried_until` is how long the result tells what
    a client is to carry.
    """

    status: RunStatus
    explanation: Explanation
    at: datetime
    error: RunError | None = None
    result: Mapping[str, object] | None = None
    deliveries: tuple[Delivery, ...] = ()
    account: Mapping[str, object] | None = None
    mark: RevisionMark | None = None
    device: DeviceFields | None = None
    carried_until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetWish:
    """A new epoch of a session that stands at this revision. `params` are those that came with the wish."""

    session_id: SessionId
    expected_revision: int
    trigger: str
    at: datetime
    params: Mapping[str, object]
    audit: AuditFacts

    @property
    def dialogue(self) -> Dialogue:
        """What a session holds at the beginning of the epoch."""
        return Dialogue(params=self.params)


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """So many runs are still queued behind the one that was just kept."""

    revision: int
    feed_no: int
    queued: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A subject in which something is due: a queued run, a lease that ran out, a wait that is over."""

    tenant: TenantId
    subject: Subject


class RunStore(Protocol):
    async def accept(self, intake: Intake) -> Accepted:
        """One durable write: audit, request key, the queued Run, `run.accepted`, activity, and the lease if free.

        Raises SessionNotFound, SessionClosed, SessionExpired, SessionBusy, QueueFull, DuplicateRequest,
        TooManyLongRuns, RunNotWaiting, AnswerNotAccepted, ApprovalOpen or ApprovalDecided, and then has written
        nothing.
        """

    async def request(self, tenant: TenantId, user: UserId, key: str) -> bytes | None:
        """The hash of what was asked under this name before; None when nothing was."""

    async def claim(
        self,
        tenant: TenantId,
        subject: Subject,
        *,
        node: NodeId,
        agents: Mapping[AgentId, AgentTerms],
        lease_seconds: float,
        at: datetime,
        new_run_id: RunId,
        resume: ResumeTerms = DEFAULT_TERMS,
    ) -> Claimed | None:
        """Take the lease for the first queued Run, if it is free and the Run's agent is here.

        Ends a run whose lease ran out as abandoned, explained from its feed, and queues a new Run of the same
        input (`new_run_id`) when its agent is retry_safe. A long run goes on instead: it is queued again under its
        own id, `run.resumed` says from which checkpoint. Ends queued runs that have waited too long.
        """

    def renew(self, leases: Sequence[Lease], *, lease_seconds: float) -> Sequence[Lease]:
        """Extend these leases; the ones that are lost are returned. Called from a thread without an event loop."""

    async def commit(
        self, turn: Turn, lease: Lease, *, session_id: SessionId, expected_revision: int, explanation: Explanation
    ) -> Committed:
        """Keep all of the turn or none of it, and give the lease back. Raises LeaseLost or SessionMoved."""

    async def change_units(self, lease: Lease, changes: UnitChanges, end: RunEnd, *, session: Session) -> Committed:
        """Change the units of the session as the command of this run wants it, and end the run.

        Raises LeaseLost, or SessionMoved when the session is no longer at its revision.
        """

    async def end(self, lease: Lease, end: RunEnd) -> Committed:
        """Record an end that changes nothing in the session, and give the lease back. Raises CarriedStale."""

    async def suspend(
        self,
        lease: Lease,
        checkpoint: Checkpoint,
        *,
        at: datetime,
        wait_until: datetime,
        deliveries: Sequence[Delivery] = (),
        approval: Approval | None = None,
    ) -> Committed:
        """Leave the run waiting for a person, and give the lease back. `deliveries` carry its question out.

        An `approval` that it waits for is kept and told of in the same write.
        """

    async def reset(self, lease: Lease, wish: ResetWish) -> Epoch:
        """Open a new epoch and cancel the waiting runs of the session; the lease stays. Raises SessionMoved."""

    async def has_reset(self, run: Run) -> bool:
        """Whether this run, or the one that it tries again, has begun an epoch of its session."""

    async def hand_over(
        self,
        lease: Lease,
        *,
        at: datetime,
        new_run_id: RunId,
        explanation: Explanation,
        resume: ResumeTerms = DEFAULT_TERMS,
    ) -> None:
        """Abandon a run of one's own before going away; like an abandoned one it is tried again if it may be.

        A long run is queued again and goes on elsewhere.
        """

    async def ask_to_cancel(self, run: Run) -> Lease | None:
        """Leave a wish for the holder to cancel this run. None when it is not running."""

    async def ask_to_give_way(self, newcomer: Run, how: DoubleText) -> Lease | None:
        """Leave a wish for the holder to stop its run for this one, which is still queued.

        None when there is nothing to stop: nobody holds the lease, the newcomer has got it already, or what runs
        is a command. A merge leaves no wish, since `supersede` decides it at once.
        """

    async def supersede(
        self, lease: Lease, *, how: DoubleText, by: RunId, at: datetime, explanation: Explanation | None
    ) -> bool:
        """End the run under this lease in favour of another one, raising the fence.

        `interrupt` keeps one Turn with what was shown. `merge` moves its events in front of those of `by`, and
        returns False, doing nothing, once the run has put out something or another run is queued before `by`.
        """

    async def cancel(self, tenant: TenantId, run_id: RunId, *, at: datetime) -> Run:
        """End a queued or waiting run; a run in any other status is returned as it is. Raises RunNotFound."""

    async def stop_wish(self, lease: Lease) -> tuple[str, RunId | None] | None:
        """What was asked of the holder of this lease, if anything. Raises LeaseLost."""

    async def get(self, tenant: TenantId, run_id: RunId) -> Run:
        """Raises RunNotFound, also for a run of another tenant."""

    async def list(self, tenant: TenantId, session_id: SessionId, *, before: RunId | None, limit: int) -> Sequence[Run]:
        """The runs of a session, newest first, from just before the given one."""

    async def checkpoint(self, tenant: TenantId, run_id: RunId) -> Checkpoint | None:
        """The newest checkpoint of a run."""

    async def due(self, *, agents: Collection[AgentId], at: datetime, limit: int) -> Sequence[Work]:
        """Where a claim is worth a try: a run of one of these agents could begin, or any run has waited too long."""

    def held_by(self, node: NodeId) -> AsyncIterator[Work]:
        """What a node holds. Walks over everything, so it is only asked about nodes that are gone."""

    async def forget_requests(self, *, before: datetime) -> int:
        """Drop request keys that are older, and say how many."""

    async def forget_carried(self, *, at: datetime) -> int:
        """Drop what clients carry from the results that need not tell it any more, and say from how many."""
