"""One attempt to answer an Envelope; always recorded."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from turnkeeper.model.control import RESET_PARAMS, first_true, is_reset_command, with_clean_names
from turnkeeper.model.envelope import Command, Prior
from turnkeeper.model.event import Event
from turnkeeper.model.feed import FeedType
from turnkeeper.model.ids import AgentId, Fence, RunId, SessionId, Subject, TenantId, TraceId, UserId
from turnkeeper.model.mode import Mode
from turnkeeper.model.outbound import ReplyTo
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.session import Custody, Freshness
from turnkeeper.model.trace_context import TraceContext


class RunStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    SUPERSEDED = "superseded"
    ABANDONED = "abandoned"

    @property
    def is_open(self) -> bool:
        return self in (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.WAITING)

    @property
    def feed_type(self) -> FeedType:
        return FeedType(f"run.{self.value}")


class Finish(StrEnum):
    """How the text of a Turn came to its end."""

    DONE = "done"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunError:
    """Why a run did not complete, in words that may be shown to its caller."""

    code: str
    message: str
    stage: str | None = None
    retryable: bool = False
    details: tuple[Mapping[str, Any], ...] = ()


WAITED_TOO_LONG = RunError(
    code="waited_too_long", message="The message waited too long for its turn. Send it again.", retryable=True
)

SIGNED_IN = "app_chat"
"""The channel of people who have signed in. An approval is given there, whatever it is for."""


BUS = "bus"
"""The channel of what is said on a message bus; no request of the outside world comes through it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInput:
    """What the Envelope asked for. It stays on the run, also when the run fails.

    `grants` are those that the caller holds here; None means every one. `limits`, `claims` and `before` are as on the
    Envelope.
    """

    events: tuple[Event, ...] = ()
    command: Command | None = None
    reset: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)
    explicit: Preferences = field(default_factory=Preferences)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    carried: Mapping[str, Any] | None = None
    packs: tuple[str, ...] = ()
    names_every_pack: bool = False
    intent: str | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    claims: Mapping[str, Any] = field(default_factory=dict)
    trace: TraceContext | None = None
    reply_to: ReplyTo | None = None
    warnings: tuple[str, ...] = ()
    channel: str = "app_chat"
    grants: tuple[str, ...] | None = None
    request_id: str | None = None
    before: tuple[Prior, ...] = ()
    freshness: Freshness = Freshness.ANY

    @property
    def given(self) -> dict[str, Any]:
        """The fields that say something, as they are written down; most messages are nothing but a text."""
        said = {name: value for name, plain in _PLAIN.items() if (value := getattr(self, name)) != plain}
        if self.events:
            said["events"] = [event.given for event in self.events]
        return said

    @property
    def locale(self) -> str | None:
        """The language of the newest message that says one."""
        return next((event.locale for event in reversed(self.events) if event.locale), None)

    @property
    def wants_reset(self) -> bool:
        """Whether it says by itself that the session is to begin anew."""
        names = with_clean_names(self.params)
        return (
            self.reset
            or first_true(names, RESET_PARAMS) is not None
            or any(is_reset_command(event.as_text) for event in self.events)
        )

    def can_be_followed_by(self, later: "RunInput") -> bool:
        """Whether one answer may be for both: neither has more of a say with the other than it has alone."""
        return (
            self.channel == later.channel
            and self.claims == later.claims
            and _same_grants(self.grants, later.grants)
            # A later message that names no pack means those of the session, as the first one does.
            and later.packs in ((), self.packs)
            and not later.wants_reset
        )

    def followed_by(self, later: "RunInput") -> "RunInput":
        """Two messages that are answered as one: the Events of both in order, the later params on top."""
        return RunInput(
            events=self.events + later.events,
            reset=self.reset or later.reset,
            params={**self.params, **later.params},
            explicit=self.explicit if later.explicit.is_empty else later.explicit,
            metadata={**self.metadata, **later.metadata},
            packs=later.packs or self.packs,
            names_every_pack=later.names_every_pack if later.packs else self.names_every_pack,
            intent=later.intent or self.intent,
            limits={
                **self.limits,
                **{name: min(most, self.limits.get(name, most)) for name, most in later.limits.items()},
            },
            claims={**self.claims, **later.claims},
            trace=later.trace or self.trace,
            reply_to=later.reply_to or self.reply_to,
            warnings=tuple(dict.fromkeys(self.warnings + later.warnings)),
            channel=later.channel,
            grants=_both(self.grants, later.grants),
            request_id=later.request_id,
            before=self.before + later.before,
        )


_PLAIN = {each.name: getattr(RunInput(), each.name) for each in fields(RunInput)}


