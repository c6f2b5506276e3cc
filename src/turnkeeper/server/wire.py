"""What travels over HTTP. Strangers are believed nothing: every type is strict, and unknown fields are refused."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from turnkeeper.keeping.continuing import LONGEST_IDLE_SECONDS
from turnkeeper.model.message import Message
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.reply import Reply
from turnkeeper.model.run import Run, RunError
from turnkeeper.model.session import Session

Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:@-]{0,127}$")]
PackRef = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}(@(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){2})?$",
        description="The id of a pack, or `id@version`. A session keeps the one of its first turn.",
    ),
]
PlainText = Annotated[str, Field(pattern=r"^[^\x00]*$")]

Item = TypeVar("Item")


class Inbound(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Choosing(Inbound):
    """What to use: a plugin id for each kind, a model, and how hard to think."""

    plugins: dict[Id, Id] | None = None
    model: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    level: Annotated[int, Field(ge=0, le=3)] | None = None


class ChatIn(Choosing):
    """One message. Without `session_id` it begins a new session."""

    message: str = Field(min_length=1)
    session_id: Id | None = None
    agent: Id | None = None
    pack: PackRef | None = None
    stream: bool = False
    reset: bool = False
    params: dict[str, Any] = Field(default_factory=dict)
    metadata: dict[str, Any] = Field(default_factory=dict)
    request_id: Id | None = Field(default=None, description="The same as the header Idempotency-Key.")
    double_text: Literal["enqueue", "reject", "rollback", "interrupt", "merge"] | None = None
    on_missing: Literal["new", "error"] = "new"
    answers: Id | None = Field(default=None, description="The id of the waiting run that this message answers.")
    custody: Literal["engine", "client"] = "engine"
    carried: dict[str, Any] | None = None
    cancel_on_disconnect: bool = Field(default=False, description="Stop the run when this connection is lost.")


class AnswerIn(Inbound):
    message: str = Field(min_length=1)
    request_id: Id | None = Field(default=None, description="The same as the header Idempotency-Key.")


IdleSeconds = Annotated[int, Field(ge=1, le=LONGEST_IDLE_SECONDS)]
Title = Annotated[PlainText, Field(min_length=1, max_length=200)]


class SessionIn(Choosing):
    agent: Id | None = None
    pack: PackRef | None = None
    title: Title | None = None
    idle_for_seconds: IdleSeconds | None = None
    from_session_id: Id | None = Field(default=None, description="A finished session that this one continues.")


class SettingsIn(Inbound):
    """What is to be different afterwards; what is left out stays as it is."""

    title: Title | None = None
    double_text: Literal["enqueue", "reject", "rollback", "interrupt", "merge"] | None = None
    idle_for_seconds: IdleSeconds | None = None


class Outbound(BaseModel):
    model_config = ConfigDict(frozen=True)


class IntentOut(Outbound):
    """What the user wants, and which fields are missing for it; while it is locked they hold the session there."""

    code: str
    state: str
    locked: bool
    missing: list[str]


class ChatOut(Outbound):
    """The answer, or with `status` waiting the question that comes back."""

    session_id: str
    run_id: str
    turn: int | None = None
    text: str
    status: str
    created: bool
    replaced_session_id: str | None = None
    replaced_reason: str | None = None
    merged: bool | None = None
    carried: dict[str, Any] | None = None
    finish: str | None = None
    intent: IntentOut | None = None
    warnings: list[str]

    @classmethod
    def of(cls, reply: Reply) -> "ChatOut":
        return cls(
            session_id=reply.session_id,
            run_id=reply.run_id,
            turn=reply.turn,
            text=reply.text,
            status=reply.status.value,
            created=reply.created,
            replaced_session_id=reply.replaced_session_id,
            replaced_reason=reply.replaced_reason,
            merged=reply.merged,
            carried=None if reply.carried is None else dict(reply.carried),
            finish=reply.finish.value if reply.finish else None,
            intent=None if reply.intent is None else IntentOut.model_validate(dict(reply.intent)),
            warnings=list(reply.warnings),
        )


class InvokeOut(ChatOut):
    """The answer to a full envelope, with the trace that it belongs to."""

    trace_id: str
    mode: str

    @classmethod
    def told(cls, reply: Reply, run: Run) -> "InvokeOut":
        return cls(**ChatOut.of(reply).model_dump(), trace_id=run.trace_id, mode=run.mode.value)


class RunHandle(Outbound):
    """A long run that has been taken in: `run` tells where it stands, `feed` what happens in it."""

    run_id: str
    session_id: str
    status: str
    trace_id: str
    created: bool
    run: str
    feed: str


class PreferencesOut(Outbound):
    """What the session would rather use next; a kind of plugin that is not named is chosen as it fits."""

    model: str | None
    plugins: dict[str, str]
    level: int | None

    @classmethod
    def of(cls, preferences: Preferences) -> "PreferencesOut":
        return cls(model=preferences.model, plugins=dict(preferences.plugins), level=preferences.level)


class MountOut(Outbound):
    kind: str
    id: str
    revision: int
    mounted_at: datetime


class SessionOut(Outbound):
    id: str
    status: str
    agent: str
    owner: str
    title: str | None
    revision: int
    version: int
    turns: int
    epoch: int
    double_text: str | None
    preferences: PreferencesOut
    mounts: list[MountOut]
    packs: list[str]
    intent: IntentOut | None
    from_session_id: str | None
    idle_for_seconds: int
    created_at: datetime
    last_active_at: datetime
    expires_at: datetime
    closed_at: datetime | None
    closed_reason: str | None

    @classmethod
    def of(cls, session: Session) -> "SessionOut":
        return cls(
            id=session.id,
            status=session.status.value,
            agent=session.agent,
            owner=session.owner,
            title=session.title,
            revision=session.revision,
            version=session.version,
            turns=session.turns,
            epoch=session.epoch.number,
            double_text=session.double_text.value if session.double_text else None,
            preferences=PreferencesOut.of(session.preferences),
            mounts=[
                MountOut(kind=mount.kind.value, id=mount.id, revision=mount.revision, mounted_at=mount.mounted_at)
                for mount in session.mounts
            ],
            packs=[pin.ref for pin in session.packs],
            intent=None if (held := session.dialogue.told) is None else IntentOut.model_validate(dict(held)),
            from_session_id=session.from_session_id,
            idle_for_seconds=session.idle_for_seconds,
            created_at=session.created_at,
            last_active_at=session.last_active_at,
            expires_at=session.expires_at,
            closed_at=session.closed_at,
            closed_reason=session.closed_reason,
        )


class MessageOut(Outbound):
    id: str
    seq: int
    turn: int
    epoch: int
    role: str
    content: str
    created_at: datetime

    @classmethod
    def of(cls, message: Message) -> "MessageOut":
        return cls(
            id=message.id,
            seq=message.seq,
            turn=message.turn,
            epoch=message.epoch,
            role=message.role.value,
            content=message.content,
            created_at=message.created_at,
        )


class RunErrorOut(Outbound):
    code: str
    message: str
    stage: str | None
    retryable: bool
    details: list[dict[str, Any]] = []

    @classmethod
    def of(cls, error: RunError) -> "RunErrorOut":
        return cls(
            code=error.code,
            message=error.message,
            stage=error.stage,
            retryable=error.retryable,
            details=[dict(detail) for detail in error.details],
        )


class RunOut(Outbound):
    """`text` is the answer of a run that completed, or the question of one that waits."""

    id: str
    session_id: str
    agent: str
    user: str
    custody: str
    mode: str
    status: str
    turn: int | None
    finish: str | None
    merged: bool | None
    text: str | None = None
    error: RunErrorOut | None
    queue_no: int
    feed_no: int
    trace_id: str
    retry_of: str | None
    superseded_by: str | None
    accepted_at: datetime
    started_at: datetime | None
    ended_at: datetime | None

    @classmethod
    def of(cls, run: Run, text: str | None = None) -> "RunOut":
        return cls(
            id=run.id,
            session_id=run.session_id,
            agent=run.agent,
            user=run.user,
            custody=run.custody.value,
            mode=run.mode.value,
            status=run.status.value,
            turn=run.turn,
            finish=run.finish.value if run.finish else None,
            merged=run.merged,
            text=text,
            error=None if run.error is None else RunErrorOut.of(run.error),
            queue_no=run.queue_no,
            feed_no=run.feed_no,
            trace_id=run.trace_id,
            retry_of=run.retry_of,
            superseded_by=run.superseded_by,
            accepted_at=run.accepted_at,
            started_at=run.started_at,
            ended_at=run.ended_at,
        )


class Page(Outbound, Generic[Item]):
    """Ask for the rest with `?cursor=` and what `next` says; without `next` this is the last page."""

    items: list[Item]
    next: str | None = Field(default=None, exclude_if=lambda cursor: cursor is None)


class Health(Outbound):
    status: str
    version: str


class DroppedOut(Outbound):
    """How many frames this reader missed, and which."""

    count: int
    first_seq: int
    last_seq: int


class FrameOut(Outbound):
    """What stands in `data:` of an event. `prev` is the number before it on this stream, so that a gap shows."""

    seq: int
    prev: int
    type: str
    run_id: str | None
    session_id: str
    trace_id: str | None
    ts: datetime | None
    truncated: bool
    dropped: DroppedOut | None
    data: dict[str, Any]


class ProblemDetail(Outbound):
    """One fault: `pointer` into the body, the name of a query parameter or header, or a place in a text of units."""

    message: str
    pointer: str | None = None
    parameter: str | None = None
    header: str | None = None
    code: str | None = None
    kind: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    field: str | None = None


class Problem(Outbound):
    """A problem document of RFC 9457. `code` is stable; more members may say more about the one at hand."""

    model_config = ConfigDict(frozen=True, extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: str
    retryable: bool
    request_id: str
    trace_id: str
    stage: str | None = None
    retry_after_ms: int | None = None
    details: list[ProblemDetail] | None = None


def page_of(found: Sequence[Item], limit: int, cursor: Sequence[str]) -> Page[Item]:
    """A page of at most `limit` of the found items, which are one more than that when there is a next page."""
    has_more = len(found) > limit
    return Page(items=list(found[:limit]), next=cursor[limit - 1] if has_more else None)