def _same_grants(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> bool:
    return one == other or (one is not None and other is not None and set(one) == set(other))


def _both(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """What both callers hold; None is every grant."""
    if one is None or other is None:
        return other if one is None else one
    return tuple(grant for grant in one if grant in other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    tenant: TenantId
    id: RunId
    session_id: SessionId
    custody: Custody
    agent: AgentId
    user: UserId
    status: RunStatus
    queue_no: int
    feed_no: int
    trace_id: TraceId
    input: RunInput
    accepted_at: datetime
    wait_until: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    fence: Fence | None = None
    turn: int | None = None
    finish: Finish | None = None
    result: Mapping[str, Any] | None = None
    error: RunError | None = None
    retry_of: RunId | None = None
    superseded_by: RunId | None = None
    merged: bool | None = None
    retry_safe: bool = False
    mode: Mode = Mode.BATCH
    account: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.status.is_open == (self.ended_at is not None):
            raise ValueError("a Run has ended_at exactly when it is at an end")

    @property
    def subject(self) -> Subject:
        """What queues and is leased: the session, or the single run when somebody else keeps the session."""
        return Subject(self.session_id if self.custody.is_ours else self.id)

    @property
    def may_be_sent_again(self) -> bool:
        """After such an end the same request starts a new Run; after every other end it gets the first answer."""
        retryable_failure = self.error is not None and self.error.retryable
        return self.superseded_by is None and (
            self.status in (RunStatus.TIMED_OUT, RunStatus.ABANDONED)
            or (self.status is RunStatus.FAILED and retryable_failure)
        )

    @property
    def gives_way(self) -> bool:
        """A command is done in a moment and is never stopped for a message."""
        return self.status is RunStatus.RUNNING and self.input.command is None

    def may_be_merged_with(self, newcomer: "Run") -> bool:
        """Whether both may be answered as one. A long run is followed by its own caller, so it stays alone."""
        return (
            self.user == newcomer.user
            and self.agent == newcomer.agent
            and self.mode is newcomer.mode is not Mode.LONG_RUNNING
            and self.input.can_be_followed_by(newcomer.input)
        )

    @property
    def may_be_retried(self) -> bool:
        """Whether a run that was left behind is tried again, once, without being asked to."""
        return self.retry_safe and self.retry_of is None and self.custody.is_ours

    @property
    def first_attempt(self) -> RunId:
        """Whose effects this run must not have again."""
        return self.retry_of or self.id

    @property
    def is_resumed(self) -> bool:
        """Whether it goes on where it was left when its node is gone, rather than being abandoned."""
        return self.mode is Mode.LONG_RUNNING and self.input.command is None and self.custody.is_ours

    def ends_by(self, seconds: float) -> datetime:
        """When a long run has had its time: what its message allows, at most these seconds, from its first start."""
        asked = self.input.limits.get("max_session_duration_ms", seconds * 1000) / 1000
        return (self.started_at or self.accepted_at) + timedelta(seconds=min(asked, seconds))

    def taken(self, fence: Fence, at: datetime, *, retry_safe: bool, **changes: Any) -> "Run":
        """The same run, now running; `changes` go in with it. A long run keeps the moment of its first start."""
        first = self.started_at if self.is_resumed else None
        return replace(
            self, status=RunStatus.RUNNING, started_at=first or at, fence=fence, retry_safe=retry_safe, **changes
        )

    def requeued(self, at: datetime, long_run_seconds: float) -> "Run":
        """The same run, in its old place of the queue until a node takes it up again."""
        until = max(self.ends_by(long_run_seconds), at)
        return replace(self, status=RunStatus.QUEUED, fence=None, wait_until=until)

    def takes_approval_through(self, channel: str) -> bool:
        """A yes counts where the run was asked for, or where its user signs in; a text message is no signature."""
        return channel in (self.input.channel, SIGNED_IN)

    def woken(self, answer: "Run", queue_no: int, waited: timedelta) -> "Run":
        """A waiting run that was answered, as it waits in the queue: with no grant that the answer came without.

        Of a long one the time that it waited is not counted.
        """
        started = self.started_at
        if self.is_resumed and started is not None:
            started += waited
        return replace(
            self,
            status=RunStatus.QUEUED,
            queue_no=queue_no,
            wait_until=answer.wait_until,
            started_at=started,
            input=replace(
                self.input,
                grants=_both(self.input.grants, answer.input.grants),
                reply_to=self._reply_after(answer.input.reply_to),
            ),
        )

    def _reply_after(self, answer: ReplyTo | None) -> ReplyTo | None:
        """Where the reply goes after an answer: to the answer, in its thread, if that came through the same channel."""
        asked = self.input.reply_to
        return answer if asked is not None and answer is not None and answer.channel == asked.channel else asked

    def again(self, new_id: RunId, at: datetime) -> "Run":
        """A new attempt at the same input, in the same place of the queue."""
        return replace(
            self,
            id=new_id,
            status=RunStatus.QUEUED,
            accepted_at=at,
            wait_until=at + (self.wait_until - self.accepted_at),
            started_at=None,
            fence=None,
            retry_of=self.id,
        )
